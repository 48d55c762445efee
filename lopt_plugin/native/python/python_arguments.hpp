// Builds the cores' arguments from Python objects, and arrays from ids.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bpe/vocabulary.hpp"
#include "core/added_tokens.hpp"
#include "core/core.hpp"
#include "python/interpreter_lock.hpp"

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

template <class Element>
std::vector<Element> copy_of(nb::bytes data) {
    std::vector<Element> elements(data.size() / sizeof(Element));
    if (!elements.empty()) std::memcpy(elements.data(), data.c_str(), elements.size() * sizeof(Element));
    return elements;
}

inline ClassTable class_table(nb::bytes class_pages, nb::bytes class_cells) {
    const auto pages = copy_of<uint16_t>(class_pages), cells = copy_of<uint16_t>(class_cells);
    return {pages.data(), pages.size(), cells.data(), cells.size()};
}

// The names point into the caller's strings, which outlive the construction.
inline std::vector<VocabularyItem> vocabulary_items(nb::dict vocabulary) {
    std::vector<VocabularyItem> items;
    items.reserve(vocabulary.size());
    for (auto [name, id] : vocabulary) {
        if (!PyUnicode_Check(name.ptr())) throw nb::type_error("vocabulary: a name is not a str");
        items.push_back({utf8_of(name), nb::cast<uint32_t>(id)});
        // Tables have an entry for every id up to the largest.
        if (items.back().id > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
    }
    return items;
}

// A function of the reference library; null for None. The last reference is dropped under the lock, even if the
// construction of a core fails without it.
inline std::shared_ptr<nb::object> reference_function(nb::object function) {
    if (function.is_none()) return {};
    const auto drop = [](nb::object* object) {
        const InterpreterLocked locked;
        delete object;
    };
    return {new nb::object(std::move(function)), drop};
}

// The same, as a function from text to text.
inline std::function<std::string(std::string_view)> normalizer(nb::object function) {
    const auto ask = reference_function(std::move(function));
    if (!ask) return {};
    return [ask](std::string_view text) {
        const InterpreterLocked locked;
        const nb::object result = (*ask)(nb::str(text.data(), text.size()));
        return std::string(utf8_of(result));
    };
}

// content, id, single_word, lstrip, rstrip, normalized, special
using AddedTokenTuple = std::tuple<std::string, uint32_t, bool, bool, bool, bool, bool>;

inline AddedTokenSets added_token_sets(const std::vector<AddedTokenTuple>& added_tokens) {
    AddedTokenSets sets;
    for (const auto& [content, id, single_word, lstrip, rstrip, normalized, special] : added_tokens)
        sets.add({content, id, single_word, lstrip, rstrip, special}, normalized);
    sets.check();
    return sets;
}

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class Element>
using Allocated = std::unique_ptr<Element[], FreeMemory>;
template <class Element>
Allocated<Element> allocated(size_t count) {
    const size_t bytes = count * sizeof(Element) + 1;
    void* const memory = bytes < LEAST_HUGE ? std::malloc(bytes) : std::aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (!memory) throw std::bad_alloc();
    want_huge_pages(memory, bytes);
    return Allocated<Element>(static_cast<Element*>(memory));
}
// An array that takes over the memory, starting at element `first`.
template <class Number, size_t DIMENSIONS, class Element>
nb::ndarray<nb::numpy, Number, nb::ndim<DIMENSIONS>> array_over(Allocated<Element> memory, std::initializer_list<size_t> shape, size_t first = 0) {
    Element* const data = memory.release();
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return {data + first, shape, owner};
}
// An array of `count` ids that `write(data)` writes.
template <class Write>
auto written_array(size_t count, Write&& write) {
    auto data = allocated<int32_t>(roomy(count));
    write(data.get());
    return array_over<int32_t, 1>(std::move(data), {count});
}
inline auto array_of(const uint32_t* ids, size_t count) {
    return written_array(count, [&](int32_t* data) {
        if (count) std::memcpy(data, ids, count * sizeof(int32_t));
    });
}

}  // namespace lopt
