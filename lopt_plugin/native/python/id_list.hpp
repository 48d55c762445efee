// A Python list of ids.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "python/cpython_layout.hpp"
#include "python/list_builder.hpp"
#include "python/shared_integers.hpp"

namespace lopt {

// All members hold the interpreter lock, except where `takes_unlocked` allows it.
class IdList : public ListBuilder {
  public:
    // largest: the largest id that may occur.
    explicit IdList(uint32_t largest) : shared_(SharedIntegers::make(size_t{largest} + 1)) {}

    void append(const uint32_t* ids, size_t count) {
        reserve(count);
        if (shared_) {
            SharedIntegers::write(ids, count, end());
            set_end(end() + count);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            PyObject* const object = PyLong_FromSize_t(ids[i]);
            if (!object) cpython::throw_no_memory();
            push(object);
        }
    }
    // Does `append` not need the lock for so many?
    bool takes_unlocked(size_t count) const { return shared_ && fits(count); }
    // The same for objects that represent ids.
    void append_objects(PyObject* const* objects, size_t count) {
        reserve(count);
        for (size_t i = 0; i < count; i++) push(Py_NewRef(objects[i]));
    }

  private:
    const bool shared_;
};

// A list of these ids.
inline nanobind::object id_list(uint32_t largest, const uint32_t* ids, size_t count) {
    IdList list(largest);
    list.append(ids, count);
    return nanobind::steal(list.finish());
}

}  // namespace lopt
