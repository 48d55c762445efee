// Where a growing text without a seam can be divided for good.
//
// A scan reads on from the beginning of a pre-token: at most one character of any kind, then a run of letters, of numbers,
// of symbols and the newlines after them, or of white space. So it reads on to the end of a run, and gives back some of it
// if the rest of the pattern does not match: what it gives back is at most two pre-tokens of the same run (white space after
// the last newline, and the last blank before a word; capital letters after a letter without case). So a boundary is final
// if some more pre-tokens follow it that are complete themselves.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>

#include "growing/places.hpp"

namespace lopt {

// The last position inside the text at which every text that begins with it can be divided, and the number of ids before
// it; nothing if none was found. What follows it continues a stretch. What precedes it must not be encoded on its own: the
// end of a text may hold another added token. `inside`: see EncodeOptions.
template <class Core>
std::optional<Place> last_final_place(const Core& core, const Characters& text, bool inside, bool split_special, typename Core::Workspace& space) {
    if (text.length == 0 || !core.method().word_model() || core.segmenter().white_space_matters()) return std::nullopt;
    constexpr size_t COMPLETE = 4;  // pre-tokens that must follow; two are enough
    const std::vector<Place> places = places_of(core, text, {0, text.length, inside}, SIZE_MAX - 1, split_special, space, true);
    const size_t known = text.length - std::min(text.length, reach(core));
    const auto complete = std::find_if(places.rbegin(), places.rend(), [&](const Place& place) { return place.at <= known; });
    if (complete == places.rend()) return std::nullopt;
    const bool all_go_on = !core.segmenter().adds_space_to_stretches();
    const auto last = std::find_if(complete, places.rend(), [&](const Place& place) {
        return place.pre_tokens + COMPLETE <= complete->pre_tokens && (place.inside || all_go_on);
    });
    return last == places.rend() || last->at == 0 ? std::nullopt : std::optional(*last);
}

}  // namespace lopt
