// A Python list that is filled before it is created.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include "base/id_buffer.hpp"
#include "python/cpython_layout.hpp"

namespace lopt {

// All members hold the interpreter lock.
class ListBuilder {
  public:
    ListBuilder() = default;
    ~ListBuilder() {
        for (size_t i = 0; i < size_; i++) Py_DECREF(items_[i]);
        PyMem_Free(items_);
    }
    ListBuilder(const ListBuilder&) = delete;
    ListBuilder& operator=(const ListBuilder&) = delete;

    // Makes room for `count` more items. The first call reserves little more than requested, because it is usually the
    // only one.
    void reserve(size_t count) {
        if (fits(count)) return;
        const size_t room = size_ == 0 ? roomy(count) : std::max(size_ + count, room_ + room_ / 4);
        auto* const items = static_cast<PyObject**>(PyMem_Realloc(items_, room * sizeof(PyObject*)));
        if (!items) throw std::bad_alloc();
        items_ = items;
        room_ = room;
    }
    bool fits(size_t count) const { return room_ - size_ >= count; }
    // Takes over the reference. There must be room.
    void push(PyObject* item) { items_[size_++] = item; }
    // Where to write the next items; set_end then adds them.
    PyObject** end() { return items_ + size_; }
    void set_end(PyObject** end) { size_ = static_cast<size_t>(end - items_); }
    // Returns a new list, which takes over the items.
    PyObject* finish() {
        PyObject* const list = cpython::list_of_block(items_, size_, room_);
        items_ = nullptr;
        size_ = room_ = 0;
        return list;
    }

  private:
    PyObject** items_ = nullptr;
    size_t size_ = 0, room_ = 0;
};

}  // namespace lopt
