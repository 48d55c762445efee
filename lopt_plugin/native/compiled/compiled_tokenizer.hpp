// A tokenizer read from a compiled file: encodes UTF-8 without Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiled/file_header.hpp"
#include "compiled/read_core.hpp"

namespace lopt {

class CompiledTokenizer {
  public:
    // `version`: the version of this library. Throws InvalidFileError, or std::invalid_argument for anything that a core
    // rejects.
    CompiledTokenizer(std::string_view file, std::string_view version) : CompiledTokenizer(after_header(file, version)) {}

    // A description of what the file was compiled from.
    const std::string& source() const { return source_; }

    // Writes the ids of a text to `out` if they fit; returns their number. May throw InvalidUtf8Error and NeedsReference.
    size_t encode(std::string_view utf8, bool adds_special_tokens, bool split_special, uint32_t* out, size_t capacity) const {
        return std::visit([&](const auto& core) { return encode_by(*core, utf8, adds_special_tokens, split_special, out, capacity); }, core_);
    }

  private:
    explicit CompiledTokenizer(FileReader in)
        : source_(in.text()), prefix_(read_array<uint32_t>(in)), suffix_(read_array<uint32_t>(in)), core_(read_core(in)) {
        if (!in.rest().empty()) in.fail("it goes on after its end");
    }

    template <class Core>
    size_t encode_by(const Core& core, std::string_view utf8, bool adds_special_tokens, bool split_special, uint32_t* out, size_t capacity) const {
        typename Core::Borrowed space(core);
        core.encode(utf8, {1, 0, split_special}, *space);
        const size_t added = adds_special_tokens ? prefix_.size() + suffix_.size() : 0, count = space->ids.size() + added;
        if (count > capacity) return count;
        if (adds_special_tokens) out = std::copy(prefix_.begin(), prefix_.end(), out);
        out = std::copy_n(space->ids.data(), space->ids.size(), out);
        if (adds_special_tokens) std::copy(suffix_.begin(), suffix_.end(), out);
        return count;
    }

    std::string source_;
    std::vector<uint32_t> prefix_, suffix_;
    AnyCore core_;
};

}  // namespace lopt
