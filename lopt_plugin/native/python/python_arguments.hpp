// Reads the characters of strings and the ids of lists, and makes arrays of ids.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <string_view>

#include "base/id_buffer.hpp"
#include "base/needs_reference.hpp"
#include "text/characters.hpp"

namespace lopt {

namespace nb = nanobind;

inline std::string_view utf8_of(nb::handle text) {
    Py_ssize_t length;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
    if (!data) throw nb::python_error();
    return {data, static_cast<size_t>(length)};
}

inline Characters characters_of(nb::handle text) {
    PyObject* object = text.ptr();
#if PY_VERSION_HEX < 0x030C0000
    // A legacy string stores its characters elsewhere until someone requests them.
    if (PyUnicode_READY(object) < 0) throw nb::python_error();
#endif
    const auto length = static_cast<size_t>(PyUnicode_GET_LENGTH(object));
    if (length > size_t{1} << 30) throw NeedsReference("texts of more than 2^30 characters are left to Hugging Face");
    return {PyUnicode_DATA(object), length, static_cast<int>(PyUnicode_KIND(object)), bool(PyUnicode_IS_ASCII(object))};
}

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

// An array of one dimension on the host.
template <class Number>
using HostArray = nb::ndarray<Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class Element>
using Allocated = std::unique_ptr<Element[], FreeMemory>;
template <class Element>
Allocated<Element> allocated(size_t count) {
    void* const memory = std::malloc(count * sizeof(Element) + 1);
    if (!memory) throw std::bad_alloc();
    return Allocated<Element>(static_cast<Element*>(memory));
}
// An array that takes over the memory, starting at element `first`.
template <class Number, size_t DIMENSIONS, class Element>
nb::ndarray<nb::numpy, Number, nb::ndim<DIMENSIONS>> array_over(Allocated<Element> memory, std::initializer_list<size_t> shape, size_t first = 0) {
    Element* const data = memory.release();
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return {data + first, shape, owner};
}
// An array of `count` numbers that `write(data)` writes.
template <class Number = int32_t, class Write>
auto written_array(size_t count, Write&& write) {
    auto data = allocated<Number>(roomy(count));
    write(data.get());
    return array_over<Number, 1>(std::move(data), {count});
}
// An array of these numbers: ids by default.
template <class Number = int32_t, class Given>
auto array_of(const Given* numbers, size_t count) {
    static_assert(sizeof(Number) == sizeof(Given));
    return written_array<Number>(count, [&](Number* data) {
        if (count) std::memcpy(data, numbers, count * sizeof(Number));
    });
}

}  // namespace lopt
