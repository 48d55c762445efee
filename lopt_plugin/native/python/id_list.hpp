// A Python list of ids.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "python/cpython_layout.hpp"
#include "python/list_builder.hpp"
#include "python/shared_integers.hpp"

namespace lopt {

// All members hold the interpreter lock.
class IdList {
  public:
    static constexpr uint32_t NO_ID = ~uint32_t{0};
    // largest: the largest id that may occur. first: an id to put at the start of the list; inserting it later would move
    // all others.
    explicit IdList(uint32_t largest, uint32_t first = NO_ID) : shared_(SharedIntegers::make(size_t{largest} + 1)), first_(first) {}

    void append(const uint32_t* ids, size_t count) {
        reserve(count);
        if (shared_) {
            SharedIntegers::write(ids, count, items_.end());
            items_.set_end(items_.end() + count);
            return;
        }
        for (size_t i = 0; i < count; i++) push_new(ids[i]);
    }
    // The same for objects that represent ids.
    void append_objects(PyObject* const* objects, size_t count) {
        reserve(count);
        for (size_t i = 0; i < count; i++) items_.push(Py_NewRef(objects[i]));
    }
    void reserve(size_t count) {
        const uint32_t first = std::exchange(first_, NO_ID);
        items_.reserve(count + (first != NO_ID));
        if (first != NO_ID) push_new(first);
    }
    // Returns the list object, which takes over the items; never null.
    PyObject* finish() {
        reserve(0);
        return items_.finish();
    }

  private:
    void push_new(uint32_t id) {
        PyObject* const object = PyLong_FromSize_t(id);
        if (!object) cpython::throw_no_memory();
        items_.push(object);
    }

    const bool shared_;
    uint32_t first_;
    ListBuilder items_;
};

}  // namespace lopt
