// The white space alternatives of the split patterns: \s*[\r\n]+|\s+(?!\S)|\s+.
#pragma once

#include <cstdint>

#include "text/unicode.hpp"

namespace lopt {

// End of the match of \s*[\r\n]+|\s+(?!\S)|\s+ at p, where white space begins. It is the run up to its last newline.
// Without a newline, it is the whole run at the end of the text, and otherwise all but its last character, which the next
// match takes. The text also ends before a character with a bit of `text_enders`. A run is read at most three times,
// whatever its length: for the part up to its last newline, for all but its last character, and for that character.
inline const uint8_t* whitespace_end(const ClassTable& table, const uint8_t* p, const uint8_t* end,
                                           uint16_t text_enders = 0) {
    const uint8_t* last = p;
    const uint8_t* newline = nullptr;
    const uint8_t* q = p;
    bool text_ends = true;
    while (q < end) {
        int length;
        const uint16_t found = table.at(q, end, length);
        if ((found & class_bit::space) == 0) {
            text_ends = (found & text_enders) != 0;
            break;
        }
        last = q;
        q += length;
        if ((found & class_bit::newline) != 0) newline = q;
    }
    if (newline != nullptr) return newline;
    return text_ends || last == p ? q : last;
}

// Starts of matches of \s*[\r\n]+|\s+(?!\S)|\s+ in a window: the start of each run, the position after its last newline,
// and its last character, unless one of `text_enders` follows: there \s+(?!\S) sees the end of the text.
inline uint64_t whitespace_starts(uint64_t space, uint64_t newline, uint64_t text_enders = 0) {
    const uint64_t plain = space & ~newline;
    uint64_t starts = (space & ~(space << 1)) | (plain & ~(space >> 1) & ~(text_enders >> 1));
    const uint64_t after_newline = plain & (newline << 1);
    starts |= after_newline;
    // Plain spaces that are followed by another newline belong to the match that began before them.
    uint64_t stretch_ends = (after_newline + plain) & ~plain & newline;
    while (stretch_ends != 0) {
        const uint64_t stretch_end = stretch_ends & (~stretch_ends + 1);
        stretch_ends ^= stretch_end;
        const uint64_t before = after_newline & (stretch_end - 1);
        starts &= ~(uint64_t{1} << (63 - __builtin_clzll(before)));
    }
    return starts;
}

// Mask of the positions that are certain. White space that reaches the end of the valid part of a window may continue
// beyond it, so only the start of such a run is certain.
inline uint64_t certain_below_trailing_space(uint64_t space, uint64_t valid) {
    const uint64_t top = valid ^ (valid >> 1);
    if ((space & (space << 1) & top) == 0) return ~uint64_t{0};
    const uint64_t others = valid & ~space;
    return others != 0 ? (~uint64_t{0} >> __builtin_clzll(others)) << 1 | 1 : 1;
}

}  // namespace lopt
