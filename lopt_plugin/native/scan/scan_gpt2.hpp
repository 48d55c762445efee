// Pre-tokens of GPT-2 and Falcon.
#pragma once

#include <cstdint>

#include "scan/contraction.hpp"
#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/unicode.hpp"

namespace lopt {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+   (ByteLevel with use_regex)
// Falcon puts Punctuation(contiguous) before it: for the pattern, the text ends where punctuation begins or ends. Then no
// contraction can match, because the apostrophe and its letters are in different stretches.
template <bool punctuation_first>
struct Gpt2Scanner : WindowScanner<Gpt2Scanner<punctuation_first>, punctuation_first ? class_bit::hf_punctuation : 0> {
    static constexpr const char* name = punctuation_first ? "falcon" : "gpt2";
    static constexpr bool separates_lines = false, separates_capitals = false;
    static constexpr size_t digits_in_group = 0;

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        int length;
        uint16_t kind = kind_at(table, p, end, length);
        const uint8_t* q = p + length;
        if (!punctuation_first && *p == '\'') {
            const int contraction = lower_case_contraction_length(p, end);
            if (contraction != 0) return p + contraction;
        }
        if (q == end) return q;
        if (kind == space) {
            kind = kind_at(table, q, end, length);
            if (kind == space || ends_text(kind)) return spaces_end(table, p, q, end);
            if (*p != ' ') return q;
            q += length;
        }
        while (q < end && kind_at(table, q, end, length) == kind) q += length;
        return q;
    }

    template <class Others>
    [[gnu::always_inline]] static uint64_t starts_in(const uint8_t* p, const AsciiMasks& m, const Others& others) {
        const uint64_t letter = m.letter | others.having(class_bit::letter);
        const uint64_t punctuation = punctuation_first ? m.punctuation() | others.having_extra() : 0;
        const uint64_t other = ~(letter | m.digit | m.white | punctuation);
        WindowBounds bounds = others.bounds();
        bounds.end_below(letter & punctuation);
        uint64_t starts = (letter & ~(letter << 1)) | (m.digit & ~(m.digit << 1)) | (other & ~(other << 1));
        starts &= ~(m.space << 1);
        starts |= punctuation & ~(punctuation << 1);
        starts |= m.white & (~(m.white << 1) | ~((m.white | punctuation) >> 1));

        uint64_t apostrophes = punctuation_first ? 0 : m.apostrophe & starts & bounds.valid;
        while (apostrophes != 0) {
            const int at = __builtin_ctzll(apostrophes);
            apostrophes &= apostrophes - 1;
            if (at > 60 || (bounds.valid >> (at + 2) & 1) == 0) {
                bounds.end_below(uint64_t{2} << at);  // the following bytes decide whether this is a contraction
                break;
            }
            const int contraction = lower_case_contraction_length(p + at, p + 64);
            if (contraction == 0) continue;
            starts &= ~(uint64_t{2} << at);
            starts |= letter & (uint64_t{1} << (at + contraction));
        }
        return starts & certain_below_trailing_space(m.white, bounds.valid) & bounds.valid & ~uint64_t{1};
    }

  private:
    static bool ends_text(uint16_t kind) { return punctuation_first && (kind & class_bit::hf_punctuation) != 0; }
    static uint16_t kind_at(const ClassTable& table, const uint8_t* p, const uint8_t* end, int& length) {
        using namespace class_bit;
        constexpr uint16_t kinds = letter | number | space | (punctuation_first ? hf_punctuation : 0);
        return table.at(p, end, length) & kinds;
    }

    // End of \s+(?!\S)|\s+ for a run of white space; q is the end of its first character `last`. The whole run at the end
    // of the text, otherwise all but its last character.
    static const uint8_t* spaces_end(const ClassTable& table, const uint8_t* last, const uint8_t* q, const uint8_t* end) {
        while (q < end) {
            int length;
            const uint16_t kind = kind_at(table, q, end, length);
            if (kind != class_bit::space) return ends_text(kind) ? q : last;
            last = q;
            q += length;
        }
        return q;
    }
};

}  // namespace lopt
