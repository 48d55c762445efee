// Seams: places between two characters at which a text can be divided, whatever stands before and after them.
//
// Let x and y be the sides of a seam. For every text ...x y... that has these two characters there, the ids are those of
// ...x by itself and those of y... as the continuation of a stretch (EncodeOptions::inside). Each stage of the pipeline
// decides by the two characters that meet, and the one after them, whether it divides there:
//   added tokens      none holds the two side by side, none ends with the left one, and no flag looks across;
//   normalizer        what becomes of one side does not depend on the other (`passes`, step by step);
//   pre-tokens        every scan has a boundary there, wherever it began (`always_divides`), or no entry of the vocabulary
//                     reaches across.
// A seam of a text stays one when text is added or taken away around its three characters. So ids up to a seam are final,
// counts between seams add up, and parts between seams can be encoded in any order.
#pragma once

#include <cstdint>

#include "text/unicode.hpp"

namespace lopt {

// The characters at a position, as a stage gets them: the one before it, the one after it, and the next one, if it is
// known.
struct Junction {
    uint32_t left, right, next;
    bool has_next;
};

// Whether every scanner of split_patterns that covers a text has a boundary between these neighbours, wherever it
// began.
//
// White space occurs in a pre-token only at its beginning, next to other white space, or, if it is a newline, after
// symbols. Letters stay together, and so do numbers; a number is never next to a letter or a symbol, and a symbol never
// after a letter, except in contractions and in CLIP's two literals.
inline bool always_divides(const ClassTable& classes, uint32_t left, uint32_t right) {
    using namespace class_bit;
    const uint16_t a = classes.of(left), b = classes.of(right);
    const auto is_symbol = [](uint16_t bits) { return (bits & punctuation_or_symbol) && !(bits & (letter | number | mark)); };
    if (a & space) return false;
    if (b & newline) return a & (letter | number);
    if (b & space) return true;
    if (right == '\'' || right == '|') return false;
    if (a & letter) return (b & number) || is_symbol(b);
    if (a & number) return (b & letter) || is_symbol(b);
    return is_symbol(a) && (b & number);
}

}  // namespace lopt
