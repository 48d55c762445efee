// CLIP's pre-tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scan/contraction.hpp"
#include "text/text.hpp"
#include "text/unicode.hpp"

namespace lopt {

// <\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
// The pattern leaves out white space: each run of white space is a step of the scan without pre-tokens. ByteLevel's own
// pattern divides only the two literals, each into three. All other matches (letters, one number, a contraction, or a run
// without letters and numbers) match that pattern as a whole.
struct ClipScanner {
    static constexpr const char* name = "clip";
    static constexpr bool separates_lines = false, separates_capitals = false;
    static constexpr size_t digits_in_group = 0;

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        const uint8_t* match = match_end(table, p, end);
        return match != nullptr ? match : table.skip(class_bit::space, p, end);
    }

    // End of the pattern's match at p < end; nullptr at white space.
    static const uint8_t* match_end(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        int length;
        const uint16_t first = table.at(p, end, length);
        if ((first & letter) != 0) return table.skip(letter, p + length, end);
        if ((first & number) != 0) return p + length;
        if ((first & space) != 0) return nullptr;
        if (const size_t literal = literal_length(p, end); literal != 0) return p + literal;
        if (*p == '\'') {
            const int contraction = lower_case_contraction_length(p, end);
            if (contraction != 0) return p + contraction;
        }
        return table.skip_without(letter | number | space, p + length, end);
    }

    // Appends the pre-tokens of the step [p, end).
    static void parts(const ClassTable& table, const uint8_t* p, const uint8_t* end, std::vector<Span>& out) {
        int length;
        if ((table.at(p, end, length) & class_bit::space) != 0) return;
        if (literal_length(p, end) == 0) return out.push_back({p, end});
        out.push_back({p, p + 2});
        out.push_back({p + 2, end - 2});
        out.push_back({end - 2, end});
    }

    // There is no starts_of, because texts for such models are short.

  private:
    static size_t literal_length(const uint8_t* p, const uint8_t* end) {
        if (*p != '<') return 0;
        const std::string_view text = text_between(p, end);
        for (const std::string_view literal : {"<|startoftext|>", "<|endoftext|>"})
            if (text.starts_with(literal)) return literal.size();
        return 0;
    }
};

}  // namespace lopt
