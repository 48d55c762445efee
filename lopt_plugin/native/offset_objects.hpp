// A list of (begin, end) tuples from offsets.
#pragma once

#include <Python.h>

#include <cstddef>
#include <new>
#include <vector>

#include "alignment.hpp"
#include "table.hpp"

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

// Makes lists of offsets. Tuples of the first positions are kept when they are made: most texts are short, and a
// reference to a tuple costs a tenth of a new one. All members hold the interpreter lock.
class OffsetObjects {
  public:
    // `integers`: the first ones, from 0 on, which outlive this; a reference to one costs less than a new one as well.
    explicit OffsetObjects(const Table<PyObject*>& integers) : integers_(integers) {}
    ~OffsetObjects() {
        for (PyObject* tuple : kept_) Py_XDECREF(tuple);
    }
    OffsetObjects(const OffsetObjects&) = delete;
    OffsetObjects& operator=(const OffsetObjects&) = delete;

    // A new reference to a list of `count` tuples of two ints.
    PyObject* list(const Offset* offsets, size_t count) const {
        if (kept_.empty()) kept_.resize(KEPT_BEGINS * KEPT_LENGTHS, nullptr);
        const GarbageCollectionWaits waits;
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
        if (!list) throw std::bad_alloc();
        PyObject* end_before = nullptr;  // of a tuple in the list, where most tokens begin
        for (size_t i = 0; i < count; i++) {
            PyObject** const kept = place_of(offsets[i]);
            PyObject* tuple = kept ? *kept : nullptr;
            if (tuple) {
                Py_INCREF(tuple);
            } else {
                tuple = new_tuple(offsets[i], i && offsets[i - 1].end == offsets[i].begin ? end_before : nullptr);
                if (!tuple) {
                    Py_DECREF(list);
                    PyErr_Clear();
                    throw std::bad_alloc();
                }
                if (kept) *kept = Py_NewRef(tuple);
            }
            end_before = PyTuple_GET_ITEM(tuple, 1);
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), tuple);
        }
        return list;
    }

  private:
    // At most 4 MB of tuples.
    static constexpr size_t KEPT_BEGINS = 1 << 12, KEPT_LENGTHS = 1 << 4;

    PyObject** place_of(const Offset& offset) const {
        const auto begin = static_cast<size_t>(offset.begin), length = static_cast<size_t>(offset.end) - begin;
        return begin < KEPT_BEGINS && length < KEPT_LENGTHS ? &kept_[begin * KEPT_LENGTHS + length] : nullptr;
    }
    PyObject* integer(int32_t value) const {
        return static_cast<size_t>(value) < integers_.size() ? Py_NewRef(integers_[static_cast<size_t>(value)]) : PyLong_FromLong(value);
    }
    // `begin`: null, or the first integer.
    PyObject* new_tuple(const Offset& offset, PyObject* begin) const {
        // A tuple of integers takes no part in cycles, so the collector need not know of it: it would find that out and
        // forget it, one by one.
        PyTupleObject* tuple = PyObject_GC_NewVar(PyTupleObject, &PyTuple_Type, 2);
        if (!tuple) return nullptr;
#if PY_VERSION_HEX >= 0x030E0000
        tuple->ob_hash = -1;  // not known yet
#endif
        tuple->ob_item[0] = begin ? Py_NewRef(begin) : integer(offset.begin);
        tuple->ob_item[1] = integer(offset.end);
        if (tuple->ob_item[0] && tuple->ob_item[1]) return reinterpret_cast<PyObject*>(tuple);
        Py_DECREF(tuple);
        return nullptr;
    }

    const Table<PyObject*>& integers_;
    mutable std::vector<PyObject*> kept_;  // by begin and length; null where none was made yet
};

}  // namespace lopt
