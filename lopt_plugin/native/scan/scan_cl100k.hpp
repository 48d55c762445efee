// Pre-tokens of Qwen, cl100k, Llama 3 and Seed.
#pragma once

#include <cstdint>

#include "scan/contraction.hpp"
#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/unicode.hpp"

namespace lopt {

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max_digits}| ?[^\s\p{L}\p{N}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
// Qwen 2 to 3 use max_digits 1; cl100k and Llama 3 use 3. Some models have a variant:
//   tiktoken  cl100k with \s++$ before \s*[\r\n]+, so that all white space at the end of a text is one pre-token;
//   qwen3_5   [\p{L}\p{M}]+ for \p{L}+ and [^\s\p{L}\p{M}\p{N}]+ for [^\s\p{L}\p{N}]+. A mark can also be the optional first
//             character, but the match ends at the same position;
//   seed      no [\r\n]* after [^\s\p{L}\p{N}]+.
enum class Cl100kVariant { none, tiktoken, qwen3_5, seed };

constexpr const char* cl100k_name(int max_digits, Cl100kVariant variant) {
    switch (variant) {
        case Cl100kVariant::tiktoken: return "cl100k_tiktoken";
        case Cl100kVariant::qwen3_5: return "qwen3_5";
        case Cl100kVariant::seed: return "seed";
        case Cl100kVariant::none: break;
    }
    return max_digits == 1 ? "qwen2" : "cl100k";
}

template <int max_digits, Cl100kVariant variant = Cl100kVariant::none>
struct Cl100kScanner : WindowScanner<Cl100kScanner<max_digits, variant>> {
    static constexpr bool ends_in_space = variant == Cl100kVariant::tiktoken, marks = variant == Cl100kVariant::qwen3_5;
    static constexpr bool symbols_take_newlines = variant != Cl100kVariant::seed;
    static constexpr const char* name = cl100k_name(max_digits, variant);
    static constexpr bool separates_lines = !ends_in_space, separates_capitals = false;
    static constexpr size_t digits_in_group = ends_in_space ? 0 : max_digits;
    static constexpr uint8_t word = marks ? class_bit::letter | class_bit::mark : class_bit::letter;

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        constexpr uint16_t not_other = word | number | space;
        int length;
        const uint16_t first = table.at(p, end, length);
        const uint8_t* q = p + length;
        if ((first & word) != 0) return table.skip(word, q, end);
        if ((first & number) != 0) return table.skip_at_most(max_digits - 1, number, q, end);
        if (*p == '\'') {
            const int contraction = contraction_length(p, end);
            if (contraction != 0) return p + contraction;
        }
        if (q == end) return q;
        const uint16_t second = table.at(q, end, length);
        if ((first & newline) == 0 && (second & word) != 0) return table.skip(word, q + length, end);
        if ((first & space) != 0 && (*p != ' ' || (second & not_other) != 0)) {
            if (ends_in_space && table.skip(space, q, end) == end) return end;
            return whitespace_end(table, p, end);
        }
        // The rest is [^\s\p{L}\p{N}]+[\r\n]*, after its optional space.
        if ((second & not_other) == 0) q = table.skip_without(not_other, q + length, end);
        while (symbols_take_newlines && q < end && (*q == '\n' || *q == '\r')) q++;
        return q;
    }

    template <class Others>
    [[gnu::always_inline]] static uint64_t starts_in(const uint8_t* p, const AsciiMasks& m, const Others& others) {
        const uint64_t letter = m.letter | others.having(word);
        const WindowBounds bounds = others.bounds();
        const uint64_t other = ~(letter | m.digit | m.white);
        const uint64_t plain_space = m.white & ~m.newline;
        // Starts of runs of other characters without a space before them. A run of one character is a prefix of the
        // letters after it.
        const uint64_t prefix = other & ~(other << 1) & ~(m.space << 1);
        uint64_t starts = prefix | (letter & ~((letter | plain_space | bounds.whole(prefix)) << 1));
        starts |= max_digits == 1 ? m.digit : grouped_digit_starts(m.digit);

        uint64_t apostrophes = m.apostrophe & prefix & (letter >> 1) & (letter >> 2);
        while (apostrophes != 0) {
            const int at = __builtin_ctzll(apostrophes);
            apostrophes &= apostrophes - 1;
            const int contraction = contraction_length(p + at, p + 64);
            if (contraction != 0 && at + contraction < 64) starts |= letter & (uint64_t{1} << (at + contraction));
        }

        const uint64_t absorbed_first = symbols_take_newlines ? m.newline & (other << 1) : 0;
        starts |= whitespace_starts(m.white, m.newline) & ~absorbed_first;
        starts |= (absorbed_first + m.newline) & ~m.newline & plain_space;
        return starts & certain_below_trailing_space(m.white, bounds.valid) & bounds.valid & ~uint64_t{1};
    }
};

}  // namespace lopt
