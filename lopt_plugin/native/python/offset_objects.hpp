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

// Suspends garbage collection during its lifetime. The caller holds the interpreter lock throughout.
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

// Creates lists of offsets. Allocating a tuple costs more than filling it, so tuples are kept, and refilled once nobody
// else holds them, as in zip(). A list like the previous one then touches the same memory in the same order, and
// allocates only itself. The integers are the shared ones, so none is touched. All members require the interpreter lock.
// If layouts are not trusted, nothing is kept.
class OffsetObjects {
  public:
    OffsetObjects() = default;
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) Py_DECREF(tuple);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `leading` tuples (0, 0), followed by the tuples of the offsets.
    PyObject* list(const Offset* offsets, size_t count, size_t leading = 0) {
        const GarbageCollectionWaits waits;
        ListBuilder items;
        items.reserve(leading + count);
        // A value that is not a position in a text counts as the largest one.
        uint32_t largest = 0;
        for (size_t i = 0; i < count; i++) largest = std::max({largest, static_cast<uint32_t>(offsets[i].begin), static_cast<uint32_t>(offsets[i].end)});
        const size_t wanted = std::min(size_t{largest} + 1, SharedIntegers::MOST);
        integers_ = SharedIntegers::make(wanted) ? wanted : 0;
        // Continues after the tuples of the previous list, unless that list is gone.
        if (next_ + leading + count > MOST_KEPT || (!kept_.empty() && is_ours(kept_.front()))) next_ = 0;
        for (size_t i = 0; i < leading; i++) items.push(tuple({0, 0}));
        for (size_t i = 0; i < count; i++) items.push(tuple(offsets[i]));
        return items.finish();
    }
    // Size of the kept tuples.
    size_t bytes() const { return kept_.size() * (sizeof(PyObject*) + 64); }

  private:
    static constexpr size_t MOST_KEPT = size_t{1} << 19;  // tuples
    static constexpr size_t AHEAD = 32;  // small, so that they stay in the L1 cache

    // A new reference to a tuple; the tuple is kept if there is room.
    PyObject* tuple(const Offset& offset) {
        if (next_ == MOST_KEPT || !is_known(offset)) return counted_tuple(offset);
        PyObject *const begin = SharedIntegers::at(static_cast<uint32_t>(offset.begin)), *const end = SharedIntegers::at(static_cast<uint32_t>(offset.end));
        if (next_ + AHEAD < kept_.size()) __builtin_prefetch(kept_[next_ + AHEAD], 1);
        if (next_ == kept_.size()) kept_.push_back(cpython::new_pair(begin, end));
        else if (is_ours(kept_[next_])) cpython::set_pair(kept_[next_], begin, end);
        else Py_DECREF(std::exchange(kept_[next_], cpython::new_pair(begin, end)));
        return Py_NewRef(kept_[next_++]);
    }
    bool is_known(const Offset& offset) const {
        return static_cast<uint32_t>(offset.begin) < integers_ && static_cast<uint32_t>(offset.end) < integers_;
    }
    static bool is_ours(PyObject* tuple) { return Py_REFCNT(tuple) == 1; }

    // A tuple that is not kept.
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
    size_t next_ = 0, integers_ = 0;  // position in `kept_`; number of integers that the current list may use
};

}  // namespace lopt
