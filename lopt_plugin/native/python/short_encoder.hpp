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

    // most_characters: of a text. most_together: of a batch. around: null if the ids with special tokens are not known.
    ShortEncoder(const void* core, Encode by_core, size_t most_characters, size_t most_together, std::optional<IdsAround> around)
        : core_(core), encode_(by_core), most_characters_(most_characters), most_together_(most_together), around_(std::move(around)) {}
    ShortEncoder(const ShortEncoder&) = delete;
    ShortEncoder& operator=(const ShortEncoder&) = delete;

    // The number of texts answered.
    uint64_t texts() const { return texts_; }
    void allow(uint32_t calls) { allowed_ = calls; }
    void stop() { allowed_ = 0; }
    bool is_allowed() const { return allowed_ > 0; }

    // Returns None if the general path must answer, which also reports errors.
    nb::object encode(nb::handle text, nb::handle add_special_tokens) {
        if (!PyUnicode_CheckExact(text.ptr())) return nb::none();
        return answer(add_special_tokens, 1, [&](const IdsAround& around) {
            return characters_of(text).length > most_characters_ ? nb::none() : encode_(core_, text, around);
        });
    }
    // Returns a list of lists, or None as `encode`.
    nb::object encode_batch(nb::handle texts, nb::handle add_special_tokens) {
        if (!PyList_CheckExact(texts.ptr())) return nb::none();
        const nb::tuple alive(texts);
        return answer(add_special_tokens, alive.size(), [&](const IdsAround& around) -> nb::object {
            size_t together = 0;
            for (nb::handle text : alive) {
                if (!PyUnicode_CheckExact(text.ptr())) return nb::none();
                const size_t length = characters_of(text).length;
                together += length;
                if (length > most_characters_ || together > most_together_) return nb::none();
            }
            nb::list rows;
            for (nb::handle text : alive) rows.append(encode_(core_, text, around));
            return rows;
        });
    }

    static void define(nb::module_& module) {
        nb::class_<ShortEncoder>(module, "ShortEncoder", nb::is_weak_referenceable())
            .def("allow", &ShortEncoder::allow, nb::arg("calls"))
            .def("stop", &ShortEncoder::stop)
            .def("is_allowed", &ShortEncoder::is_allowed)
            .def("encode", &ShortEncoder::encode, nb::arg("text").none(), nb::arg("add_special_tokens").none())
            .def("encode_batch", &ShortEncoder::encode_batch, nb::arg("texts").none(), nb::arg("add_special_tokens").none())
            .def_prop_ro("texts", &ShortEncoder::texts);
    }

  private:
    static inline const IdsAround NOTHING;

    // Calls make(around), which returns the ids or None, if a call is allowed.
    template <class Make>
    nb::object answer(nb::handle add_special_tokens, size_t texts, Make&& make) {
        PyObject* const added = add_special_tokens.ptr();
        if (!allowed_ || !PyBool_Check(added) || (added == Py_True && !around_)) return nb::none();
        nb::object ids;
        try {
            ids = make(added == Py_True ? *around_ : NOTHING);
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_Exception)) throw;
            return nb::none();
        } catch (const std::exception&) {
            return nb::none();
        }
        // Texts of a few thousand characters are encoded without the lock, so `allowed_` may have changed.
        if (!allowed_ || ids.is_none()) return nb::none();
        allowed_--;
        texts_ += texts;
        return ids;
    }

    const void* const core_;
    const Encode encode_;
    const size_t most_characters_, most_together_;
    const std::optional<IdsAround> around_;
    uint32_t allowed_ = 0;
    uint64_t texts_ = 0;
};

}  // namespace lopt
