// A list of (begin, end) tuples from offsets.
#pragma once

#include <Python.h>

#include <new>
#include <utility>

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

// A new reference to a list of `count` tuples of two ints. Holds the interpreter lock.
inline PyObject* list_of_offsets(const Offset* offsets, size_t count) {
    const GarbageCollectionWaits waits;
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
    if (!list) throw std::bad_alloc();
    // Most tokens begin where the one before ends: the two share that integer.
    int32_t shared_value = 0;
    PyObject* shared = PyLong_FromLong(0);
    const auto integer = [&](int32_t value) {
        if (shared && value == shared_value) return Py_NewRef(shared);
        return PyLong_FromLong(value);
    };
    for (size_t i = 0; i < count && shared; i++) {
        PyObject* tuple = PyTuple_New(2);
        if (!tuple) break;
        PyObject* begin = integer(offsets[i].begin);
        PyTuple_SET_ITEM(tuple, 0, begin);
        PyObject* end = begin ? PyLong_FromLong(offsets[i].end) : nullptr;
        PyTuple_SET_ITEM(tuple, 1, end);
        // A tuple of integers takes no part in cycles: the collector would find that out later, one by one.
        PyObject_GC_UnTrack(tuple);
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
        if (!end) break;
        Py_DECREF(shared);
        shared = Py_NewRef(end);
        shared_value = offsets[i].end;
    }
    const bool failed = PyErr_Occurred() != nullptr;
    Py_XDECREF(shared);
    if (failed || !shared) {
        PyErr_Clear();
        Py_DECREF(list);
        throw std::bad_alloc();
    }
    return list;
}

}  // namespace lopt
