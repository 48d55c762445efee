// Python integers for all ids, made once: a list of ids then costs a reference each, not an allocation.
#pragma once

#include <Python.h>

#include <cstdint>
#include <new>
#include <vector>

namespace lopt {

class IdObjects {
  public:
    // Holds the interpreter lock, as do all members.
    explicit IdObjects(uint32_t largest) : objects_(size_t{largest} + 1) {
        for (size_t id = 0; id < objects_.size(); id++) {
            objects_[id] = PyLong_FromSize_t(id);
            if (!objects_[id]) throw std::bad_alloc();
        }
    }
    ~IdObjects() {
        for (PyObject* object : objects_) Py_XDECREF(object);
    }
    IdObjects(const IdObjects&) = delete;
    IdObjects& operator=(const IdObjects&) = delete;

    // A new list; null never. Every id is at most `largest`.
    PyObject* list(const uint32_t* ids, size_t count) const {
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
        if (!list) throw std::bad_alloc();
        PyObject** items = reinterpret_cast<PyListObject*>(list)->ob_item;
        PyObject* const* objects = objects_.data();
        constexpr size_t AHEAD = 24;  // the objects lie in memory of their own: ask for them early
        size_t i = 0;
        for (; i + AHEAD < count; i++) {
            __builtin_prefetch(objects[ids[i + AHEAD]], 1);
            items[i] = Py_NewRef(objects[ids[i]]);
        }
        for (; i < count; i++) items[i] = Py_NewRef(objects[ids[i]]);
        return list;
    }
    size_t bytes() const { return objects_.size() * (sizeof(PyObject*) + 32); }

  private:
    std::vector<PyObject*> objects_;
};

}  // namespace lopt
