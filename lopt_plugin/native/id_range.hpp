// Whether ids that come from anywhere lie in a vocabulary: what min() and max() of the list would tell, in one pass.
#pragma once

#include <Python.h>

namespace lopt {

// False also where an element is no plain int. No Python code runs meanwhile, so the list stays as it is.
inline bool ids_within(PyObject* list, long long largest) {
    const Py_ssize_t size = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject* element = PyList_GET_ITEM(list, i);
        if (!PyLong_CheckExact(element)) return false;
        int overflow = 0;
        const long long id = PyLong_AsLongLongAndOverflow(element, &overflow);
        if (overflow || id < 0 || id > largest) return false;
    }
    return true;
}

}  // namespace lopt
