// Lists of (begin, end) tuples.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "python/cpython_layout.hpp"
#include "python/list_builder.hpp"
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
// allocates only itself. The integers are kept as well, one for each place of a text.
//
// A kept tuple's references to its integers are not counted, so no integer is touched when a tuple is filled again. That is
// sound because each of those integers has a reference of ours for as long as tuples are kept, and because a tuple's references
// are counted before it is given up.
// All members hold the interpreter lock; where layouts are not trusted, nothing is kept.
class OffsetObjects {
  public:
    OffsetObjects() = default;
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) let_go(tuple);
        for (PyObject* number : numbers_) Py_DECREF(number);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `leading` tuples (0, 0), and after them those of the offsets.
    PyObject* list(const Offset* offsets, size_t count, size_t leading = 0) {
        const GarbageCollectionWaits waits;
        ListBuilder items;
        items.reserve(leading + count);
        if (!cpython::trusted()) {
            for (size_t i = 0; i < leading; i++) items.push(counted_tuple({0, 0}));
            for (size_t i = 0; i < count; i++) items.push(counted_tuple(offsets[i]));
            return items.finish();
        }
        prepare(leading + count);
        for (size_t i = 0; i < leading; i++) add(items, {0, 0});
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
        PyObject* const* const numbers = numbers_.data();
        const size_t most = std::min(count, kept_.size() - next_), all_numbers = numbers_.size();
        size_t i = 0;
        for (; i < most; i++) {
            const auto begin = static_cast<size_t>(offsets[i].begin), end = static_cast<size_t>(offsets[i].end);
            PyObject* const tuple = tuples[i];
            if (i + AHEAD < most) __builtin_prefetch(tuples[i + AHEAD], 1);
            if (!is_ours(tuple) || begin >= all_numbers || end >= all_numbers) break;
            cpython::set_pair(tuple, numbers[begin], numbers[end]);
            *out++ = Py_NewRef(tuple);
        }
        next_ += i;
        items.set_end(out);
        return i;
    }
    void add(ListBuilder& items, const Offset& offset) {
        const auto begin = static_cast<size_t>(offset.begin), end = static_cast<size_t>(offset.end);
        if (next_ == MOST_KEPT || !add_numbers(std::max(begin, end))) return items.push(counted_tuple(offset));
        const bool known = next_ < kept_.size();
        PyObject* tuple;
        if (known && is_ours(kept_[next_])) {
            tuple = kept_[next_];
            cpython::set_pair(tuple, numbers_[begin], numbers_[end]);
        } else {
            tuple = cpython::new_pair(numbers_[begin], numbers_[end]);
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
            if (!number) cpython::throw_no_memory();
            numbers_.push_back(number);
        }
        return true;
    }

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

    std::vector<PyObject*> kept_, numbers_;
    size_t next_ = 0;
};

}  // namespace lopt
