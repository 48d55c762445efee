// Pre-tokens of o200k, Tekken and Kimi.
#pragma once

#include <cstdint>

#include "scan/contraction.hpp"
#include "scan/non_ascii_classes.hpp"
#include "scan/whitespace.hpp"
#include "text/unicode.hpp"

namespace lopt {

// With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
//   [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//   |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// o200k has contractions and groups of three digits; Mistral's Tekken has neither. `han`: that of Kimi, as o200k's, but with
// [\p{Han}]+ before all else, U and L without \p{Han}, as in its class table, and [\r\n]* for [\r\n/]*.
template <bool contractions, int max_digits, bool han = false>
struct O200kScanner : WindowScanner<O200kScanner<contractions, max_digits, han>, han ? class_bit::cjk : 0> {
    static constexpr const char* name = han ? "kimi" : contractions ? "o200k" : "tekken";
    static constexpr bool separates_lines = true, separates_capitals = true;
    static constexpr size_t digits_in_group = han ? 0 : max_digits;  // some Han characters are numbers

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        constexpr uint16_t not_other = letter | number | space;
        constexpr uint16_t word_side = upper_side | lower_side;
        int length;
        const uint16_t first = table.at(p, end, length);
        const uint8_t* q = p + length;
        if (han && (first & cjk) != 0) return table.skip(cjk, q, end);
        // A mark can also be the optional first character, but the match ends at the same position, because a mark is in
        // both U and L.
        if ((first & word_side) != 0) return with_suffix(word_end(table, p, end), end);
        if ((first & number) != 0) return table.skip_at_most(max_digits - 1, number, q, end);
        if (q == end) return q;
        const uint16_t second = table.at(q, end, length);
        if ((first & newline) == 0 && (second & word_side) != 0) return with_suffix(word_end(table, q, end), end);
        if ((first & space) != 0 && (*p != ' ' || (second & not_other) != 0)) return whitespace_end(table, p, end);
        // The rest is [^\s\p{L}\p{N}]+[\r\n/]*, after its optional space.
        if ((second & not_other) == 0) q = table.skip_without(not_other, q + length, end);
        while (q < end && (*q == '\n' || *q == '\r' || (!han && *q == '/'))) q++;
        return q;
    }

    template <class Others>
    [[gnu::always_inline]] static uint64_t starts_in(const uint8_t* p, const AsciiMasks& m, const Others& others) {
        const uint64_t upper_side = others.having(class_bit::upper_side), lower_side = others.having(class_bit::lower_side);
        const uint64_t both = upper_side & lower_side, word = m.letter | upper_side | lower_side;
        const uint64_t upper = m.upper | (upper_side & ~both), lower = word & ~(upper | both);
        const uint64_t letter_of_han = han ? others.having_extra() & others.having(class_bit::letter) : 0;
        uint64_t other = ~(word | letter_of_han | m.digit | m.white), space = m.white, newline = m.newline;
        // Whether a mark after other characters begins a word depends on how many there are.
        WindowBounds bounds = others.bounds();
        bounds.end_below(others.having(class_bit::mark) & (other << 1));
        // Numbers, symbols and marks of Han begin a run of Han only where no other match is going on.
        if constexpr (han) bounds.end_below(others.having_extra() & ~letter_of_han);
        const uint64_t in_suffix = contractions ? m.apostrophe << 1 | m.apostrophe << 2 : 0;  // perhaps
        const uint64_t capitals = capital_starts(upper & (both << 1), both, upper, lower, in_suffix, bounds);
        const uint64_t plain_space = space & ~newline;
        uint64_t absorbed_first = newline & (other << 1);
        if (!han && ((absorbed_first + newline) & m.slash & ~newline) != 0) {
            const uint64_t absorbed = absorbed_with_slashes(absorbed_first, newline | m.slash);
            other &= ~absorbed;
            space &= ~absorbed;
            newline &= ~absorbed;
            absorbed_first = 0;
        }
        // Starts of runs of other characters without a space before them. A run of one character is a prefix of the
        // letters after it.
        const uint64_t prefix = other & ~(other << 1) & ~(m.space << 1);
        uint64_t starts = prefix | (word & ~((word | plain_space | bounds.whole(prefix)) << 1)) | (upper & (lower << 1)) | capitals;
        starts |= letter_of_han & ~(letter_of_han << 1);
        starts |= max_digits == 1 ? m.digit : grouped_digit_starts(m.digit);
        starts |= whitespace_starts(space, newline) & ~absorbed_first;
        starts |= (absorbed_first + newline) & ~newline & plain_space;
        if constexpr (contractions) apply_suffixes(p, m.apostrophe & (word << 1), word, starts, bounds);
        return starts & certain_below_trailing_space(space, bounds.valid) & bounds.valid & ~uint64_t{1};
    }

  private:
    // Those of the upper-side characters in `after_both`, which follow one in both sides, that begin a word. After L+ all do.
    // U* takes them; if no L follows, it backtracks to its last character in both sides, and the word ends after that. If the
    // window is too short to decide, or if L+ may have ended with a contraction, `bounds` ends there.
    static uint64_t capital_starts(uint64_t after_both, uint64_t both, uint64_t upper, uint64_t lower, uint64_t in_suffix, WindowBounds& bounds) {
        uint64_t starts = 0;
        for (; after_both != 0; after_both &= after_both - 1) {
            const int at = __builtin_ctzll(after_both);
            const uint64_t bit = uint64_t{1} << at, before = ~both & (bit - 1), after = ~(upper | both) & ~(bit - 1);
            const uint64_t last = before != 0 ? uint64_t{1} << (63 - __builtin_clzll(before)) : 0, end = after & (~after + 1);
            const bool after_lower = (lower & last) != 0;
            if (after_lower ? (in_suffix & last) != 0 : (end & bounds.valid) == 0) {
                bounds.end_below(bit);
                break;
            }
            const bool is_last = (both & ~(bit - 1) & (end - 1)) == 0;
            if (after_lower || ((lower & end) == 0 && is_last)) starts |= bit;
        }
        return starts;
    }

    // The newlines and slashes that [\r\n/]* matches after other characters: from each first newline to the end of its
    // run. The addition carries through the runs; if a run contains several first newlines, they are restored.
    static uint64_t absorbed_with_slashes(uint64_t absorbed_first, uint64_t absorbable) {
        return (((absorbed_first + absorbable) ^ absorbable) | absorbed_first) & absorbable;
    }

    // Clears the starts at apostrophes that begin a contraction after a word, which belongs to that word. If the window
    // is too short to decide, `bounds` ends there.
    static void apply_suffixes(const uint8_t* p, uint64_t apostrophes, uint64_t word, uint64_t& starts, WindowBounds& bounds) {
        int suffix_end = 0;
        while (apostrophes != 0) {
            const int at = __builtin_ctzll(apostrophes);
            apostrophes &= apostrophes - 1;
            if (at == suffix_end) continue;  // a second contraction is a pre-token of its own
            if (at > 60 || (bounds.valid >> (at + 2) & 1) == 0) {
                bounds.end_below(uint64_t{1} << at);
                return;
            }
            const int length = contraction_length(p + at, p + 64);
            if (length == 0) continue;
            suffix_end = at + length;
            starts &= ~(((uint64_t{1} << length) - 1) << at);
            starts |= word & (uint64_t{1} << suffix_end);
        }
    }

    // End of the match of U*L+|U+L* at q, which must be in U or L. U* first takes the whole run of U. If a character of L
    // follows, it is not in U, and L+ continues from it. Otherwise U* backtracks to the last character of the run that is
    // also in L. The match ends after it, because only characters outside L follow it in the run. If there is none, U+L*
    // takes the whole run. When the first alternative leaves a part of the run, that part then matches as a whole, so no
    // character is read more than twice.
    static const uint8_t* word_end(const ClassTable& table, const uint8_t* q, const uint8_t* end) {
        using namespace class_bit;
        const uint8_t* after_both = nullptr;
        while (q < end) {
            int length;
            const uint16_t found = table.at(q, end, length);
            if ((found & upper_side) == 0) {
                if ((found & lower_side) == 0) break;
                return table.skip(lower_side, q + length, end);
            }
            q += length;
            if ((found & lower_side) != 0) after_both = q;
        }
        return after_both != nullptr ? after_both : q;
    }

    static const uint8_t* with_suffix(const uint8_t* q, const uint8_t* end) {
        if constexpr (contractions) {
            if (q < end && *q == '\'') return q + contraction_length(q, end);
        }
        return q;
    }
};

}  // namespace lopt
