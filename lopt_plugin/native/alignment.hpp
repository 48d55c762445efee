// Which characters of a stretch each character of its normalized form came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "remembered.hpp"
#include "unicode.hpp"

namespace lopt {

// Characters [begin, end) of a text.
struct Offset {
    int32_t begin, end;
};

// Offsets cannot be told for this text or pipeline; the reference library has to be asked.
struct OffsetsUnknownError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A part of a stretch that its normalizer may have changed, in bytes from the beginnings of the stretch and of its
// normalized form. What lies between edits is the same in both.
struct Edit {
    size_t original_begin, original_end, normalized_begin, normalized_end;
};

inline bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

inline size_t count_characters(const uint8_t* p, const uint8_t* end) {
    size_t count = 0;
    for (; p < end; p++) count += !is_continuation(*p);
    return count;
}

// Asks the reference library, and remembers its answers for short texts.
class Aligner {
  public:
    // The characters of a text that each character of its normalized form came from; may throw.
    using Ask = std::function<std::vector<Offset>(std::string_view)>;

    Aligner() = default;
    explicit Aligner(Ask ask) : ask_(std::move(ask)) {}

    // Throws OffsetsUnknownError unless the answer has `count` characters, each with a place in the text.
    std::vector<Offset> align(std::string_view text, size_t count) const {
        if (!ask_) throw OffsetsUnknownError("the normalizer does not say where its characters came from");
        std::vector<Offset> answer = answers_(text, ask_);
        const auto* p = reinterpret_cast<const uint8_t*>(text.data());
        const auto length = static_cast<int32_t>(count_characters(p, p + text.size()));
        bool known = answer.size() == count;
        for (const Offset& offset : answer) known = known && 0 <= offset.begin && offset.begin < offset.end && offset.end <= length;
        if (!known) throw OffsetsUnknownError("a normalized character has no place in the text");
        return answer;
    }

  private:
    Ask ask_;
    Remembered<std::vector<Offset>> answers_;
};

// The alignment of one normalized stretch.
struct Alignment {
    const uint8_t* normalized;       // where the normalized form begins
    const uint8_t* original;         // where the stretch begins in the text
    std::vector<Offset> characters;  // for each character of the normalized form, counted from `original`

    Alignment(std::string_view stretch, std::string_view form, const std::vector<Edit>& edits, const Aligner& aligner)
        : normalized(reinterpret_cast<const uint8_t*>(form.data())), original(reinterpret_cast<const uint8_t*>(stretch.data())) {
        characters.reserve(form.size());
        size_t before = 0;
        int32_t character = 0;
        const auto add_unchanged = [&](size_t end) {
            for (const uint8_t* p = original + before; p < original + end; p++) {
                if (is_continuation(*p)) continue;
                characters.push_back({character, character + 1});
                character++;
            }
        };
        for (const Edit& edit : edits) {
            add_unchanged(edit.original_begin);
            const size_t count = count_characters(normalized + edit.normalized_begin, normalized + edit.normalized_end);
            const std::string_view changed = stretch.substr(edit.original_begin, edit.original_end - edit.original_begin);
            for (const Offset& offset : aligner.align(changed, count))
                characters.push_back({character + offset.begin, character + offset.end});
            character += static_cast<int32_t>(count_characters(original + edit.original_begin, original + edit.original_end));
            before = edit.original_end;
        }
        add_unchanged(stretch.size());
    }
};

}  // namespace lopt
