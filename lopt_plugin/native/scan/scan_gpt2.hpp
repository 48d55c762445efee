// GPT-2's pre-tokens.
#pragma once

#include <cstdint>

#include "scan/contraction.hpp"
#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/ascii_masks.hpp"
#include "text/unicode.hpp"

namespace lopt {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+   (ByteLevel with use_regex)
template <class Masks = VectorMasks>
struct Gpt2Scanner {
    static constexpr const char* name = "gpt2";

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        int length;
        uint16_t kind = kind_at(table, p, end, length);
        const uint8_t* q = p + length;
        if (*p == '\'') {
            const int contraction = lower_case_contraction_length(p, end);
            if (contraction != 0) return p + contraction;
        }
        if (q == end) return q;
        if (kind == space) {
            kind = kind_at(table, q, end, length);
            if (kind == space) return spaces_end(table, p, q, end);
            if (*p != ' ') return q;
            q += length;
        }
        while (q < end && kind_at(table, q, end, length) == kind) q += length;
        return q;
    }

    static uint64_t starts(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        if (m.high != 0) return starts_beyond_ascii(table, p);
        return starts_in(p, m, m.letter, {});
    }
  private:
    // Apart, so that the step for ASCII stays small.
    [[gnu::noinline]]
    static uint64_t starts_beyond_ascii(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        const NonAsciiClasses<Masks> high(table, p, m.high);
        return starts_in(p, m, m.letter | high.having(class_bit::letter), high.bounds());
    }

    [[gnu::always_inline]]
    static uint64_t starts_in(const uint8_t* p, const AsciiMasks& m, uint64_t letter, WindowBounds bounds) {
        const uint64_t other = ~(letter | m.digit | m.white);
        uint64_t starts = (letter & ~(letter << 1)) | (m.digit & ~(m.digit << 1)) | (other & ~(other << 1));
        starts &= ~(m.space << 1);
        starts |= m.white & (~(m.white << 1) | ~(m.white >> 1));

        uint64_t apostrophes = m.apostrophe & starts & bounds.valid;
        while (apostrophes != 0) {
            const int at = __builtin_ctzll(apostrophes);
            apostrophes &= apostrophes - 1;
            if (at > 60 || (bounds.valid >> (at + 2) & 1) == 0) {
                bounds.end_below(uint64_t{2} << at);  // what follows decides whether this is a contraction
                break;
            }
            const int contraction = lower_case_contraction_length(p + at, p + 64);
            if (contraction == 0) continue;
            starts &= ~(uint64_t{2} << at);
            starts |= letter & (uint64_t{1} << (at + contraction));
        }
        return starts & certain_below_trailing_space(m.white, bounds.valid) & bounds.valid & ~uint64_t{1};
    }

    static uint16_t kind_at(const ClassTable& table, const uint8_t* p, const uint8_t* end, int& length) {
        using namespace class_bit;
        return static_cast<uint16_t>(table.at(p, end, length) & (letter | number | space));
    }

    // \s+(?!\S)|\s+ for white space of two characters or more: all but the last one, or all before the end of the text.
    static const uint8_t* spaces_end(const ClassTable& table, const uint8_t* last, const uint8_t* q, const uint8_t* end) {
        while (q < end) {
            int length;
            if (kind_at(table, q, end, length) != class_bit::space) return last;
            last = q;
            q += length;
        }
        return q;
    }
};

}  // namespace lopt
