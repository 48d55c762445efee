// Classifies 64 bytes into bit masks, one bit per byte, lowest bit first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace lopt {

// The vector instructions that this header uses.
#if defined(__SSE2__)
inline constexpr const char* VECTORS = "SSE2";
#elif defined(__ARM_NEON) && defined(__aarch64__)
inline constexpr const char* VECTORS = "NEON";
#else
inline constexpr const char* VECTORS = "no vectors";
#endif

namespace detail {

// The compiler provides vectors for every processor; only extracting a bit from each lane differs. A comparison gives
// -1 or 0.
using Lanes [[gnu::vector_size(16)]] = signed char;

// The highest bits of all lanes of four vectors.
[[gnu::always_inline]] inline uint64_t highest_bits(const Lanes (&lanes)[4]) {
#if defined(__SSE2__)
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(lanes[i])))} << (16 * i);
    return bits;
#elif defined(__ARM_NEON) && defined(__aarch64__)
    // Three pairwise additions gather the bits in order.
    static constexpr uint8_t bit_of_lane[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const auto at = [&](int i) { return vandq_u8(vreinterpretq_u8_s8(vshrq_n_s8(reinterpret_cast<int8x16_t>(lanes[i]), 7)), vld1q_u8(bit_of_lane)); };
    const uint8x16_t both = vpaddq_u8(vpaddq_u8(at(0), at(1)), vpaddq_u8(at(2), at(3)));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
#else
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++) bits |= uint64_t{lanes[i / 16][i % 16] < 0} << i;
    return bits;
#endif
}

// The bytes among the 64 at p for which the vector `holds` is -1.
template <class Holds>
[[gnu::always_inline]] inline uint64_t bytes_that(const uint8_t* p, Holds&& holds) {
    Lanes lanes[4];
    std::memcpy(lanes, p, sizeof lanes);
    for (Lanes& some : lanes) some = holds(some);
    return highest_bits(lanes);
}

inline Lanes all(int value) { return Lanes{} + static_cast<signed char>(value); }
// ASCII bytes in [low, high], with one comparison: the addition moves `high` to 127, so larger bytes wrap below zero.
inline Lanes within(Lanes bytes, int low, int high) {
    using Unsigned [[gnu::vector_size(16)]] = unsigned char;
    const auto moved = reinterpret_cast<Lanes>(reinterpret_cast<Unsigned>(bytes) + static_cast<unsigned char>(127 - high));
    return moved > all(126 - high + low);
}

}  // namespace detail

// Classes of 64 bytes. Bytes of 0x80 and above are only in `high`.
struct AsciiMasks {
    uint64_t letter;      // [A-Za-z]
    uint64_t upper;       // [A-Z]
    uint64_t digit;       // [0-9]
    uint64_t white;       // [\t\n\v\f\r ]
    uint64_t newline;     // [\r\n]
    uint64_t space;       // the space character
    uint64_t apostrophe;  // '
    uint64_t slash;       // /
    uint64_t control;     // [\0-\x1f\x7f] except white space
    uint64_t high;        // not ASCII

    uint64_t punctuation() const { return ~(letter | digit | white | control | high); }

    [[gnu::always_inline]] static AsciiMasks of(const uint8_t* p) {
        using namespace detail;
        AsciiMasks masks;
        masks.letter = bytes_that(p, [](Lanes bytes) { return within(bytes | all(0x20), 'a', 'z'); });
        masks.upper = bytes_that(p, [](Lanes bytes) { return within(bytes, 'A', 'Z'); });
        masks.digit = bytes_that(p, [](Lanes bytes) { return within(bytes, '0', '9'); });
        masks.space = bytes_that(p, [](Lanes bytes) { return bytes == all(' '); });
        masks.white = masks.space | bytes_that(p, [](Lanes bytes) { return within(bytes, '\t', '\r'); });
        masks.newline = bytes_that(p, [](Lanes bytes) { return (bytes == all('\n')) | (bytes == all('\r')); });
        masks.apostrophe = bytes_that(p, [](Lanes bytes) { return bytes == all('\''); });
        masks.slash = bytes_that(p, [](Lanes bytes) { return bytes == all('/'); });
        masks.high = bytes_that(p, [](Lanes bytes) { return bytes; });
        const uint64_t below_space = bytes_that(p, [](Lanes bytes) { return (bytes < all(' ')) | (bytes == all(0x7F)); });
        masks.control = below_space & ~(masks.high | masks.white);
        return masks;
    }
};

// The UTF-8 continuation bytes among the 64 at p.
inline uint64_t continuation_bytes(const uint8_t* p) {
    return detail::bytes_that(p, [](detail::Lanes bytes) { return bytes < detail::all(0xC0); });
}
// The bytes that have any of these bits.
inline uint64_t bytes_having(const uint8_t* p, uint8_t bits) {
    return detail::bytes_that(p, [bits](detail::Lanes bytes) { return (bytes & detail::all(bits)) != detail::all(0); });
}
// The bytes that have this bit, of bits 0 to 7.
template <unsigned bit>
inline uint64_t bytes_with_bit(const uint8_t* p) {
    using Pairs [[gnu::vector_size(16)]] = unsigned short;  // the bit moves up to bit 7 of its own byte
    return detail::bytes_that(p, [](detail::Lanes bytes) { return reinterpret_cast<detail::Lanes>(reinterpret_cast<Pairs>(bytes) << (7 - bit)); });
}
// The bytes that equal one of the `count` given bytes.
inline uint64_t bytes_among(const uint8_t* p, const uint8_t* given, size_t count) {
    detail::Lanes bytes[4], same[4] = {};
    std::memcpy(bytes, p, sizeof bytes);
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < 4; i++) same[i] |= bytes[i] == detail::all(given[k]);
    return detail::highest_bits(same);
}

// Starts of the groups of \p{N}{1,3}: the first digit of every run and every third one after it.
inline uint64_t grouped_digit_starts(uint64_t digit) {
    uint64_t group = digit & ~(digit << 1);
    const uint64_t fourth = digit & (digit << 1) & (digit << 2) & (digit << 3);
    uint64_t starts = group;
    while ((group = (group << 3) & fourth) != 0) starts |= group;
    return starts;
}

}  // namespace lopt
