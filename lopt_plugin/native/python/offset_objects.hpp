// Lists of (begin, end) tuples.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "python/cpython_layout.hpp"
#include "python/list_builder.hpp"
#include "python/shared_integers.hpp"
#include "text/alignment.hpp"

namespace lopt {

// Suspends garbage collection while it lives. The caller holds the interpreter lock all the time.
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

// Makes lists of offsets. Allocating a tuple costs more than filling it, so tuples are kept, and those that nobody else holds
// any more are filled again, as zip() does. A list like the one before then touches the same memory in the same order, and
// allocates only itself. Their integers are those that all share, so no integer is touched.
// All members hold the interpreter lock; where layouts are not trusted, nothing is kept.
class OffsetObjects {
  public:
    OffsetObjects() = default;
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) Py_DECREF(tuple);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `leading` tuples (0, 0), and after them those of the offsets.
    PyObject* list(const Offset* offsets, size_t count, size_t leading = 0) {
        const GarbageCollectionWaits waits;
        ListBuilder items;
        items.reserve(leading + count);
        // What is no place of a text counts as the largest one.
        uint32_t largest = 0;
        for (size_t i = 0; i < count; i++) largest = std::max({largest, static_cast<uint32_t>(offsets[i].begin), static_cast<uint32_t>(offsets[i].end)});
        const size_t wanted = std::min(size_t{largest} + 1, SharedIntegers::MOST);
        integers_ = SharedIntegers::make(wanted) ? wanted : 0;
        prepare(leading + count);
        for (size_t i = 0; i < leading; i++) add(items, {0, 0});
        for (size_t i = 0; i < count; i++) {
            i += refill(items, offsets + i, count - i);
            if (i < count) add(items, offsets[i]);
        }
        return items.finish();
    }
    // Of what is kept.
    size_t bytes() const { return kept_.size() * (sizeof(PyObject*) + 64); }

  private:
    static constexpr size_t MOST_KEPT = size_t{1} << 19;  // tuples
    static constexpr size_t AHEAD = 32;  // few lie in the first-level cache

    // Chooses what the next `count` tuples are made of, and makes room for those that are new.
    void prepare(size_t count) {
        // After the list before, unless that one is gone.
        if (next_ + count > MOST_KEPT || (!kept_.empty() && is_ours(kept_.front()))) next_ = 0;
        const size_t needed = std::min(next_ + count, MOST_KEPT);
        if (kept_.capacity() < needed) kept_.reserve(std::max(needed, std::min(2 * kept_.capacity(), MOST_KEPT)));
    }
    // Adds tuples as long as the kept ones and the integers are there, and are ours; returns how many.
    size_t refill(ListBuilder& items, const Offset* offsets, size_t count) {
        PyObject** out = items.end();
        PyObject* const* const tuples = kept_.data() + next_;
        const size_t most = std::min(count, kept_.size() - next_);
        size_t i = 0;
        for (; i < most; i++) {
            PyObject* const tuple = tuples[i];
            if (i + AHEAD < most) __builtin_prefetch(tuples[i + AHEAD], 1);
            if (!is_ours(tuple) || !is_known(offsets[i])) break;
            set(tuple, offsets[i]);
            *out++ = Py_NewRef(tuple);
        }
        next_ += i;
        items.set_end(out);
        return i;
    }
    void add(ListBuilder& items, const Offset& offset) {
        if (next_ == MOST_KEPT || !is_known(offset)) return items.push(counted_tuple(offset));
        const bool kept = next_ < kept_.size();
        if (kept && is_ours(kept_[next_])) {
            set(kept_[next_], offset);
        } else {
            PyObject* const tuple = cpython::new_pair(SharedIntegers::at(static_cast<uint32_t>(offset.begin)), SharedIntegers::at(static_cast<uint32_t>(offset.end)));
            if (kept) Py_DECREF(std::exchange(kept_[next_], tuple));
            else kept_.push_back(tuple);
        }
        items.push(Py_NewRef(kept_[next_++]));
    }
    static void set(PyObject* tuple, const Offset& offset) {
        cpython::set_pair(tuple, SharedIntegers::at(static_cast<uint32_t>(offset.begin)), SharedIntegers::at(static_cast<uint32_t>(offset.end)));
    }
    bool is_known(const Offset& offset) const {
        return static_cast<uint32_t>(offset.begin) < integers_ && static_cast<uint32_t>(offset.end) < integers_;
    }
    static bool is_ours(PyObject* tuple) { return Py_REFCNT(tuple) == 1; }

    // A tuple of its own.
    static PyObject* counted_tuple(const Offset& offset) {
        PyObject *const begin = PyLong_FromLong(offset.begin), *const end = PyLong_FromLong(offset.end);
        try {
            if (!begin || !end) cpython::throw_no_memory();
            return cpython::new_pair(begin, end);
        } catch (...) {
            Py_XDECREF(begin);
            Py_XDECREF(end);
            throw;
        }
    }

    std::vector<PyObject*> kept_;
    size_t next_ = 0, integers_ = 0;  // integers that the list at hand may use
};

}  // namespace lopt
