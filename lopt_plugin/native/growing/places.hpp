// Positions at which a particular text, and therefore its prefixes, can be divided: boundaries of this text, which need
// not be seams.
//
// A scan only looks ahead, and if a split pattern matches part of a text within the whole text, it also matches that part
// alone: missing text can only make other matches fail. So every prefix that reaches a little past a pre-token has the
// same pre-tokens up to there, and the same added tokens, if the split steps allow it (`refinements_restart`). (At the end
// of a prefix, no word follows white space, the start of an added token is plain text, and a token that must be a single
// word may become one.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "growing/open_row.hpp"

namespace lopt {

struct Place {
    size_t at;          // index of a character of the text
    bool inside;        // the text from here on continues a stretch (EncodeOptions::inside)
    size_t count;       // ids before the position, in every prefix that ends at `end_of_reach` or later
    size_t pre_tokens;  // pre-tokens and added tokens before it
    bool after_token;   // the last of them is an added token
    std::string marks = {};  // of a growing text: what the text from here on must begin with (kept_marks.hpp)
};
// How many characters after a position decide what is before it, at most. In the normalized text, if added tokens are found
// there. Whether one of these is a single word depends on whether a token of the raw text follows it.
template <class Core>
size_t reach(const Core& core) {
    const size_t tokens = core.segmenter().may_reject_normalized_tokens() ? 2 : 1;
    return std::max<size_t>(4, tokens * core.segmenter().longest_token() + 1);
}
// Is it certain that such a character is one of them, or several?
template <class Core>
bool is_in_reach(const Core& core, uint32_t c) {
    if (!core.segmenter().any_normalized_tokens()) return true;
    if (is_surrogate(c) || !core.method().begins_apart(c)) return false;
    std::string character;
    append_character(c, character);
    return !core.segmenter().normalized(character).empty();
}
// See Place::count. After `end` if that is not far enough.
template <class Core>
size_t end_of_reach(const Core& core, const Characters& text, size_t at, size_t end) {
    size_t left = reach(core);
    for (; left > 0 && at < end; at++) left -= is_in_reach(core, text[at]);
    return left > 0 ? end + 1 : at;
}
// The last position of which this is `end`, or an earlier one; 0 if there is none. `row`: that of the text.
template <class Core>
size_t begin_of_reach(const Core& core, const Characters& text, size_t end, const OpenRow<Core>& row) {
    size_t left = reach(core);
    for (; left > 0 && end > 0; end--) left -= row.divides_marks(end - 1) || is_in_reach(core, text[end - 1]);
    return left > 0 ? 0 : end;
}

}  // namespace lopt
