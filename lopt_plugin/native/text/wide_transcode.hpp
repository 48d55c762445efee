// The start of `transcode` (transcode.hpp) with AVX-512: 64 characters at a time, without a branch for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/processor.hpp"

#if defined(LOPT_AVX512)
#include <immintrin.h>

namespace lopt::detail {

// Without a mask, GCC 12 warns of its own headers.
inline constexpr __mmask16 ALL_LANES = 0xFFFF;
inline constexpr __mmask64 ALL_BYTES = ~uint64_t{0};

// 16 characters, each in a lane of 32 bits.
template <class Unit>
[[LOPT_AVX512]] inline __m512i load_16(const Unit* s) {
    if constexpr (sizeof(Unit) == 1) return _mm512_maskz_cvtepu8_epi32(ALL_LANES, _mm_loadu_si128(reinterpret_cast<const __m128i*>(s)));
    else if constexpr (sizeof(Unit) == 2) return _mm512_maskz_cvtepu16_epi32(ALL_LANES, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s)));
    else return _mm512_loadu_si512(s);
}

// For lanes whose UTF-8 has so many bytes: where in the lane each byte begins, which of its bits belong to it, and the
// others, which say its kind.
struct LaneForm {
    __m512i begins, bits, kind;

    [[LOPT_AVX512]] LaneForm(int shifts, unsigned bits_of_bytes, unsigned kinds)
        // An instruction takes bits from pairs of lanes, so those of the second lane begin 32 later.
        : begins(_mm512_add_epi32(_mm512_set1_epi32(shifts), _mm512_set1_epi64(0x20202020'00000000))),
          bits(_mm512_set1_epi32(static_cast<int>(bits_of_bytes))),
          kind(_mm512_set1_epi32(static_cast<int>(kinds))) {}
    [[LOPT_AVX512]] void replace(__mmask16 lanes, const LaneForm& by) {
        begins = _mm512_mask_mov_epi32(begins, lanes, by.begins);
        bits = _mm512_mask_mov_epi32(bits, lanes, by.bits);
        kind = _mm512_mask_mov_epi32(kind, lanes, by.kind);
    }
};

// Converts all but the last 64 to 127 characters; returns how many. A store of 64 bytes is followed by at least 64 more.
template <class Unit>
[[LOPT_AVX512]] size_t transcode_wide(const Unit* s, size_t n, uint8_t*& out, const uint8_t* page_marks, uint8_t& marks, bool& surrogate) {
    const LaneForm one(0, 0x7F, 0), two(0x0006, 0x3F1F, 0x80C0), three(0x00060C, 0x3F3F0F, 0x8080E0),
        four(0x00060C12, 0x3F3F3F07, 0x808080F0);
    const __m512i not_ascii = _mm512_set1_epi32(~0x7F);
    uint8_t* o = out;
    __mmask16 surrogates = 0;
    size_t i = 0;
    for (; i + 128 <= n; i += 64) {
        __m512i lanes[4];
        for (size_t k = 0; k < 4; k++) lanes[k] = load_16(s + i + 16 * k);
        const __m512i all = _mm512_or_si512(_mm512_or_si512(lanes[0], lanes[1]), _mm512_or_si512(lanes[2], lanes[3]));
        if (!_mm512_test_epi32_mask(all, not_ascii)) {
            for (size_t k = 0; k < 4; k++) _mm_storeu_si128(reinterpret_cast<__m128i*>(o + 16 * k), _mm512_maskz_cvtepi32_epi8(ALL_LANES, lanes[k]));
            o += 64;
            continue;
        }
        for (size_t k = 0; k < 4; k++) {
            const __m512i c = lanes[k];
            const __mmask16 high = _mm512_test_epi32_mask(c, not_ascii);
            LaneForm form = one;
            form.replace(high, two);
            if constexpr (sizeof(Unit) > 1) {
                form.replace(_mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800)), three);
                const __m512i upper = _mm512_and_si512(c, _mm512_set1_epi32(~0x7FF));
                surrogates = static_cast<__mmask16>(surrogates | _mm512_cmpeq_epi32_mask(upper, _mm512_set1_epi32(0xD800)));
            }
            if constexpr (sizeof(Unit) > 2) form.replace(_mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000)), four);
            const __m512i bytes = _mm512_or_si512(_mm512_and_si512(_mm512_maskz_multishift_epi64_epi8(ALL_BYTES, form.begins, c), form.bits), form.kind);
            const __mmask64 kept = _mm512_test_epi8_mask(form.bits, form.bits);
            _mm512_storeu_si512(o, _mm512_maskz_compress_epi8(kept, bytes));
            o += _mm_popcnt_u64(kept);
            for (unsigned rest = page_marks ? high : 0; rest; rest &= rest - 1) marks |= page_marks[s[i + 16 * k + _tzcnt_u32(rest)] >> 4];
        }
    }
    surrogate |= surrogates != 0;
    out = o;
    return i;
}

}  // namespace lopt::detail
#endif
