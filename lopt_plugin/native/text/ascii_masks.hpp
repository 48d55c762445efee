// 64 bytes to bit masks: SSE2, NEON and a portable form.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define LOPT_MASKS_SSE2 1
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define LOPT_MASKS_NEON 1
#endif

namespace lopt {

// Classes of 64 bytes, one bit a byte, lowest bit first. Bytes of 0x80 and above have only their bit of `high`.
struct AsciiMasks {
    uint64_t letter = 0;      // [A-Za-z]
    uint64_t upper = 0;       // [A-Z]
    uint64_t digit = 0;       // [0-9]
    uint64_t white = 0;       // [\t\n\v\f\r ]
    uint64_t newline = 0;     // [\r\n]
    uint64_t space = 0;       // the space character
    uint64_t apostrophe = 0;  // '
    uint64_t slash = 0;       // /
    uint64_t control = 0;     // [\0-\x1f\x7f] that are no white space
    uint64_t high = 0;        // not ASCII

    uint64_t punctuation() const { return ~(letter | digit | white | control | high); }
};

// The portable forms are the reference for the vector forms.
struct PortableMasks {
    static AsciiMasks of(const uint8_t* p) {
        AsciiMasks masks;
        for (unsigned i = 0; i < 64; i++) {
            const uint64_t bit = uint64_t{1} << i;
            const unsigned c = p[i];
            const unsigned lower = c | 0x20u;
            if (c >= 0x80) masks.high |= bit;
            if (lower >= 'a' && lower <= 'z') masks.letter |= bit;
            if (c >= 'A' && c <= 'Z') masks.upper |= bit;
            if (c >= '0' && c <= '9') masks.digit |= bit;
            if (c == ' ' || (c >= '\t' && c <= '\r')) masks.white |= bit;
            if (c == '\n' || c == '\r') masks.newline |= bit;
            if (c == ' ') masks.space |= bit;
            if (c == '\'') masks.apostrophe |= bit;
            if (c == '/') masks.slash |= bit;
            if (c == 0x7F || c < '\t' || (c > '\r' && c < ' ')) masks.control |= bit;
        }
        return masks;
    }

    // Continuation bytes of UTF-8.
    static uint64_t continuation(const uint8_t* p) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < 64; i++) mask |= uint64_t{(p[i] & 0xC0u) == 0x80u} << i;
        return mask;
    }

    // Bytes that have any of the bits.
    static uint64_t having(const uint8_t* p, uint8_t bits) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < 64; i++) mask |= uint64_t{(p[i] & bits) != 0} << i;
        return mask;
    }

    // Bytes that are one of `count` given ones.
    static uint64_t among(const uint8_t* p, const uint8_t* given, size_t count) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < 64; i++)
            for (size_t k = 0; k < count; k++) mask |= uint64_t{p[i] == given[k]} << i;
        return mask;
    }
};

#if defined(LOPT_MASKS_SSE2)

struct VectorMasks {
    // Signed comparisons: bytes of 0x80 and above are negative and stay below every bound used here.
    [[gnu::always_inline]] static AsciiMasks of(const uint8_t* p) {
        AsciiMasks masks;
        for (int i = 0; i < 64; i += 16) {
            const __m128i bytes = load(p + i);
            const auto add = [i](uint64_t& mask, __m128i lanes) { mask |= lane_bits(lanes) << i; };
            const __m128i space = _mm_cmpeq_epi8(bytes, all(' '));
            const __m128i white = _mm_or_si128(space, within(bytes, '\t', '\r'));
            const __m128i negative = _mm_cmplt_epi8(bytes, _mm_setzero_si128());
            const __m128i below_space = _mm_andnot_si128(negative, _mm_cmplt_epi8(bytes, all(' ')));
            add(masks.letter, within(_mm_or_si128(bytes, all(0x20)), 'a', 'z'));
            add(masks.upper, within(bytes, 'A', 'Z'));
            add(masks.digit, within(bytes, '0', '9'));
            add(masks.white, white);
            add(masks.newline, _mm_or_si128(_mm_cmpeq_epi8(bytes, all('\n')), _mm_cmpeq_epi8(bytes, all('\r'))));
            add(masks.space, space);
            add(masks.apostrophe, _mm_cmpeq_epi8(bytes, all('\'')));
            add(masks.slash, _mm_cmpeq_epi8(bytes, all('/')));
            add(masks.control, _mm_andnot_si128(white, _mm_or_si128(below_space, _mm_cmpeq_epi8(bytes, all(0x7F)))));
            add(masks.high, bytes);
        }
        return masks;
    }

    static uint64_t continuation(const uint8_t* p) {
        uint64_t mask = 0;
        for (int i = 0; i < 64; i += 16) mask |= lane_bits(_mm_cmplt_epi8(load(p + i), all(0xC0))) << i;
        return mask;
    }

    static uint64_t having(const uint8_t* p, uint8_t bits) {
        uint64_t mask = 0;
        for (int i = 0; i < 64; i += 16) {
            const __m128i kept = _mm_and_si128(load(p + i), all(bits));
            mask |= lane_bits(_mm_cmpeq_epi8(kept, _mm_setzero_si128())) << i;
        }
        return ~mask;
    }

    static uint64_t among(const uint8_t* p, const uint8_t* given, size_t count) {
        const __m128i bytes[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)};
        __m128i same[4] = {};
        for (size_t k = 0; k < count; k++)
            for (int i = 0; i < 4; i++) same[i] = _mm_or_si128(same[i], _mm_cmpeq_epi8(bytes[i], all(given[k])));
        return lane_bits(same[0]) | lane_bits(same[1]) << 16 | lane_bits(same[2]) << 32 | lane_bits(same[3]) << 48;
    }

  private:
    static __m128i load(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static __m128i all(int value) { return _mm_set1_epi8(static_cast<char>(value)); }
    static uint64_t lane_bits(__m128i lanes) { return static_cast<uint32_t>(_mm_movemask_epi8(lanes)); }
    // x in [low, high] as one comparison: the addition moves `high` to 127 and wraps what is above it below zero.
    static __m128i within(__m128i x, int low, int high) {
        return _mm_cmpgt_epi8(_mm_add_epi8(x, all(127 - high)), all(126 - high + low));
    }
};

#elif defined(LOPT_MASKS_NEON)

struct VectorMasks {
    static AsciiMasks of(const uint8_t* p) {
        AsciiMasks masks;
        masks.letter = gather(p, [](uint8x16_t x) { return within(vorrq_u8(x, all(0x20)), 'a', 'z'); });
        masks.upper = gather(p, [](uint8x16_t x) { return within(x, 'A', 'Z'); });
        masks.digit = gather(p, [](uint8x16_t x) { return within(x, '0', '9'); });
        masks.white = gather(p, [](uint8x16_t x) { return vorrq_u8(equal(x, ' '), within(x, '\t', '\r')); });
        masks.newline = gather(p, [](uint8x16_t x) { return vorrq_u8(equal(x, '\n'), equal(x, '\r')); });
        masks.space = gather(p, [](uint8x16_t x) { return equal(x, ' '); });
        masks.apostrophe = gather(p, [](uint8x16_t x) { return equal(x, '\''); });
        masks.slash = gather(p, [](uint8x16_t x) { return equal(x, '/'); });
        masks.control = gather(p, [](uint8x16_t x) { return vorrq_u8(vcltq_u8(x, all(' ')), equal(x, 0x7F)); }) & ~masks.white;
        masks.high = gather(p, [](uint8x16_t x) { return vcgeq_u8(x, all(0x80)); });
        return masks;
    }

    static uint64_t continuation(const uint8_t* p) {
        return gather(p, [](uint8x16_t x) { return within(x, 0x80, 0xBF); });
    }

    static uint64_t having(const uint8_t* p, uint8_t bits) {
        return gather(p, [bits](uint8x16_t x) { return vtstq_u8(x, vdupq_n_u8(bits)); });
    }

    static uint64_t among(const uint8_t* p, const uint8_t* given, size_t count) {
        return gather(p, [given, count](uint8x16_t x) {
            uint8x16_t same = vdupq_n_u8(0);
            for (size_t k = 0; k < count; k++) same = vorrq_u8(same, equal(x, given[k]));
            return same;
        });
    }

  private:
    static uint8x16_t all(int value) { return vdupq_n_u8(static_cast<uint8_t>(value)); }
    static uint8x16_t equal(uint8x16_t x, int value) { return vceqq_u8(x, all(value)); }
    static uint8x16_t within(uint8x16_t x, int low, int high) { return vcleq_u8(vsubq_u8(x, all(low)), all(high - low)); }

    // Three pairwise additions gather the lane bits of four comparisons in order.
    template <class Lanes>
    static uint64_t gather(const uint8_t* p, Lanes&& lanes) {
        static constexpr uint8_t bit_of_lane[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const uint8x16_t bits = vld1q_u8(bit_of_lane);
        const auto at = [&](int i) { return vandq_u8(lanes(vld1q_u8(p + i)), bits); };
        const uint8x16_t both = vpaddq_u8(vpaddq_u8(at(0), at(16)), vpaddq_u8(at(32), at(48)));
        return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
    }
};

#else

using VectorMasks = PortableMasks;

#endif

// Starts of the groups of \p{N}{1,3}: the first digit of every run and every third one after it.
inline uint64_t grouped_digit_starts(uint64_t digit) {
    uint64_t group = digit & ~(digit << 1);
    const uint64_t fourth = digit & (digit << 1) & (digit << 2) & (digit << 3);
    uint64_t starts = group;
    while ((group = (group << 3) & fourth) != 0) starts |= group;
    return starts;
}

}  // namespace lopt
