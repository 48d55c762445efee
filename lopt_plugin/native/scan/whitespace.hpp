// The white space part of the split patterns: \s*[\r\n]+|\s+(?!\S)|\s+.
#pragma once

#include <cstdint>

#include "text/unicode.hpp"

namespace lopt {

// End of the match of \s*[\r\n]+|\s+(?!\S)|\s+ at p, where white space begins: the run up to its last newline; without
// one, the whole run before the end of the text and otherwise all of it but the last character (which the next match
// takes). The text also ends before a character with a bit of `text_enders`. However long a run is, it is read three
// times at most: for the part up to its last newline, for all but its last character, and for that one.
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

// Starts of matches of \s*[\r\n]+|\s+(?!\S)|\s+ in a window: the start of every run, what follows its last newline, and
// its last character unless one of `text_enders` follows, before which \s+(?!\S) sees the end of the text.
inline uint64_t whitespace_starts(uint64_t space, uint64_t newline, uint64_t text_enders = 0) {
    const uint64_t plain = space & ~newline;
    uint64_t starts = (space & ~(space << 1)) | (plain & ~(space >> 1) & ~(text_enders >> 1));
    const uint64_t after_newline = plain & (newline << 1);
    starts |= after_newline;
    // A stretch of plain spaces that ends at another newline belongs to the match that began before it.
    uint64_t stretch_ends = (after_newline + plain) & ~plain & newline;
    while (stretch_ends != 0) {
        const uint64_t stretch_end = stretch_ends & (~stretch_ends + 1);
        stretch_ends ^= stretch_end;
        const uint64_t before = after_newline & (stretch_end - 1);
        starts &= ~(uint64_t{1} << (63 - __builtin_clzll(before)));
    }
    return starts;
}

// White space that reaches the top of the valid part of a window may go on beyond it: of such a run only the start is
// certain. The mask of the places that are certain.
inline uint64_t certain_below_trailing_space(uint64_t space, uint64_t valid) {
    const uint64_t top = valid ^ (valid >> 1);
    if ((space & (space << 1) & top) == 0) return ~uint64_t{0};
    const uint64_t others = valid & ~space;
    return others != 0 ? (~uint64_t{0} >> __builtin_clzll(others)) << 1 | 1 : 1;
}

}  // namespace lopt
