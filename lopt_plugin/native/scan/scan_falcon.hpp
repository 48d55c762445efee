// Falcon's first two steps.
#pragma once

#include <cstdint>

#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/ascii_masks.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Punctuation(contiguous), then the GPT-2 pattern inside each stretch: the text ends for the pattern where punctuation
// begins or ends. No contraction can match, since the apostrophe and its letters lie in different stretches.
template <class Masks = VectorMasks>
struct FalconScanner {
    static constexpr const char* name = "falcon";

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        int length;
        uint16_t kind = kind_at(table, p, end, length);
        const uint8_t* q = p + length;
        if (q == end) return q;
        if (kind == space) {
            kind = kind_at(table, q, end, length);
            if (kind == space || (kind & hf_punctuation) != 0) return spaces_end(table, p, q, end);
            if (*p != ' ') return q;
            q += length;
        }
        while (q < end && kind_at(table, q, end, length) == kind) q += length;
        return q;
    }

    static uint64_t starts(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        if (m.high != 0) return starts_beyond_ascii(table, p);
        return starts_in(m, m.letter, m.punctuation(), {});
    }
  private:
    // Apart, so that the step for ASCII stays small.
    [[gnu::noinline]]
    static uint64_t starts_beyond_ascii(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        const NonAsciiClasses<Masks> high(table, p, m.high, class_bit::hf_punctuation);
        const uint64_t letter = high.having(class_bit::letter), punctuation = high.having_extra();
        WindowBounds bounds = high.bounds();
        bounds.end_below(letter & punctuation);
        return starts_in(m, m.letter | letter, m.punctuation() | punctuation, bounds);
    }

    [[gnu::always_inline]]
    static uint64_t starts_in(const AsciiMasks& m, uint64_t letter, uint64_t punctuation, WindowBounds bounds) {
        const uint64_t other = ~(letter | m.digit | m.white | punctuation);
        uint64_t starts = (letter & ~(letter << 1)) | (m.digit & ~(m.digit << 1)) | (other & ~(other << 1));
        starts &= ~(m.space << 1);
        starts |= punctuation & ~(punctuation << 1);
        starts |= m.white & (~(m.white << 1) | ~((m.white | punctuation) >> 1));
        return starts & certain_below_trailing_space(m.white, bounds.valid) & bounds.valid & ~uint64_t{1};
    }

    static uint16_t kind_at(const ClassTable& table, const uint8_t* p, const uint8_t* end, int& length) {
        using namespace class_bit;
        return static_cast<uint16_t>(table.at(p, end, length) & (letter | number | space | hf_punctuation));
    }

    // \s+(?!\S)|\s+ for a run that began at `last`: all of it where the stretch ends, else all but its last character.
    static const uint8_t* spaces_end(const ClassTable& table, const uint8_t* last, const uint8_t* q, const uint8_t* end) {
        while (q < end) {
            int length;
            const uint16_t kind = kind_at(table, q, end, length);
            if (kind != class_bit::space) return (kind & class_bit::hf_punctuation) != 0 ? q : last;
            last = q;
            q += length;
        }
        return q;
    }
};

}  // namespace lopt
