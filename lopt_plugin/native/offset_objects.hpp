// A list of (begin, end) tuples from offsets.
#pragma once

#include <Python.h>

#include <cstddef>
#include <new>
#include <vector>

#include "alignment.hpp"

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

// A new reference to a list of `count` tuples of two ints. `known` holds the first integers, which exist already: a
// reference to one costs less than a new one. Holds the interpreter lock.
inline PyObject* list_of_offsets(const Offset* offsets, size_t count, const std::vector<PyObject*>& known) {
    const GarbageCollectionWaits waits;
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
    if (!list) throw std::bad_alloc();
    const auto integer = [&known](int32_t value) {
        return static_cast<size_t>(value) < known.size() ? Py_NewRef(known[static_cast<size_t>(value)]) : PyLong_FromLong(value);
    };
    PyObject* last = nullptr;  // the end of the token before, where most tokens begin
    for (size_t i = 0; i < count; i++) {
        const auto [begin, end] = offsets[i];
        PyObject* tuple = PyTuple_New(2);
        PyObject* first = i && offsets[i - 1].end == begin ? Py_NewRef(last) : integer(begin);
        last = integer(end);
        if (!tuple || !first || !last) {
            Py_XDECREF(tuple);
            Py_XDECREF(first);
            Py_XDECREF(last);
            Py_DECREF(list);
            PyErr_Clear();
            throw std::bad_alloc();
        }
        PyTuple_SET_ITEM(tuple, 0, first);
        PyTuple_SET_ITEM(tuple, 1, last);
        // A tuple of integers takes no part in cycles: the collector would find that out later, one by one.
        PyObject_GC_UnTrack(tuple);
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
    }
    return list;
}

}  // namespace lopt
