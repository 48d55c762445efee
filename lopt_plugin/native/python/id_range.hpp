// Lists of ids from elsewhere, in one pass each: whether all are in a vocabulary, and a copy as plain memory.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lopt {

// Calls take(id) for each element. False if one is not a plain int, is too large, or is rejected by `take`. No Python
// code runs meanwhile, so the list does not change.
template <class Take>
bool take_ids(PyObject* list, Take&& take) {
    constexpr Py_ssize_t AHEAD = 24;  // the objects are scattered in memory: prefetch them early
    const Py_ssize_t size = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; i < size; i++) {
        if (i + AHEAD < size) __builtin_prefetch(PyList_GET_ITEM(list, i + AHEAD));
        PyObject* element = PyList_GET_ITEM(list, i);
        if (!PyLong_CheckExact(element)) return false;
        int overflow = 0;
        const int64_t id = PyLong_AsLongLongAndOverflow(element, &overflow);
        if (overflow || !take(id)) return false;
    }
    return true;
}
inline bool ids_within(PyObject* list, int64_t largest) {
    return take_ids(list, [largest](int64_t id) { return 0 <= id && id <= largest; });
}
// Writes the elements as int64 to `out`, which has room for all. If it returns false, the output is worthless.
inline bool copy_ids(PyObject* list, unsigned char* out) {
    return take_ids(list, [&out](int64_t id) {
        std::memcpy(out, &id, sizeof id);
        out += sizeof id;
        return true;
    });
}

}  // namespace lopt
