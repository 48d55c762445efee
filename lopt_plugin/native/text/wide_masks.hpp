// The masks of ascii_masks.hpp with AVX-512, one comparison each.
#pragma once

#include "base/processor.hpp"
#include "text/ascii_masks.hpp"

#if defined(LOPT_AVX512)
#include <immintrin.h>

namespace lopt {

[[LOPT_AVX512]] inline AsciiMasks wide_ascii_masks(const uint8_t* p) {
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

}  // namespace lopt
#endif
