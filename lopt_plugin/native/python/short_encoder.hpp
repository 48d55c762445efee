// Encodes short texts to lists.
#pragma once

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>

#include "python/python_arguments.hpp"

namespace lopt {

// The ids that a post-processor adds before and after the ids of a text.
using IdsAround = std::pair<std::vector<uint32_t>, std::vector<uint32_t>>;

// Encodes for one tokenizer as long as nothing indicates that the tokenizer may have changed. One native call does
// everything. All members require the interpreter lock.
class ShortEncoder {
  public:
    // Returns a list of the text's ids, encoded by the core, which must outlive this object. May throw.
    using Encode = nb::object (*)(const void* core, nb::handle text, const IdsAround& around);

    // around: null if the ids with special tokens are not known.
    ShortEncoder(const void* core, Encode by_core, size_t most_characters, std::optional<IdsAround> around)
        : core_(core), encode_(by_core), most_characters_(most_characters), around_(std::move(around)) {}
    ShortEncoder(const ShortEncoder&) = delete;
    ShortEncoder& operator=(const ShortEncoder&) = delete;

    uint64_t calls() const { return calls_; }
    void allow(uint32_t calls) { allowed_ = calls; }
    void stop() { allowed_ = 0; }
    bool is_allowed() const { return allowed_ > 0; }

    // Returns None if the general path must answer, which also reports errors.
    nb::object encode(nb::handle text, nb::handle add_special_tokens) {
        PyObject* const added = add_special_tokens.ptr();
        if (!allowed_ || !PyUnicode_CheckExact(text.ptr()) || !PyBool_Check(added)) return nb::none();
        if (added == Py_True && !around_) return nb::none();
        nb::object ids;
        try {
            if (characters_of(text).length > most_characters_) return nb::none();
            ids = encode_(core_, text, added == Py_True ? *around_ : NOTHING);
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_Exception)) throw;
            return nb::none();
        } catch (const std::exception&) {
            return nb::none();
        }
        // Texts of a few thousand characters are encoded without the lock, so `allowed_` may have changed.
        if (!allowed_) return nb::none();
        allowed_--;
        calls_++;
        return ids;
    }

    static void define(nb::module_& module) {
        nb::class_<ShortEncoder>(module, "ShortEncoder", nb::is_weak_referenceable())
            .def("allow", &ShortEncoder::allow, nb::arg("calls"))
            .def("stop", &ShortEncoder::stop)
            .def("is_allowed", &ShortEncoder::is_allowed)
            .def("encode", &ShortEncoder::encode, nb::arg("text").none(), nb::arg("add_special_tokens").none())
            .def_prop_ro("calls", &ShortEncoder::calls);
    }

  private:
    static inline const IdsAround NOTHING;

    const void* const core_;
    const Encode encode_;
    const size_t most_characters_;
    const std::optional<IdsAround> around_;
    uint32_t allowed_ = 0;
    uint64_t calls_ = 0;
};

}  // namespace lopt
