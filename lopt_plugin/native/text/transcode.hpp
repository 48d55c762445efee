// Converts Python's own string buffers (one, two or four bytes per character) to UTF-8, without touching the string
// object.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/utf8.hpp"
#include "text/wide_transcode.hpp"

namespace lopt {

struct Transcoded {
    size_t bytes;
    bool lone_surrogate;  // if set, the output is invalid
    uint8_t marks;        // combined marks of the 16-character pages of all non-ASCII characters
};

// The number of UTF-8 bytes that `transcode` writes for n characters.
template <class Unit>
size_t utf8_length(const Unit* s, size_t n) {
    const auto more = [](Unit c) { return static_cast<Unit>((c >= 0x80) + (c >= 0x800) + (c >= 0x10000)); };
    size_t length = n, i = 0;
    // The sum of a block fits into a unit, so the compiler adds as many at a time as it compares.
    for (constexpr size_t BLOCK = 64; i + BLOCK <= n; i += BLOCK) {
        Unit sum = 0;
        for (size_t k = 0; k < BLOCK; k++) sum = static_cast<Unit>(sum + more(s[i + k]));
        length += sum;
    }
    for (; i < n; i++) length += more(s[i]);
    return length;
}

template <class Unit>
constexpr size_t most_utf8_bytes(size_t n) {
    return n * (sizeof(Unit) == 1 ? 2 : sizeof(Unit) == 2 ? 3 : 4);
}

namespace detail {

// Copies the leading ASCII run of the 16 characters at s; returns its length. Always writes 16 bytes.
#if defined(__SSE2__)
template <class Unit>
size_t ascii_run_of_16(const Unit* s, uint8_t* out) {
    const auto load = [s](size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i)); };
    __m128i bytes;
    unsigned ascii;
    if constexpr (sizeof(Unit) == 1) {
        bytes = load(0);
        ascii = ~static_cast<unsigned>(_mm_movemask_epi8(bytes)) & 0xFFFF;
    } else {
        __m128i low, high;
        if constexpr (sizeof(Unit) == 2) {
            low = load(0);
            high = load(8);
        } else {
            const __m128i a = load(0), b = load(4), c = load(8), d = load(12);
            const __m128i any = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
            if (_mm_movemask_epi8(_mm_cmpgt_epi32(any, _mm_set1_epi32(0x7FFF)))) return 0;  // packing would saturate
            low = _mm_packs_epi32(a, b);
            high = _mm_packs_epi32(c, d);
        }
        const __m128i above = _mm_packs_epi16(_mm_srli_epi16(low, 7), _mm_srli_epi16(high, 7));
        ascii = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(above, _mm_setzero_si128())));
        bytes = _mm_packus_epi16(low, high);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
    return static_cast<size_t>(__builtin_ctz(~ascii));
}
#else
template <class Unit>
size_t ascii_run_of_16(const Unit* s, uint8_t* out) {
    size_t i = 0;
    for (; i < 16 && s[i] < 0x80; i++) out[i] = static_cast<uint8_t>(s[i]);
    return i;
}
#endif

}  // namespace detail

// Writes exactly utf8_length(s, n) bytes, so that several threads can fill neighbouring parts of one buffer. It stores 16
// bytes at a time only if 16 characters, and therefore at least 16 bytes, remain. It combines `page_marks[c >> 4]` of all
// non-ASCII characters, unless page_marks is null.
template <class Unit>
Transcoded transcode(const Unit* s, size_t n, uint8_t* out, const uint8_t* page_marks) {
    uint8_t* o = out;
    size_t i = 0;
    uint8_t marks = 0;
    bool surrogate = false;
    const auto one = [&](uint32_t c) {
        if (c >= 0x80) {
            if (page_marks) marks |= page_marks[c >> 4];
            surrogate |= is_surrogate(c);
        }
        o = encode_character(c, o);
    };
#if defined(LOPT_AVX512)
    if (has_avx512()) i = detail::transcode_wide(s, n, o, page_marks, marks, surrogate);
#endif
    while (i + 16 <= n) {
        if (s[i] < 0x80) {
            const size_t run = detail::ascii_run_of_16(s + i, o);
            o += run;
            i += run;
            if (run == 16) continue;
        }
        do one(s[i++]);
        while (i < n && s[i] >= 0x80);
    }
    while (i < n) one(s[i++]);
    return {static_cast<size_t>(o - out), surrogate, marks};
}

}  // namespace lopt
