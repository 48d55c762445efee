// Contractions, case-sensitive and case-insensitive.
#pragma once

#include <cstdint>

namespace lopt {

// Length in bytes of the match of (?i:'s|'t|'re|'ve|'m|'ll|'d) at the apostrophe p; 0 if there is none. U+017F folds to
// s; no other non-ASCII code point folds into a contraction.
inline int contraction_length(const uint8_t* p, const uint8_t* end) {
    if (end - p < 2) return 0;
    const unsigned first = p[1];
    if (first >= 0x80) return first == 0xC5 && p[2] == 0xBF ? 3 : 0;
    const unsigned a = first | 0x20u;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (a != 'r' && a != 'v' && a != 'l') return 0;
    if (end - p < 3 || p[2] >= 0x80) return 0;
    const unsigned b = p[2] | 0x20u;
    return b == (a == 'l' ? unsigned{'l'} : unsigned{'e'}) ? 3 : 0;
}

// The same for 's|'t|'re|'ve|'m|'ll|'d, used by older split patterns, which only match lower case.
inline int lower_case_contraction_length(const uint8_t* p, const uint8_t* end) {
    if (end - p < 2) return 0;
    const uint8_t a = p[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (end - p < 3) return 0;
    const uint8_t b = p[2];
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

}  // namespace lopt
