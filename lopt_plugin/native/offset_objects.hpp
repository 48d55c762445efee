// A list of (begin, end) tuples from offsets.
#pragma once

#include <Python.h>
#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "alignment.hpp"
#include "id_buffer.hpp"

namespace lopt {

// Collections of cyclic garbage wait while it lives; the caller holds the interpreter lock all the time.
class GarbageCollectionWaits {
  public:
    GarbageCollectionWaits() : was_enabled_(PyGC_Disable()) {}
    ~GarbageCollectionWaits() {
        if (was_enabled_) PyGC_Enable();
    }
    GarbageCollectionWaits(const GarbageCollectionWaits&) = delete;
    GarbageCollectionWaits& operator=(const GarbageCollectionWaits&) = delete;

  private:
    int was_enabled_;
};

// Makes lists of offsets. Fresh memory costs more than what is written there, so what lists were made of is kept, and
// what nobody else holds any more is made into something else: tuples, as zip() does it, and their integers. A list that
// is like the one before then reads and writes the same memory in the same order, and allocates nothing but itself.
// All members hold the interpreter lock; where Python has none, nothing is kept.
class OffsetObjects {
  public:
    OffsetObjects() = default;
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) Py_DECREF(tuple);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `count` tuples of two ints.
    PyObject* list(const Offset* offsets, size_t count) {
        const GarbageCollectionWaits waits;
        prepare(count);
        // Room is left for the special tokens that may follow.
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(roomy(count)));
        if (!list) throw std::bad_alloc();
        Py_SET_SIZE(reinterpret_cast<PyVarObject*>(list), static_cast<Py_ssize_t>(count));
        if (fill(list, offsets, count)) return list;
        Py_DECREF(list);
        PyErr_Clear();
        throw std::bad_alloc();
    }
    // Of what is kept.
    size_t bytes() const { return kept_.size() * (sizeof(PyObject*) + 64 + 2 * 32); }

  private:
    static constexpr size_t MOST_KEPT = size_t{1} << 18;  // tuples

#ifdef Py_GIL_DISABLED
    static void prepare(size_t) {}
    static bool fill(PyObject* list, const Offset* offsets, size_t count) {
        for (size_t i = 0; i < count; i++) {
            PyObject* const tuple = new_tuple(PyLong_FromLong(offsets[i].begin), PyLong_FromLong(offsets[i].end));
            if (!tuple) return false;
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
        }
        return true;
    }
#else
    // Chooses what the next `count` tuples are made of, and makes room for those that are new.
    void prepare(size_t count) {
        // Behind the list before, unless that one is gone.
        if (next_ + count > MOST_KEPT || (!kept_.empty() && is_ours(kept_.front()))) next_ = 0;
        const size_t needed = std::min(next_ + count, MOST_KEPT);
        if (kept_.capacity() < needed) kept_.reserve(std::max(needed, std::min(2 * kept_.capacity(), MOST_KEPT)));
    }
    bool fill(PyObject* list, const Offset* offsets, size_t count) {
        constexpr size_t AHEAD = 8;
        PyObject* end_before = nullptr;
        for (size_t i = 0; i < count; i++, next_++) {
            if (next_ + AHEAD < kept_.size()) __builtin_prefetch(kept_[next_ + AHEAD], 1);
            const Offset offset = offsets[i];
            // Most tokens begin where the one before ends.
            PyObject* const begin = i && offsets[i - 1].end == offset.begin ? end_before : nullptr;
            const bool known = next_ < kept_.size();
            PyObject* tuple;
            if (known && is_ours(kept_[next_])) {
                tuple = kept_[next_];
                if (!refill(tuple, offset, begin)) return false;
                Py_INCREF(tuple);
            } else {
                tuple = new_tuple(begin ? Py_NewRef(begin) : PyLong_FromLong(offset.begin), PyLong_FromLong(offset.end));
                if (!tuple) return false;
                if (known) Py_DECREF(std::exchange(kept_[next_], Py_NewRef(tuple)));
                else if (next_ < MOST_KEPT) kept_.push_back(Py_NewRef(tuple));
            }
            end_before = PyTuple_GET_ITEM(tuple, 1);
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
        }
        return true;
    }
    static bool is_ours(PyObject* tuple) { return Py_REFCNT(tuple) == 1; }
    // Makes the tuple number `next_`, which is ours, into `offset`; `begin`: null, or the first integer. False without memory.
    bool refill(PyObject* tuple, const Offset& offset, PyObject* begin) {
        PyObject** const items = reinterpret_cast<PyTupleObject*>(tuple)->ob_item;
        // One of its own is kept, even where it could be shared: the next text may need it again.
        const bool begin_is_ours = Py_REFCNT(items[0]) == 1;
        if (items[0] != begin && (!begin_is_ours || !rewrite(items[0], offset.begin))) {
            if (begin) Py_DECREF(std::exchange(items[0], Py_NewRef(begin)));
            else if (!replace(items[0], offset.begin)) return false;
        }
        // The end may be where the next one begins, which is ours as well.
        const Py_ssize_t holders = Py_REFCNT(items[1]);
        const bool end_is_ours = holders == 1 || (holders == 2 && next_shares(items[1]));
        if ((!end_is_ours || !rewrite(items[1], offset.end)) && !replace(items[1], offset.end)) return false;
        forget_hash(tuple);
        return true;
    }
    bool next_shares(PyObject* end) const {
        return next_ + 1 < kept_.size() && PyTuple_GET_ITEM(kept_[next_ + 1], 0) == end && is_ours(kept_[next_ + 1]);
    }
    static bool replace(PyObject*& item, int32_t value) {
        PyObject* const integer = PyLong_FromLong(value);
        if (integer) Py_DECREF(std::exchange(item, integer));
        return integer;
    }
    // Gives an integer that nobody else holds another value; false for the small ones, which Python keeps for everybody.
    static bool rewrite([[maybe_unused]] PyObject* integer, [[maybe_unused]] int32_t value) {
#if PY_VERSION_HEX < 0x030F0000 && PYLONG_BITS_IN_DIGIT == 30
        constexpr digit LARGEST_SMALL = 256;
        auto* const object = reinterpret_cast<PyLongObject*>(integer);
#if PY_VERSION_HEX >= 0x030C0000
        if (!PyUnstable_Long_IsCompact(object)) return false;
        digit* const digits = object->long_value.ob_digit;
#else
        if (Py_SIZE(integer) != 1) return false;
        digit* const digits = object->ob_digit;
#endif
        const auto wanted = static_cast<digit>(value);
        if (digits[0] <= LARGEST_SMALL || wanted <= LARGEST_SMALL || wanted > PyLong_MASK) return false;
        digits[0] = wanted;
        return true;
#else
        return false;
#endif
    }
#endif

    static void forget_hash([[maybe_unused]] PyObject* tuple) {
#if PY_VERSION_HEX >= 0x030E0000
        reinterpret_cast<PyTupleObject*>(tuple)->ob_hash = -1;
#endif
    }
    // Takes the references; null without memory, or where one of them is null.
    static PyObject* new_tuple(PyObject* begin, PyObject* end) {
        // A tuple of integers takes no part in cycles, so the collector need not know of it: it would find that out and
        // forget it, one by one.
        auto* const tuple = begin && end ? PyObject_GC_NewVar(PyTupleObject, &PyTuple_Type, 2) : nullptr;
        if (!tuple) {
            Py_XDECREF(begin);
            Py_XDECREF(end);
            return nullptr;
        }
        tuple->ob_item[0] = begin;
        tuple->ob_item[1] = end;
        forget_hash(reinterpret_cast<PyObject*>(tuple));
        return reinterpret_cast<PyObject*>(tuple);
    }

    std::vector<PyObject*> kept_;
    size_t next_ = 0;
};

}  // namespace lopt
