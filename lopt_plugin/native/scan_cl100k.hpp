#pragma once

#include <cstdint>

#include "ascii_masks.hpp"
#include "contraction.hpp"
#include "unicode.hpp"
#include "whitespace.hpp"

namespace lopt {

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max_digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// Qwen 2 to 3 with max_digits 1, cl100k and Llama 3 with 3.
template <int max_digits, class Masks = VectorMasks>
struct Cl100kScanner {
  static constexpr const char* name = max_digits == 1 ? "qwen2" : "cl100k";

  static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
    using namespace class_bit;
    constexpr uint16_t not_other = letter | number | space;
    int length;
    const uint16_t first = table.at(p, end, length);
    const uint8_t* q = p + length;
    if ((first & letter) != 0) return table.skip(letter, q, end);
    if ((first & number) != 0) {
      for (int taken = 1; taken < max_digits && q < end; taken++) {
        if ((table.at(q, end, length) & number) == 0) break;
        q += length;
      }
      return q;
    }
    if (*p == '\'') {
      const int contraction = contraction_length(p, end);
      if (contraction != 0) return p + contraction;
    }
    if (q == end) return q;
    const uint16_t second = table.at(q, end, length);
    if ((first & newline) == 0 && (second & letter) != 0) return table.skip(letter, q + length, end);
    if ((first & space) != 0 && (*p != ' ' || (second & not_other) != 0)) return whitespace_end(table, p, end);
    // From here on [^\s\p{L}\p{N}]+[\r\n]*, after its optional space.
    while ((table.at(q, end, length) & not_other) == 0) {
      q += length;
      if (q == end) return q;
    }
    while (q < end && (*q == '\n' || *q == '\r')) q++;
    return q;
  }

  static uint64_t starts(const uint8_t* p) {
    const AsciiMasks m = Masks::of(p);
    const uint64_t valid = m.valid();
    const uint64_t other = m.other();
    const uint64_t plain_space = m.space & ~m.newline;
    // Where a run of other characters begins that no space precedes: alone it is the prefix of the letters behind it.
    const uint64_t prefix = other & ~(other << 1) & ~(m.blank << 1);
    uint64_t starts = prefix | (m.letter & ~((m.letter | plain_space | prefix) << 1)) | digit_starts(m.digit);

    uint64_t apostrophes = m.apostrophe & prefix & (m.letter >> 1) & (m.letter >> 2);
    while (apostrophes != 0) {
      const int at = __builtin_ctzll(apostrophes);
      apostrophes &= apostrophes - 1;
      const int contraction = contraction_length(p + at, p + 64);
      if (contraction != 0 && at + contraction < 64) starts |= m.letter & (uint64_t{1} << (at + contraction));
    }

    const uint64_t absorbed_first = m.newline & (other << 1);
    starts |= whitespace_starts(m.space, m.newline) & ~absorbed_first;
    starts |= (absorbed_first + m.newline) & ~m.newline & plain_space;
    return starts & certain_below_trailing_space(m.space, valid) & valid & ~uint64_t{1};
  }

 private:
  static uint64_t digit_starts(uint64_t digit) {
    if constexpr (max_digits == 1) return digit;
    return grouped_digit_starts(digit);
  }
};

}  // namespace lopt
