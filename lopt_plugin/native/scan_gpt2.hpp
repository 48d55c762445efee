#pragma once

#include <cstdint>

#include "ascii_masks.hpp"
#include "unicode.hpp"
#include "whitespace.hpp"

namespace lopt {

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+   (ByteLevel with use_regex)
template <class Masks = VectorMasks>
struct Gpt2Scanner {
  static constexpr const char* name = "gpt2";

  static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
    using namespace class_bit;
    int length;
    uint16_t kind = static_cast<uint16_t>(table.at(p, end, length) & (letter | number | space));
    const uint8_t* q = p + length;
    if (*p == '\'') {
      const int contraction = lower_case_contraction(p, end);
      if (contraction != 0) return p + contraction;
    }
    if (q == end) return q;
    if (kind == space) {
      const uint16_t second = static_cast<uint16_t>(table.at(q, end, length) & (letter | number | space));
      if (second == space) return spaces_end(table, p, q, end);
      if (*p != ' ') return q;
      kind = second;
      q += length;
    }
    while (q < end && (table.at(q, end, length) & (letter | number | space)) == kind) q += length;
    return q;
  }

  static uint64_t starts(const uint8_t* p) {
    const AsciiMasks m = Masks::of(p);
    uint64_t valid = m.valid();
    const uint64_t other = m.other();
    uint64_t starts = ((m.letter & ~(m.letter << 1)) | (m.digit & ~(m.digit << 1)) | (other & ~(other << 1))) & ~(m.blank << 1);
    starts |= m.space & (~(m.space << 1) | ~(m.space >> 1));

    uint64_t apostrophes = m.apostrophe & starts & valid;
    while (apostrophes != 0) {
      const int at = __builtin_ctzll(apostrophes);
      apostrophes &= apostrophes - 1;
      if (at > 60 || (valid >> (at + 2) & 1) == 0) {
        valid &= (uint64_t{2} << at) - 1;  // what follows decides whether this is a contraction
        break;
      }
      const int contraction = lower_case_contraction(p + at, p + 64);
      if (contraction == 0) continue;
      starts &= ~(uint64_t{2} << at);
      starts |= m.letter & (uint64_t{1} << (at + contraction));
    }
    return starts & certain_below_trailing_space(m.space, valid) & valid & ~uint64_t{1};
  }

 private:
  // Unlike the patterns made for larger vocabularies this one knows lower case only.
  static int lower_case_contraction(const uint8_t* p, const uint8_t* end) {
    if (end - p < 2) return 0;
    const uint8_t a = p[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (end - p < 3) return 0;
    const uint8_t b = p[2];
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
  }

  // \s+(?!\S)|\s+ for white space of two characters or more: all but the last one, or all before the end of the text.
  static const uint8_t* spaces_end(const ClassTable& table, const uint8_t* last, const uint8_t* q, const uint8_t* end) {
    while (q < end) {
      int length;
      if ((table.at(q, end, length) & class_bit::space) == 0) return last;
      last = q;
      q += length;
    }
    return q;
  }
};

}  // namespace lopt
