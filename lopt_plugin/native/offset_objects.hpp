// A list of (begin, end) tuples from offsets.
#pragma once

#include <Python.h>

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

// Makes lists of offsets. Fresh memory costs more than what is written there, so the tuples that lists were made of are
// kept, and those that nobody else holds any more are made into others, as zip() does it. A list that is like the one
// before then reads and writes the same memory in the same order, and allocates nothing but itself. The integers are
// kept as well, one for each place of a text.
//
// A kept tuple's references to its integers are not counted: no integer is touched for a tuple that is made into another.
// That is sound because each of those integers has a reference of ours for as long as tuples are kept, and because a
// kept tuple is never the last: before it is let go of, its references are counted.
// All members hold the interpreter lock; where Python has none, nothing is kept.
class OffsetObjects {
  public:
    OffsetObjects() = default;
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) let_go(tuple);
        for (PyObject* number : numbers_) Py_DECREF(number);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `in_front` tuples (0, 0), and behind them those of the offsets.
    PyObject* list(const Offset* offsets, size_t count, size_t in_front = 0) {
        const GarbageCollectionWaits waits;
        Items items(in_front + count);
        prepare(in_front + count);
        for (size_t i = 0; i < in_front; i++) add(items, {0, 0});
        for (size_t i = 0; i < count; i++) {
            i += refill(items, offsets + i, count - i);
            if (i < count) add(items, offsets[i]);
        }
        return items.finish();
    }
    // Of what is kept.
    size_t bytes() const { return kept_.size() * (sizeof(PyObject*) + 64) + numbers_.size() * (sizeof(PyObject*) + 32); }

  private:
    static constexpr size_t MOST_KEPT = size_t{1} << 19;  // tuples
    static constexpr size_t MOST_NUMBERS = size_t{1} << 19;

    // The items of a list to be.
    class Items {
      public:
        // Room is left for the special tokens that may follow.
        explicit Items(size_t count) : room_(roomy(count)), items_(PyMem_New(PyObject*, room_)) {
            if (!items_) throw std::bad_alloc();
        }
        ~Items() {
            for (size_t i = 0; i < size_; i++) Py_DECREF(items_[i]);
            PyMem_Free(items_);
        }
        Items(const Items&) = delete;
        Items& operator=(const Items&) = delete;

        // Takes the reference; not more than were asked for.
        void push(PyObject* item) { items_[size_++] = item; }
        // Where the next ones belong, and that they are there.
        PyObject** end() { return items_ + size_; }
        void set_end(PyObject** end) { size_ = static_cast<size_t>(end - items_); }
        // A new list, which takes over the items.
        PyObject* finish() {
#ifdef Py_GIL_DISABLED
            // There, the interpreter keeps numbers of its own in front of a list's items.
            PyObject* const list = PyList_New(static_cast<Py_ssize_t>(size_));
            if (!list) throw_no_memory();
            for (size_t i = 0; i < size_; i++) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items_[i]);
#else
            PyObject* const list = PyList_New(0);
            if (!list) throw_no_memory();
            if (!size_) return list;
            // What PyList_New(room) would leave, without writing null to all of it first.
            auto* const object = reinterpret_cast<PyListObject*>(list);
            object->ob_item = std::exchange(items_, nullptr);
            object->allocated = static_cast<Py_ssize_t>(room_);
            Py_SET_SIZE(object, static_cast<Py_ssize_t>(size_));
#endif
            size_ = 0;
            return list;
        }

      private:
        size_t room_, size_ = 0;
        PyObject** items_;
    };

    // Python's own exception would be found by whoever looks for one next.
    [[noreturn]] static void throw_no_memory() {
        PyErr_Clear();
        throw std::bad_alloc();
    }

#ifdef Py_GIL_DISABLED
    static void prepare(size_t) {}
    static size_t refill(Items&, const Offset*, size_t) { return 0; }
    static void add(Items& items, const Offset& offset) { items.push(counted_tuple(offset)); }
    static void let_go(PyObject* tuple) { Py_DECREF(tuple); }
#else
    static constexpr size_t AHEAD = 32;  // few lie in the first-level cache

    // Chooses what the next `count` tuples are made of, and makes room for those that are new.
    void prepare(size_t count) {
        // Behind the list before, unless that one is gone.
        if (next_ + count > MOST_KEPT || (!kept_.empty() && is_ours(kept_.front()))) next_ = 0;
        const size_t needed = std::min(next_ + count, MOST_KEPT);
        if (kept_.capacity() < needed) kept_.reserve(std::max(needed, std::min(2 * kept_.capacity(), MOST_KEPT)));
    }
    // Adds tuples as long as the kept ones and the integers are there, and are ours; returns how many.
    size_t refill(Items& items, const Offset* offsets, size_t count) {
        PyObject** out = items.end();
        PyObject* const* const tuples = kept_.data() + next_;
        PyObject* const* const numbers = numbers_.data();
        const size_t most = std::min(count, kept_.size() - next_), all_numbers = numbers_.size();
        size_t i = 0;
        for (; i < most; i++) {
            const auto begin = static_cast<size_t>(offsets[i].begin), end = static_cast<size_t>(offsets[i].end);
            PyObject* const tuple = tuples[i];
            if (i + AHEAD < most) __builtin_prefetch(tuples[i + AHEAD], 1);
            if (!is_ours(tuple) || begin >= all_numbers || end >= all_numbers) break;
            set_items(tuple, numbers[begin], numbers[end]);
            *out++ = Py_NewRef(tuple);
        }
        next_ += i;
        items.set_end(out);
        return i;
    }
    void add(Items& items, const Offset& offset) {
        const auto begin = static_cast<size_t>(offset.begin), end = static_cast<size_t>(offset.end);
        if (next_ == MOST_KEPT || !add_numbers(std::max(begin, end))) return items.push(counted_tuple(offset));
        const bool known = next_ < kept_.size();
        PyObject* tuple;
        if (known && is_ours(kept_[next_])) {
            tuple = kept_[next_];
            set_items(tuple, numbers_[begin], numbers_[end]);
        } else {
            tuple = new_tuple(numbers_[begin], numbers_[end]);
            if (known) let_go(std::exchange(kept_[next_], tuple));
            else kept_.push_back(tuple);
        }
        next_++;
        items.push(Py_NewRef(tuple));
    }
    static bool is_ours(PyObject* tuple) { return Py_REFCNT(tuple) == 1; }
    // Counts the references of a kept tuple, and gives up our reference to it.
    static void let_go(PyObject* tuple) {
        Py_INCREF(PyTuple_GET_ITEM(tuple, 0));
        Py_INCREF(PyTuple_GET_ITEM(tuple, 1));
        Py_DECREF(tuple);
    }
    // Makes the integers up to `last`; false if that is too large. What is no place of a text is too large as well.
    [[gnu::noinline]] bool add_numbers(size_t last) {
        if (last >= MOST_NUMBERS) return false;
        if (numbers_.capacity() <= last) numbers_.reserve(std::max(last + 1, std::min(2 * numbers_.capacity(), MOST_NUMBERS)));
        while (numbers_.size() <= last) {
            PyObject* const number = PyLong_FromSize_t(numbers_.size());
            if (!number) throw_no_memory();
            numbers_.push_back(number);
        }
        return true;
    }
#endif

    static void set_items(PyObject* tuple, PyObject* begin, PyObject* end) {
        auto* const object = reinterpret_cast<PyTupleObject*>(tuple);
        object->ob_item[0] = begin;
        object->ob_item[1] = end;
#if PY_VERSION_HEX >= 0x030E0000
        object->ob_hash = -1;
#endif
    }
    // Takes the references.
    static PyObject* new_tuple(PyObject* begin, PyObject* end) {
        // A tuple of integers takes no part in cycles, so the collector need not know of it: it would find that out and
        // forget it, one by one.
        auto* const tuple = reinterpret_cast<PyObject*>(PyObject_GC_NewVar(PyTupleObject, &PyTuple_Type, 2));
        if (!tuple) throw_no_memory();
        set_items(tuple, begin, end);
        return tuple;
    }
    // A tuple of its own.
    static PyObject* counted_tuple(const Offset& offset) {
        PyObject *const begin = PyLong_FromLong(offset.begin), *const end = PyLong_FromLong(offset.end);
        PyObject* const tuple = begin && end ? reinterpret_cast<PyObject*>(PyObject_GC_NewVar(PyTupleObject, &PyTuple_Type, 2)) : nullptr;
        if (!tuple) {
            Py_XDECREF(begin);
            Py_XDECREF(end);
            throw_no_memory();
        }
        set_items(tuple, begin, end);
        return tuple;
    }

    std::vector<PyObject*> kept_, numbers_;
    size_t next_ = 0;
};

}  // namespace lopt
