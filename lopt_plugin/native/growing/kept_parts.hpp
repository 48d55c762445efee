// What to keep of a growing text without a seam, so that it can be encoded again and again: not the middle of a long run of
// characters that are dropped, whatever is beside them. The ids are the same without it.
//
// The ends of the run stay, so everything beside it has the neighbours that it had: added tokens, grapheme clusters, runs that a
// normalizer replaces. No added token begins inside the run, so none is inside it, and none ends there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "growing/places.hpp"

namespace lopt {

// The parts of the text to keep, as pairs of a beginning and an end.
template <class Core>
std::vector<std::pair<size_t, size_t>> kept_parts(const Core& core, const Characters& text) {
    constexpr size_t LEAST = 8;  // characters: as many bytes as a cluster may have to be looked up as a whole, and more
    const auto& segmenter = core.segmenter();
    const size_t edge = std::max(LEAST, reach(core));
    std::vector<std::pair<size_t, size_t>> parts;
    size_t from = 0, run = 0;  // where the part and the run begin
    const auto end_run = [&](size_t end) {
        if (end - run <= 4 * edge) return;
        parts.emplace_back(from, run + edge);
        from = end - edge;
    };
    const auto is_dropped = [&](uint32_t c) {
        if (is_surrogate(c) || segmenter.may_begin_token(c)) return false;
        if (segmenter.tokens_take_white_space() && (core.method().classes().of(c) & class_bit::strip_space)) return false;
        const uint32_t image = core.method().dropped_as(c);
        return image != NONE && !segmenter.may_begin_token(image);
    };
    for (size_t at = 0; at < text.length; at++) {
        if (is_dropped(text[at])) continue;
        end_run(at);
        run = at + 1;
    }
    end_run(text.length);
    parts.emplace_back(from, text.length);
    return parts;
}

}  // namespace lopt
