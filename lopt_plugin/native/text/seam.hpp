// Seams: positions between two characters at which a text can be divided, whatever precedes and follows them.
//
// Let x and y be the characters at a seam. For every text ...x y..., the ids are those of ...x alone, followed by those
// of y... as the continuation of a stretch (EncodeOptions::inside). Each stage of the pipeline decides whether it divides
// there from these two characters and the one after them:
//   added tokens      none contains the two side by side, none ends with the left one, and no flag checks across;
//   normalizer        the result on one side does not depend on the other side (`passes`, step by step);
//   pre-tokens        every scan has a boundary there, wherever it started (`always_divides`), or no vocabulary entry spans
//                     the position.
// A seam stays a seam when text is added or removed around its three characters, or when the third is removed and ends the
// text. So ids before a seam are final, counts between seams add up, and parts between seams can be encoded in any order.
#pragma once

#include <cstdint>
#include <string>

#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace lopt {

// The characters at a position: the one before it, the one after it, and the next one, if it is known, or known not to exist.
struct Junction {
    uint32_t left, right, next;
    bool has_next;
    bool is_end = false;  // the text ends after `right`

    // Replaces the two characters with what a normalizer step makes of them: null for one that it does not change, and not
    // empty. `next_changes`: it changes the next one.
    void replace(const std::string* left_image, const std::string* right_image, bool next_changes) {
        if (left_image) left = last_character(*left_image);
        if (right_image) right = first_character(*right_image);
        if (right_image || next_changes) has_next = false;
        if (right_image) is_end = false;
    }
};

// Does every scanner of split_patterns that covers all text have a boundary between these characters, wherever it
// started?
//
// White space occurs in a pre-token only at its beginning, next to other white space, or, if it is a newline, after
// symbols. Letters stay together, and so do numbers. A number is never next to a letter or a symbol in a pre-token, and a
// symbol never follows a letter, except in contractions, in CLIP's two literals, and among Han characters (Kimi).
inline bool always_divides(const ClassTable& classes, uint32_t left, uint32_t right) {
    using namespace class_bit;
    const uint16_t a = classes.of(left), b = classes.of(right);
    const auto is_symbol = [](uint16_t bits) { return (bits & punctuation_or_symbol) && !(bits & (letter | number | mark)); };
    if ((a & space) || (a & b & cjk)) return false;
    if (b & newline) return a & (letter | number);
    if (b & space) return true;
    if (right == '\'' || right == '|') return false;
    if (a & letter) return (b & number) || is_symbol(b);
    if (a & number) return (b & letter) || is_symbol(b);
    return is_symbol(a) && (b & number);
}

}  // namespace lopt
