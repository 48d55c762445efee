// The values that describe a core, from Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bpe/model_json.hpp"
#include "bpe/vocabulary.hpp"
#include "normalize/normalizer.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arguments.hpp"
#include "text/alignment.hpp"

namespace lopt {

// Reads the values of a list in order, as FileReader reads those of a file. Results point into the objects of the list,
// which this object keeps alive.
class PythonValues {
  public:
    explicit PythonValues(nb::list values) : values_(std::move(values)) {}

    [[noreturn]] static void fail(const std::string& reason) { throw std::invalid_argument("these values do not describe a core: " + reason); }

    uint32_t number() {
        const nb::object given = object();
        int overflow = 0;
        const int64_t value = PyLong_Check(given.ptr()) ? PyLong_AsLongLongAndOverflow(given.ptr(), &overflow) : -1;
        if (overflow || value < 0 || value > int64_t{UINT32_MAX}) fail("a number of 32 bits was expected");
        return static_cast<uint32_t>(value);
    }
    bool flag() { return number() != 0; }
    std::string_view bytes() {
        const nb::object given = object();
        if (!PyBytes_Check(given.ptr())) fail("bytes were expected");
        return {PyBytes_AS_STRING(given.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(given.ptr()))};
    }
    std::string_view take(size_t size) {
        const std::string_view taken = bytes();
        if (taken.size() != size) fail(std::to_string(size) + " bytes were expected");
        return taken;
    }
    // A str, or bytes of UTF-8.
    std::string_view text() {
        if (next_ < values_.size() && PyBytes_Check(values_[next_].ptr())) return bytes();
        const nb::object given = object();
        if (!PyUnicode_Check(given.ptr())) fail("a text was expected");
        return utf8_of(given);
    }

    // A dict, or the JSON of one and the number of its entries.
    std::vector<VocabularyItem> vocabulary() {
        const nb::object given = object();
        if (PyDict_Check(given.ptr())) return items_of(nb::borrow<nb::dict>(given));
        const auto [json, size] = nb::cast<std::tuple<nb::bytes, size_t>>(given);
        std::vector<VocabularyItem> items = json_.emplace(std::string_view(json.c_str(), json.size())).vocabulary();
        if (items.size() != size) throw std::invalid_argument("model BPE has two entries with one id");
        return items;
    }
    // A function of the reference library from text to text; empty for None.
    ReferenceNormalize function() {
        const auto ask = reference_function(object());
        if (!ask) return {};
        return [ask](std::string_view text) {
            const InterpreterLocked locked;
            const nb::object result = (*ask)(nb::str(text.data(), text.size()));
            return std::string(utf8_of(result));
        };
    }
    // The same, and a function that says where each character of its result came from; empty for None.
    std::pair<ReferenceNormalize, ReferenceAlign> form() {
        ReferenceNormalize normalize = function();
        const auto ask = reference_function(object());
        if (!ask) return {std::move(normalize), {}};
        return {std::move(normalize), [ask](std::string_view text) {
            const InterpreterLocked locked;
            const nb::object result = (*ask)(nb::str(text.data(), text.size()));
            std::vector<Offset> offsets;
            for (nb::handle item : result) {
                const auto [begin, end] = nb::cast<std::tuple<int32_t, int32_t>>(item);
                offsets.push_back({begin, end});
            }
            return offsets;
        }};
    }
    // make(): builds the core from what was read, while other Python threads run. All values must have been read.
    template <class Make>
    auto build(Make&& make) const {
        if (next_ != values_.size()) fail("there are more values");
        const InterpreterUnlocked unlocked;
        return make();
    }

  private:
    nb::object object() {
        if (next_ == values_.size()) fail("a value is missing");
        return values_[next_++];
    }
    static std::vector<VocabularyItem> items_of(const nb::dict& vocabulary) {
        std::vector<VocabularyItem> items;
        items.reserve(vocabulary.size());
        for (auto [name, id] : vocabulary) {
            if (!PyUnicode_Check(name.ptr())) throw nb::type_error("vocabulary: a name is not a str");
            items.push_back({utf8_of(name), nb::cast<uint32_t>(id)});
        }
        return items;
    }
    // The last reference is dropped under the lock, even if the construction of a core fails without it. Null for None.
    static std::shared_ptr<nb::object> reference_function(nb::object function) {
        if (function.is_none()) return {};
        const auto drop = [](nb::object* object) {
            const InterpreterLocked locked;
            delete object;
        };
        return {new nb::object(std::move(function)), drop};
    }

    nb::tuple values_;
    size_t next_ = 0;
    std::optional<ModelJson> json_;
};

}  // namespace lopt
