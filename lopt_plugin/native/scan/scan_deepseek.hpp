// DeepSeek V3's pre-tokens: its three splits in one scan.
#pragma once

#include <cstdint>

#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Applied one after the other:
//   \p{N}{1,3}
//   [一-龥぀-ゟ゠-ヿ]+
//   [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
//     |\s*[\r\n]+|\s+(?!\S)|\s+
// The first two divide the text into stretches; for the third pattern, the text ends where the stretch ends. Characters
// that it does not match (controls, unassigned characters) stay together until the next match begins.
struct DeepseekScanner : WindowScanner<DeepseekScanner, class_bit::cjk> {
    static constexpr const char* name = "deepseek_v3";
    static constexpr bool separates_lines = true, separates_capitals = false;
    static constexpr size_t digits_in_group = 3;

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        constexpr uint16_t word = letter | mark;
        constexpr uint16_t stretch_bits = number | cjk;
        int length;
        const uint16_t first = table.at(p, end, length);
        const uint8_t* q = p + length;
        if ((first & number) != 0) return table.skip_at_most(2, number, q, end);
        const uint16_t stretch = first & cjk;
        if ((first & word) != 0) return run_end(table, stretch, word, q, end);
        if (q == end) return q;
        const bool is_punctuation = (first & punctuation_or_symbol) != 0;
        if (is_punctuation && *p < 0x80 && is_ascii_letter(*q)) {
            while (q < end && is_ascii_letter(*q)) q++;
            return q;
        }
        const uint16_t second = table.at(q, end, length);
        const bool goes_on = (second & stretch_bits) == stretch;
        if (goes_on && (second & word) != 0 && !is_punctuation && (first & newline) == 0) {
            return run_end(table, stretch, word, q + length, end);
        }
        if (is_punctuation || (*p == ' ' && goes_on && (second & punctuation_or_symbol) != 0)) {
            q = run_end(table, stretch, punctuation_or_symbol, q, end);
            if (stretch == 0) {
                while (q < end && (*q == '\n' || *q == '\r')) q++;
            }
            return q;
        }
        if ((first & space) != 0) return whitespace_end(table, p, end, stretch_bits);
        return unmatched_end(table, stretch, p, q, end);
    }

    template <class Others>
    [[gnu::always_inline]] static uint64_t starts_in(const uint8_t*, const AsciiMasks& m, const Others& others) {
        const uint64_t other_word = others.having(class_bit::letter | class_bit::mark), cjk = others.having_extra();
        const uint64_t other_punctuation = others.having(class_bit::punctuation_or_symbol);
        const uint64_t word = m.letter | other_word, punctuation = m.punctuation() | other_punctuation;
        WindowBounds bounds = others.bounds();
        bounds.end_below(m.high & ~(other_word | (other_punctuation & ~cjk)));  // unmatched characters, and CJK that is not a word
        const uint64_t plain_space = m.white & ~m.newline;
        // Starts of runs of punctuation without a space before them. A run of one ASCII character is a prefix of the
        // ASCII letters after it; if non-ASCII letters or marks follow these, they begin another word.
        const uint64_t prefix = punctuation & ~(punctuation << 1) & ~(m.space << 1);
        const uint64_t prefixed = ((prefix & ~m.high) << 1) & m.letter;
        uint64_t starts = prefix | grouped_digit_starts(m.digit);
        starts |= (word & ~((word | plain_space | m.control) << 1) & ~prefixed) | ((prefixed + m.letter) & ~m.letter & word);
        starts |= m.control & (~(m.control << 1) | ((word & ~cjk) >> 1));
        starts |= cjk ^ (cjk << 1);
        const uint64_t absorbed_first = m.newline & (punctuation << 1);
        starts |= whitespace_starts(m.white, m.newline, m.digit | cjk) & ~absorbed_first;
        starts |= (absorbed_first + m.newline) & ~m.newline & plain_space;
        return starts & certain_below_trailing_space(m.white, bounds.valid) & bounds.valid & ~uint64_t{1};
    }

  private:
    static bool is_ascii_letter(uint8_t byte) {
        const unsigned lower = byte | 0x20u;
        return lower >= 'a' && lower <= 'z';
    }

    // End of the run of characters in this stretch that have a bit of `wanted`, which excludes numbers.
    static const uint8_t* run_end(const ClassTable& table, uint16_t stretch, uint16_t wanted, const uint8_t* q,
                                  const uint8_t* end) {
        while (q < end) {
            int length;
            const uint16_t found = table.at(q, end, length);
            if ((found & wanted) == 0 || (found & class_bit::cjk) != stretch) return q;
            q += length;
        }
        return q;
    }

    // `last` is a character that no alternative begins with, and q is the position after it. If several such characters
    // are followed by a word, the last one is its prefix. They are read at most twice.
    static const uint8_t* unmatched_end(const ClassTable& table, uint16_t stretch, const uint8_t* last, const uint8_t* q,
                                        const uint8_t* end) {
        using namespace class_bit;
        while (q < end) {
            int length;
            const uint16_t found = table.at(q, end, length);
            if ((found & (number | cjk)) != stretch) return q;
            if ((found & (letter | mark)) != 0) return last;
            if ((found & (punctuation_or_symbol | space)) != 0) return q;
            last = q;
            q += length;
        }
        return q;
    }
};

}  // namespace lopt
