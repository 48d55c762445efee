// Reads lists of ids created elsewhere, in one pass: to check that all are in a vocabulary, or to copy them to plain
// memory.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>

namespace lopt {

// Calls take(id) for each element. Returns false if one is not a plain int, is too large, or is rejected by `take`. Runs
// no Python code, so the list does not change meanwhile.
template <class Take>
bool take_ids(PyObject* list, Take&& take) {
    constexpr Py_ssize_t AHEAD = 24;  // the objects are scattered in memory, so prefetch them early
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
// Writes the elements as int64 to `out`, which needs room for all. If it returns false, the output is invalid.
inline bool copy_ids(PyObject* list, unsigned char* out) {
    return take_ids(list, [&out](int64_t id) {
        std::memcpy(out, &id, sizeof id);
        out += sizeof id;
        return true;
    });
}

}  // namespace lopt
