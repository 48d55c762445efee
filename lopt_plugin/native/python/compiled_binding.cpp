// The C interface for Python; `lopt compile` uses it to read back the file that it wrote.
#include <lopt.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "base/needs_reference.hpp"
#include "python/interpreter_lock.hpp"

namespace lopt {

namespace nb = nanobind;

namespace {

void check(lopt_status status, const lopt_error& error) {
    if (status == LOPT_OK) return;
    if (status == LOPT_NEEDS_REFERENCE) throw NeedsReference(error.message);
    if (status == LOPT_OUT_OF_MEMORY) throw std::bad_alloc();
    throw nb::value_error(error.message);
}

class PythonCompiledTokenizer {
  public:
    explicit PythonCompiledTokenizer(const std::string& path) {
        const InterpreterUnlocked unlocked;
        lopt_tokenizer* opened = nullptr;
        lopt_error error;
        const lopt_status status = lopt_open(path.c_str(), &opened, &error);
        tokenizer_.reset(opened);
        check(status, error);
    }
    std::vector<uint32_t> encode(nb::bytes text, bool add_special_tokens, bool split_special_tokens) const {
        const uint32_t flags = (add_special_tokens ? LOPT_ADD_SPECIAL_TOKENS : 0) | (split_special_tokens ? LOPT_SPLIT_SPECIAL_TOKENS : 0);
        const InterpreterUnlocked unlocked;
        size_t count = 0;
        lopt_error error;
        check(lopt_count(tokenizer_.get(), text.c_str(), text.size(), flags, &count, &error), error);
        std::vector<uint32_t> ids(count);
        check(lopt_encode(tokenizer_.get(), text.c_str(), text.size(), flags, ids.data(), ids.size(), &count, &error), error);
        return ids;
    }
    const char* source() const { return lopt_source(tokenizer_.get()); }

  private:
    struct Close {
        void operator()(lopt_tokenizer* tokenizer) const { lopt_close(tokenizer); }
    };
    std::unique_ptr<lopt_tokenizer, Close> tokenizer_;
};

}  // namespace

void define_compiled(nb::module_& module) {
    nb::class_<PythonCompiledTokenizer>(module, "CompiledTokenizer")
        .def(nb::init<const std::string&>(), nb::arg("path"))
        .def("encode", &PythonCompiledTokenizer::encode, nb::arg("text"), nb::arg("add_special_tokens"), nb::arg("split_special_tokens"))
        .def_prop_ro("source", &PythonCompiledTokenizer::source)
        .def_prop_ro_static("version", [](nb::handle) { return lopt_version(); });
}

}  // namespace lopt
