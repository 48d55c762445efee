// Where a growing text without a seam can be divided for good.
//
// A scan reads on from the beginning of a pre-token: at most one character of any kind, then a run of letters, of numbers,
// of symbols and the newlines after them, or of white space. So it reads on to the end of a run, and gives back some of it
// if the rest of the pattern does not match: what it gives back is at most two pre-tokens of the same run (white space after
// the last newline, and the last space before a word; capital letters after a letter without case). So a boundary is final
// if some more pre-tokens follow it that are complete themselves.
#pragma once

#include <algorithm>
#include <optional>

#include "growing/final_in_word.hpp"
#include "growing/open_row.hpp"
#include "growing/place_finder.hpp"

namespace lopt {

// The last position inside the text at which every text that begins with it can be divided, as long as the row at its end is
// open, and the number of ids before it; nothing if none was found. Otherwise, `space.ids` are those of the text. What precedes
// the position must not be encoded on its own: the end of a text may hold another added token. `inside`: see EncodeOptions.
// `long_word`: pre-tokens of as many characters are divided, too.
template <class Core>
std::optional<Place> last_final_place(const Core& core, const Characters& text, const OpenRow<Core>& row, bool inside, bool split_special,
                                      typename Core::Workspace& space, size_t long_word = LONG_WORD / 2) {
    if (text.length == 0) return std::nullopt;
    constexpr bool is_unigram = HasLattice<Core>;  // scores are summed from the beginning of a word; an added token ends one
    constexpr size_t COMPLETE = 4;  // pre-tokens that must follow; two are enough
    const std::vector<Place> places = places_of(core, text, {0, text.length, inside}, SIZE_MAX - 1, split_special, space, &row);
    const size_t known = begin_of_reach(core, text, text.length, row);
    // A later token may strip the white space before it, but none that another token has taken, or that is in the row.
    size_t stays = known;
    const auto is_stripped = [&](size_t at) { return at < row.begin() && core.method().classes().of(text[at]) & class_bit::strip_space; };
    while (core.segmenter().tokens_take_white_space_before() && stays > 0 && is_stripped(stays - 1)) stays--;
    const auto complete = std::find_if(places.rbegin(), places.rend(), [&](const Place& place) { return place.at <= (place.after_token ? known : stays); });
    const auto last = std::find_if(complete, places.rend(), [&](const Place& place) {
        return place.pre_tokens + COMPLETE <= complete->pre_tokens && (!is_unigram || place.after_token);
    });
    const bool is_known = (is_unigram || core.method().growing_model()) && !core.segmenter().flagged_white_space();
    if (is_known && last != places.rend() && last->at > 0) return *last;
    return final_place_in_word(core, text, places, stays, split_special, long_word, row);
}

}  // namespace lopt
