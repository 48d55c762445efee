#pragma once

#include <cstdint>

#include "ascii_masks.hpp"
#include "unicode.hpp"
#include "whitespace.hpp"

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

  static uint64_t starts(const uint8_t* p) {
    const AsciiMasks m = Masks::of(p);
    const uint64_t valid = m.valid();
    const uint64_t punctuation = m.other() & ~m.control;
    uint64_t starts = (m.letter & ~(m.letter << 1)) | (m.digit & ~(m.digit << 1)) | (m.control & ~(m.control << 1));
    starts &= ~(m.blank << 1);
    starts |= punctuation & ~(punctuation << 1);
    starts |= m.space & ~((m.space << 1) & ((m.space | punctuation) >> 1));
    return starts & certain_below_trailing_space(m.space, valid) & valid & ~uint64_t{1};
  }

 private:
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
