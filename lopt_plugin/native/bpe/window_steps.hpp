// Finds the bounds of pre-tokens 64 bytes at a time, with the widest vectors of the processor.
#pragma once

#include <cstdint>

#include "base/hash.hpp"
#include "base/processor.hpp"
#include "bpe/window.hpp"
#include "text/ascii_masks.hpp"
#include "text/unicode.hpp"

#if defined(LOPT_AVX512)
#include <immintrin.h>
#endif

namespace lopt {

// Characters of three or more bytes indicate scripts without spaces, whose words split into many pieces. The signs from
// U+2000 to U+2FFF (quotes, dashes) do not, because they occur next to words of all scripts. This choice affects speed
// only.
inline bool leads_script(uint8_t byte) { return byte >= 0xE0 && byte != 0xE2; }
// The first of the bytes at p that starts a character of such a script; `count` if there is none.
template <int count>
inline unsigned first_of_script(const uint8_t* p) {
    constexpr uint64_t HIGH_BITS = 0x8080808080808080u;
    uint64_t leads = 0;
    for (int i = 0; i < count; i += 8) {
        const uint64_t bytes = load64(p + i);
        leads |= bytes & bytes << 1 & bytes << 2;
    }
    if (!(leads & HIGH_BITS)) return count;  // most windows
    for (int i = 0; i < count; i += 8) {
        const uint64_t bytes = load64(p + i);
        const uint64_t is_e2 = bytes << 6 & ~(bytes << 3 | bytes << 4 | bytes << 5 | bytes << 7);
        leads = bytes & bytes << 1 & bytes << 2 & ~is_e2 & HIGH_BITS;
        if (leads) return static_cast<unsigned>(i + __builtin_ctzll(leads) / 8);
    }
    return count;
}

// Adds the bounds found in steps of 64 bytes from the pre-token start p. Stops if the window is full, if fewer than 64
// bytes are left, if a step finds no certain bound, or before a pre-token with a script without spaces; returns where it
// stopped.
using AddWindows = const uint8_t* (*)(const ClassTable& classes, const uint8_t* p, const uint8_t* stop, Window& window);

struct BaselineVectors {
    static AsciiMasks masks(const uint8_t* p) { return AsciiMasks::of(p); }
    // Adds bounds eight at a time, because their number is hard to predict. Returns the last one.
    static const uint8_t* add_starts(Window& window, const uint8_t* p, uint64_t starts) {
        const uint32_t at = static_cast<uint32_t>(p - window.base), n = static_cast<uint32_t>(__builtin_popcountll(starts));
        uint32_t* bound = window.bounds + window.count;
        for (uint32_t i = 0; i < n; i += 8)
            for (uint32_t j = 1; j <= 8; j++) {
                bound[i + j] = at + static_cast<uint32_t>(__builtin_ctzll(starts | uint64_t{1} << 63));
                starts &= starts - 1;
            }
        window.count += n;
        return window.end();
    }
};

template <class Scanner, class Vectors>
const uint8_t* add_windows(const ClassTable& classes, const uint8_t* p, const uint8_t* stop, Window& window) {
    while (stop - p >= 64 && !window.full() && !leads_script(p[0]) && !leads_script(p[1])) {
        const AsciiMasks masks = Vectors::masks(p);
        uint64_t starts = Scanner::starts_of(classes, p, masks);
        if (masks.high) {
            const unsigned script = first_of_script<64>(p);
            if (script < 63) starts &= (uint64_t{2} << script) - 1;
        }
        if (!starts) break;
        p = Vectors::add_starts(window, p, starts);
    }
    return p;
}

#if defined(LOPT_AVX512)

// g++ wrongly warns about the undefined operand of unmasked instructions.
struct WideVectors {
    // As AsciiMasks::of, with one comparison each.
    [[LOPT_AVX512]] static AsciiMasks masks(const uint8_t* p) {
        const __m512i bytes = _mm512_loadu_si512(p);
        AsciiMasks masks;
        const __m512i lower = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
        masks.letter = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(lower, _mm512_set1_epi8('a')), _mm512_set1_epi8(26));
        masks.upper = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8('A')), _mm512_set1_epi8(26));
        masks.digit = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8('0')), _mm512_set1_epi8(10));
        masks.space = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
        masks.white = masks.space | _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8('\t')), _mm512_set1_epi8(5));
        masks.newline = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
        masks.apostrophe = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\''));
        masks.slash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('/'));
        masks.high = _mm512_movepi8_mask(bytes);
        masks.control = (_mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(' ')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(0x7F))) & ~masks.white;
        return masks;
    }
    [[LOPT_AVX512]] static const uint8_t* add_starts(Window& window, const uint8_t* p, uint64_t starts) {
        alignas(64) static constexpr uint8_t NUMBERS[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                                            44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
        const auto n = static_cast<uint32_t>(_mm_popcnt_u64(starts));
        const __m512i at = _mm512_set1_epi32(static_cast<int>(p - window.base));
        __m512i places = _mm512_maskz_compress_epi8(starts, _mm512_load_si512(NUMBERS));
        uint32_t* const bound = window.bounds + window.count + 1;
        for (uint32_t i = 0; i < n; i += 16) {
            const __m512i some = _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm512_maskz_extracti32x4_epi32(0xF, places, 0));
            _mm512_storeu_si512(bound + i, _mm512_add_epi32(at, some));
            places = _mm512_maskz_alignr_epi64(0xFF, places, places, 2);
        }
        window.count += n;
        return window.end();
    }
};

template <class Scanner>
[[LOPT_AVX512, gnu::flatten]] const uint8_t* add_windows_wide(const ClassTable& classes, const uint8_t* p, const uint8_t* stop, Window& window) {
    return add_windows<Scanner, WideVectors>(classes, p, stop, window);
}

#endif

template <class Scanner>
AddWindows widest_add_windows() {
#if defined(LOPT_AVX512)
    if (has_avx512()) return &add_windows_wide<Scanner>;
#endif
    return &add_windows<Scanner, BaselineVectors>;
}

}  // namespace lopt
