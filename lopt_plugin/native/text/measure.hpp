// The UTF-8 length of Python's own string buffers, and a look at their rarer characters, in one pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/processor.hpp"
#include "text/transcode.hpp"

namespace lopt {

namespace detail {

#if defined(LOPT_AVX512)
// The characters of a vector that are at least so large, a bit each.
template <class Unit>
[[LOPT_AVX512]] uint64_t at_least(__m512i c, uint32_t least) {
    if constexpr (sizeof(Unit) == 1) return _mm512_cmpge_epu8_mask(c, _mm512_set1_epi8(static_cast<char>(least)));
    else if constexpr (sizeof(Unit) == 2) return _mm512_cmpge_epu16_mask(c, _mm512_set1_epi16(static_cast<int16_t>(least)));
    else return _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(static_cast<int>(least)));
}

// As `measure`, for as many whole vectors as there are in n characters; returns how many characters they are.
template <class Unit, class Look>
[[LOPT_AVX512]] size_t measure_wide(const Unit* s, size_t n, uint32_t least, size_t& bytes, Look&& look) {
    constexpr size_t LANES = 64 / sizeof(Unit);
    constexpr uint32_t LARGEST = sizeof(Unit) == 1 ? 0xFF : sizeof(Unit) == 2 ? 0xFFFF : 0x10FFFF;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m512i c = _mm512_loadu_si512(s + i);
        uint64_t more = at_least<Unit>(c, 0x80);
        bytes += LANES + static_cast<size_t>(_mm_popcnt_u64(more));
        if constexpr (sizeof(Unit) > 1) bytes += static_cast<size_t>(_mm_popcnt_u64(at_least<Unit>(c, 0x800)));
        if constexpr (sizeof(Unit) > 2) bytes += static_cast<size_t>(_mm_popcnt_u64(at_least<Unit>(c, 0x10000)));
        if (more && least <= LARGEST && (more = at_least<Unit>(c, least))) look(i, more);
    }
    return i;
}
#endif

}  // namespace detail

// The number of UTF-8 bytes of n characters. Calls look(i, above) for some i, with a bit for each of up to 64 characters from
// s[i] on that is at least `least`, so that each of these is in one call.
template <class Unit, class Look>
size_t measure(const Unit* s, size_t n, uint32_t least, Look&& look) {
    size_t bytes = 0, i = 0;
#if defined(LOPT_AVX512)
    if (has_avx512()) i = detail::measure_wide(s, n, least, bytes, look);
#endif
    bytes += utf8_length(s + i, n - i);
    for (constexpr size_t TOGETHER = 32; i < n; i += TOGETHER) {
        const size_t to = std::min(n, i + TOGETHER);
        Unit most = 0;
        for (size_t k = i; k < to; k++) most = std::max(most, s[k]);
        if (most < least) continue;
        uint64_t above = 0;
        for (size_t k = i; k < to; k++) above |= uint64_t{s[k] >= least} << (k - i);
        look(i, above);
    }
    return bytes;
}

}  // namespace lopt
