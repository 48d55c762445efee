#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define LOPT_ASCII_MASKS_SSE2 1
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define LOPT_ASCII_MASKS_NEON 1
#endif

namespace lopt {

// Classes of 64 bytes, one bit a byte, lowest bit first. Bytes of 0x80 and above have only their bit of `high`.
struct AsciiMasks {
  uint64_t letter = 0;      // [A-Za-z]
  uint64_t upper = 0;       // [A-Z]
  uint64_t digit = 0;       // [0-9]
  uint64_t space = 0;       // [\t\n\v\f\r ]
  uint64_t newline = 0;     // [\r\n]
  uint64_t blank = 0;       // the space character
  uint64_t apostrophe = 0;  // '
  uint64_t slash = 0;       // /
  uint64_t control = 0;     // [\0-\x1f\x7f] that are not spaces
  uint64_t high = 0;        // not ASCII

  // Everything else of ASCII: punctuation and symbols, and controls.
  uint64_t other() const { return ~(letter | digit | space | high); }
  // The bytes below the first one that is not ASCII.
  uint64_t valid() const { return (high & (~high + 1)) - 1; }
};

// The reference for the vector forms.
inline AsciiMasks ascii_masks_portable(const uint8_t* p) {
  AsciiMasks masks;
  for (unsigned i = 0; i < 64; i++) {
    const uint64_t bit = uint64_t{1} << i;
    const unsigned c = p[i];
    const unsigned lower = c | 0x20u;
    if (c >= 0x80) masks.high |= bit;
    if (lower >= 'a' && lower <= 'z') masks.letter |= bit;
    if (c >= 'A' && c <= 'Z') masks.upper |= bit;
    if (c >= '0' && c <= '9') masks.digit |= bit;
    if (c == ' ' || (c >= '\t' && c <= '\r')) masks.space |= bit;
    if (c == '\n' || c == '\r') masks.newline |= bit;
    if (c == ' ') masks.blank |= bit;
    if (c == '\'') masks.apostrophe |= bit;
    if (c == '/') masks.slash |= bit;
    if (c == 0x7F || c < '\t' || (c > '\r' && c < ' ')) masks.control |= bit;
  }
  return masks;
}

#if defined(LOPT_ASCII_MASKS_SSE2)

// Signed comparison: bytes of 0x80 and above are negative and stay below every bound used here.
[[gnu::always_inline]] inline AsciiMasks ascii_masks(const uint8_t* p) {
  AsciiMasks masks;
  const auto all = [](int value) { return _mm_set1_epi8(static_cast<char>(value)); };
  for (int i = 0; i < 64; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    const auto add = [i](uint64_t& mask, __m128i lanes) {
      mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(lanes))) << i;
    };
    // x in [low, high] as one comparison: x + (127 - high) > 126 - high + low - 1 without overflow for the bytes kept.
    const auto within = [&](__m128i x, int low, int high) {
      return _mm_cmpgt_epi8(_mm_add_epi8(x, all(127 - high)), all(126 - high + low));
    };
    const __m128i blank = _mm_cmpeq_epi8(bytes, all(' '));
    const __m128i space = _mm_or_si128(blank, within(bytes, '\t', '\r'));
    const __m128i below_blank = _mm_andnot_si128(_mm_cmplt_epi8(bytes, _mm_setzero_si128()), _mm_cmplt_epi8(bytes, all(' ')));
    add(masks.letter, within(_mm_or_si128(bytes, all(0x20)), 'a', 'z'));
    add(masks.upper, within(bytes, 'A', 'Z'));
    add(masks.digit, within(bytes, '0', '9'));
    add(masks.space, space);
    add(masks.newline, _mm_or_si128(_mm_cmpeq_epi8(bytes, all('\n')), _mm_cmpeq_epi8(bytes, all('\r'))));
    add(masks.blank, blank);
    add(masks.apostrophe, _mm_cmpeq_epi8(bytes, all('\'')));
    add(masks.slash, _mm_cmpeq_epi8(bytes, all('/')));
    add(masks.control, _mm_andnot_si128(space, _mm_or_si128(below_blank, _mm_cmpeq_epi8(bytes, all(0x7F)))));
    add(masks.high, bytes);
  }
  return masks;
}

#elif defined(LOPT_ASCII_MASKS_NEON)

[[gnu::always_inline]] inline AsciiMasks ascii_masks(const uint8_t* p) {
  const uint8x16_t bytes[4] = {vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)};
  static constexpr uint8_t bit_of_lane[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(bit_of_lane);
  // Three pairwise additions gather the 64 lane bits of four comparisons in order.
  const auto gather = [&](auto lanes) {
    const uint8x16_t low = vpaddq_u8(vandq_u8(lanes(bytes[0]), bits), vandq_u8(lanes(bytes[1]), bits));
    const uint8x16_t high = vpaddq_u8(vandq_u8(lanes(bytes[2]), bits), vandq_u8(lanes(bytes[3]), bits));
    const uint8x16_t both = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
  };
  const auto all = [](int value) { return vdupq_n_u8(static_cast<uint8_t>(value)); };
  const auto within = [&](uint8x16_t x, int low, int high) { return vcleq_u8(vsubq_u8(x, all(low)), all(high - low)); };
  const auto space = [&](uint8x16_t x) { return vorrq_u8(vceqq_u8(x, all(' ')), within(x, '\t', '\r')); };
  AsciiMasks masks;
  masks.letter = gather([&](uint8x16_t x) { return within(vorrq_u8(x, all(0x20)), 'a', 'z'); });
  masks.upper = gather([&](uint8x16_t x) { return within(x, 'A', 'Z'); });
  masks.digit = gather([&](uint8x16_t x) { return within(x, '0', '9'); });
  masks.space = gather(space);
  masks.newline = gather([&](uint8x16_t x) { return vorrq_u8(vceqq_u8(x, all('\n')), vceqq_u8(x, all('\r'))); });
  masks.blank = gather([&](uint8x16_t x) { return vceqq_u8(x, all(' ')); });
  masks.apostrophe = gather([&](uint8x16_t x) { return vceqq_u8(x, all('\'')); });
  masks.slash = gather([&](uint8x16_t x) { return vceqq_u8(x, all('/')); });
  masks.control = gather([&](uint8x16_t x) { return vbicq_u8(vorrq_u8(vcltq_u8(x, all(' ')), vceqq_u8(x, all(0x7F))), space(x)); });
  masks.high = gather([&](uint8x16_t x) { return vcgeq_u8(x, all(0x80)); });
  return masks;
}

#else

inline AsciiMasks ascii_masks(const uint8_t* p) { return ascii_masks_portable(p); }

#endif

// Starts of the groups of \p{N}{1,3}: the first digit of every run and every third one after it.
inline uint64_t grouped_digit_starts(uint64_t digit) {
  uint64_t group = digit & ~(digit << 1);
  const uint64_t fourth = digit & (digit << 1) & (digit << 2) & (digit << 3);
  uint64_t starts = group;
  while ((group = (group << 3) & fourth) != 0) starts |= group;
  return starts;
}

// How a scanner classifies its windows; tests choose the portable form.
struct VectorMasks {
  [[gnu::always_inline]] static AsciiMasks of(const uint8_t* p) { return ascii_masks(p); }
};
struct PortableMasks {
  static AsciiMasks of(const uint8_t* p) { return ascii_masks_portable(p); }
};

}  // namespace lopt
