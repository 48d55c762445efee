// Everything that the core knows about CPython's private layouts.
//
// A list owns one block of PyMem memory for its items, so a block that was filled before its length was known can become
// a list. An integer is a header and a digit, so it can be created in any memory, and can be immortal. An untracked tuple
// of two integers can be turned into another one in place.
//
// All this is used only if `trusted()`: on CPython with the interpreter lock, up to the newest version that was checked,
// and after a self-test at import. Otherwise the same functions use the public API.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace lopt::cpython {

inline constexpr uint32_t NEWEST_VERSION = 0x030E;  // 3.14
constexpr bool covers(uint32_t version_hex) { return version_hex >> 16 <= NEWEST_VERSION; }
#ifdef Py_GIL_DISABLED
inline constexpr bool COMPILED = false;
#else
inline constexpr bool COMPILED = covers(PY_VERSION_HEX);
#endif

namespace detail {
inline bool trusted = false;  // set at import, under the interpreter lock; later only by tests
}
inline bool trusted() { return COMPILED && detail::trusted; }

// Clears Python's own exception; otherwise the next caller that checks for one would find it.
[[noreturn]] inline void throw_no_memory() {
    PyErr_Clear();
    throw std::bad_alloc();
}

namespace detail {

// Holds an object during a trial.
struct Held {
    explicit Held(PyObject* made) : object(made) {
        if (!made) throw_no_memory();
    }
    ~Held() { Py_DECREF(object); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    PyObject* const object;
};

}  // namespace detail

// Creates a list of `size` items that takes over their references and their block of PyMem memory, which has room for
// `room` items. Throws std::bad_alloc, in which case it takes over nothing.
inline PyObject* list_of_block(PyObject** items, size_t size, size_t room) {
    PyObject* const list = PyList_New(trusted() ? 0 : static_cast<Py_ssize_t>(size));
    if (!list) throw_no_memory();
    if (trusted() && size) {
        auto* const object = reinterpret_cast<PyListObject*>(list);
        object->ob_item = items;
        object->allocated = static_cast<Py_ssize_t>(room);
        Py_SET_SIZE(object, static_cast<Py_ssize_t>(size));
        return list;
    }
    for (size_t i = 0; i < size; i++) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items[i]);
    PyMem_Free(items);
    return list;
}

// Creates the integers [first, last), integer i at memory + i * INTEGER_BYTES, with a reference count that never becomes
// zero. From 3.12 on, it is that of CPython's own immortal integers, which never changes. Before, it is so large that
// nobody has to count references (a billion decrements per second would take 36 years). Only if `trusted()`; last is at
// most 2^30.
inline constexpr size_t INTEGER_BYTES = 32;
inline void make_integers(uint8_t* memory, size_t first, size_t last) {
    constexpr size_t HEADER_BYTES = sizeof(PyVarObject), SMALL = 257;  // CPython creates the integers below at start-up
    const detail::Held one(PyLong_FromLong(1)), large(PyLong_FromLong(1L << 20));
    Py_ssize_t references = Py_ssize_t{1} << 60;
#if PY_VERSION_HEX >= 0x030C0000
    std::memcpy(&references, one.object, sizeof references);
#endif
    for (size_t i = first; i < last; i++) {
        uint8_t* const integer = memory + i * INTEGER_BYTES;
        const detail::Held like(i < SMALL ? PyLong_FromSize_t(i) : Py_NewRef(large.object));
        const auto digit = static_cast<uint32_t>(i);
        std::memcpy(integer, like.object, HEADER_BYTES);
        std::memcpy(integer, &references, sizeof references);
        std::memcpy(integer + HEADER_BYTES, &digit, sizeof digit);
    }
}

// Turns a tuple of two items into another one. Does not count references, neither to the old items nor to the new ones.
inline void set_pair(PyObject* tuple, PyObject* first, PyObject* second) {
    auto* const object = reinterpret_cast<PyTupleObject*>(tuple);
    object->ob_item[0] = first;
    object->ob_item[1] = second;
#if PY_VERSION_HEX >= 0x030E0000
    object->ob_hash = -1;
#endif
}
// Creates a tuple of integers without counting references to them. Integers are in no cycle, so the garbage collector
// need not track the tuple; it would otherwise find that out and untrack the tuples one by one.
inline PyObject* new_pair(PyObject* first, PyObject* second) {
    if (trusted()) {
        auto* const tuple = reinterpret_cast<PyObject*>(PyObject_GC_NewVar(PyTupleObject, &PyTuple_Type, 2));
        if (!tuple) throw_no_memory();
        set_pair(tuple, first, second);
        return tuple;
    }
    PyObject* const tuple = PyTuple_New(2);
    if (!tuple) throw_no_memory();
    PyTuple_SET_ITEM(tuple, 0, first);
    PyTuple_SET_ITEM(tuple, 1, second);
    PyObject_GC_UnTrack(tuple);
    return tuple;
}

namespace detail {

inline bool lists_as_expected() {
    constexpr Py_ssize_t COUNT = 3, ROOM = 8;
    const Held number(PyLong_FromLongLong(1LL << 40));
    PyObject** const items = PyMem_New(PyObject*, ROOM);
    if (!items) throw std::bad_alloc();
    for (Py_ssize_t i = 0; i < COUNT; i++) items[i] = Py_NewRef(number.object);
    {
        const Held list(list_of_block(items, COUNT, ROOM));
        const Py_ssize_t basic = PyList_Type.tp_basicsize, all = basic + ROOM * static_cast<Py_ssize_t>(sizeof(PyObject*));
        const Held bytes(PyObject_CallMethod(list.object, "__sizeof__", nullptr));
        if (PyList_Size(list.object) != COUNT || PyList_GetItem(list.object, COUNT - 1) != number.object || PyLong_AsSsize_t(bytes.object) != all) return false;
        // Grows past its block, and shrinks back.
        for (Py_ssize_t i = 0; i < ROOM; i++)
            if (PyList_Append(list.object, number.object)) return false;
        if (PyList_Size(list.object) != COUNT + ROOM || Py_REFCNT(number.object) != 1 + COUNT + ROOM) return false;
        if (PyList_SetSlice(list.object, 1, COUNT + ROOM, nullptr) || Py_REFCNT(number.object) != 2) return false;
    }
    return Py_REFCNT(number.object) == 1;
}

inline bool integers_as_expected() {
    alignas(8) static uint8_t memory[300 * INTEGER_BYTES];
    constexpr size_t LAST = sizeof memory / INTEGER_BYTES;
    make_integers(memory, 0, LAST);
    for (size_t i = 0; i < LAST; i++) {
        auto* const made = reinterpret_cast<PyObject*>(memory + i * INTEGER_BYTES);
        const Held real(PyLong_FromSize_t(i)), sum(PyNumber_Add(made, real.object));
        if (!PyLong_CheckExact(made) || PyLong_AsSize_t(made) != i || PyLong_AsSize_t(sum.object) != 2 * i) return false;
        if (PyObject_RichCompareBool(made, real.object, Py_EQ) != 1 || PyObject_Hash(made) != PyObject_Hash(real.object)) return false;
        for (int uncounted = 0; uncounted < 3; uncounted++) Py_DECREF(made);
        if (Py_REFCNT(made) < Py_ssize_t{1} << 29 || PyLong_AsSize_t(made) != i) return false;
    }
    return true;
}

inline bool tuples_as_expected() {
    const Held a(PyLong_FromLongLong(1LL << 40)), b(PyLong_FromLongLong(1LL << 41));
    const Held pair(new_pair(Py_NewRef(a.object), Py_NewRef(b.object)));
    const Held reversed(PyTuple_Pack(2, b.object, a.object));
    if (PyTuple_Size(pair.object) != 2 || PyTuple_GetItem(pair.object, 1) != b.object || PyObject_Hash(pair.object) == -1) return false;
    set_pair(pair.object, b.object, a.object);  // the same references as before
    return PyObject_RichCompareBool(pair.object, reversed.object, Py_EQ) == 1 && PyObject_Hash(pair.object) == PyObject_Hash(reversed.object);
}

}  // namespace detail

// Makes layouts trusted from now on, if requested, if this CPython version is covered, and if the self-test succeeds.
// Called at import.
inline void trust(bool wanted) {
    detail::trusted = false;
    if (!COMPILED || !wanted) return;
    if (PyList_Type.tp_basicsize != sizeof(PyListObject) || PyTuple_Type.tp_basicsize != sizeof(PyTupleObject) - sizeof(PyObject*)) return;
    if (PyLong_Type.tp_basicsize != sizeof(PyVarObject) || PyLong_Type.tp_itemsize != sizeof(uint32_t) || sizeof(PyVarObject) != 24) return;
    detail::trusted = true;
    try {
        detail::trusted = detail::lists_as_expected() && detail::integers_as_expected() && detail::tuples_as_expected();
    } catch (const std::bad_alloc&) {
        detail::trusted = false;
    }
    PyErr_Clear();
}

}  // namespace lopt::cpython
