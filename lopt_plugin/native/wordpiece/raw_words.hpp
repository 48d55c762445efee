// Raw words: the text between characters that become spaces. An isolated character is a word of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "text/ascii_masks.hpp"
#include "wordpiece/word_characters.hpp"

namespace lopt {

// Positions of consecutive raw words: word k is [base + starts[k], base + ends[k]).
struct RawWords {
    static constexpr uint32_t WINDOW = 1024;
    static constexpr uint32_t ROOM = WINDOW + 80;  // a scan step may add 64 words to a nearly full window

    const uint8_t* base = nullptr;
    uint32_t count = 0;
    uint32_t starts[ROOM + 8], ends[ROOM + 8];

    void start(const uint8_t* at) {
        base = at;
        count = 0;
    }
    // Distant text starts a new window, so that offsets stay small.
    bool full(const uint8_t* p) const { return count >= WINDOW || p - base > (1 << 20); }
    void add(const uint8_t* begin, const uint8_t* end) {
        starts[count] = static_cast<uint32_t>(begin - base);
        ends[count++] = static_cast<uint32_t>(std::min<ptrdiff_t>(end - base, UINT32_MAX));
    }
    const uint8_t* begin(uint32_t word) const { return base + starts[word]; }
    uint32_t length(uint32_t word) const { return ends[word] - starts[word]; }
};

// Splits a text into units, which are raw words and single white space characters. It only looks ahead, and a unit
// depends only on its own characters and on where it ends, so two scans that share a boundary agree on all later ones.
class RawWordScanner {
  public:
    explicit RawWordScanner(const WordCharacters& characters) : classes_(characters.classes()), windows_(ascii_is_as_usual(classes_)) {}

    // The end of the unit that starts at p < end.
    const uint8_t* next(const uint8_t* p, const uint8_t* end) const {
        int length;
        const bool divides = classes_.at(p, end, length) & DIVIDING;
        return divides ? p + length : word_end(p + length, end);
    }

    // Adds the raw words that one step finds in [p, end) to a window that is not full; returns the end of the last unit.
    [[gnu::always_inline]] const uint8_t* step(const uint8_t* p, const uint8_t* end, RawWords& words) const {
        if (windows_ && end - p >= 64 && *p < 0x80) {
            const uint8_t* reached = step_of_64(p, words);
            if (reached != p) return reached;
        }
        int length;
        uint16_t bits = classes_.at(p, end, length);
        while (bits & word_bit::raw_white_space) {
            p += length;
            if (p >= end) return p;
            bits = classes_.at(p, end, length);
        }
        const uint8_t* q = p + length;
        if (!(bits & word_bit::raw_isolated)) q = word_end(q, end);
        words.add(p, q);
        return q;
    }

  private:
    static constexpr uint16_t DIVIDING = word_bit::raw_white_space | word_bit::raw_isolated;

    const uint8_t* word_end(const uint8_t* p, const uint8_t* end) const { return classes_.skip_without(DIVIDING, p, end); }

    // Adds the words among the 64 bytes at p, up to the first byte that is not plain ASCII; returns p if no unit ends
    // there.
    const uint8_t* step_of_64(const uint8_t* p, RawWords& words) const {
        const AsciiMasks m = AsciiMasks::of(p);
        uint64_t white = m.space | m.newline, odd = m.high | m.control;
        for (uint64_t rest = m.white & ~white; rest; rest &= rest - 1) {
            const uint64_t bit = rest & (~rest + 1);
            if (p[__builtin_ctzll(bit)] == '\t') white |= bit;
            else odd |= bit;
        }
        const uint64_t isolated = m.punctuation(), part = m.letter | m.digit;
        const unsigned known = odd ? static_cast<unsigned>(__builtin_ctzll(odd)) : 64;
        if (!known) return p;
        // If the last word reaches the end of the known bytes, the next step adds it.
        const uint64_t valid = known == 64 ? ~uint64_t{0} : (uint64_t{1} << known) - 1;
        uint64_t starts = ((part & ~(part << 1)) | isolated) & valid;
        uint64_t ends = ((part & ~(part >> 1)) | isolated) & valid;
        unsigned reached = known;
        if (part >> (known - 1) & 1) {
            reached = 63 - static_cast<unsigned>(__builtin_clzll(starts));
            starts &= ~(uint64_t{1} << reached);
            ends &= (uint64_t{1} << reached) - 1;
        }
        add(words, p, starts, ends);
        return p + reached;
    }

    // Adds four at a time, because their number is hard to predict. Writes up to 3 elements past the last.
    static void add(RawWords& words, const uint8_t* p, uint64_t starts, uint64_t ends) {
        constexpr uint64_t LAST = uint64_t{1} << 63;
        const auto at = static_cast<uint32_t>(p - words.base), n = static_cast<uint32_t>(__builtin_popcountll(starts));
        uint32_t *start = words.starts + words.count, *end = words.ends + words.count;
        for (uint32_t i = 0; i < n; i += 4)
            for (uint32_t j = 0; j < 4; j++) {
                start[i + j] = at + static_cast<uint32_t>(__builtin_ctzll(starts | LAST));
                end[i + j] = at + static_cast<uint32_t>(__builtin_ctzll(ends | LAST)) + 1;
                starts &= starts - 1;
                ends &= ends - 1;
            }
        words.count += n;
    }

    static bool ascii_is_as_usual(const ClassTable& classes) {
        for (uint32_t c = 0; c < 0x80; c++) {
            const bool white = c == ' ' || c == '\t' || c == '\n' || c == '\r';
            const bool letter_or_digit = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
            const bool odd = !white && (c < ' ' || c == 0x7F);
            const uint16_t bits = classes.of(c) & DIVIDING;
            if (!odd && bits != (white ? word_bit::raw_white_space : letter_or_digit ? 0 : word_bit::raw_isolated)) return false;
        }
        return true;
    }

    const ClassTable& classes_;
    bool windows_;
};

}  // namespace lopt
