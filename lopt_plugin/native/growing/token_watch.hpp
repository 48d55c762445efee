// Looks for added tokens in a text that grows.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/segmenter.hpp"
#include "text/utf8.hpp"

namespace lopt {

template <class Core>
class TokenWatch {
  public:
    TokenWatch(const Core& core, bool split_special) : core_(core), split_special_(split_special) {}

    // May an added token be found in the text, now that it has these characters more? Finds tokens of the raw text and of the
    // normalized text in either.
    bool finds(std::string_view more) {
        const auto& segmenter = core_.segmenter();
        if (segmenter.may_hide_tokens(split_special_)) {
            const auto characters = code_points_of(more);
            return std::any_of(characters.begin(), characters.end(), [&segmenter](uint32_t c) { return segmenter.may_begin_token(c); });
        }
        end_ += more;
        const auto* const begin = reinterpret_cast<const uint8_t*>(end_.data());
        Buffer<Segment> found;
        segmenter.find_added_tokens(begin, begin + end_.size(), false, found);
        if (std::any_of(found.begin(), found.end(), [](const Segment& segment) { return segment.token != NONE; })) return true;
        size_t kept = end_.size() - std::min(end_.size(), segmenter.longest_token());
        while (kept < end_.size() && is_continuation(begin[kept])) kept++;
        end_.erase(0, kept);
        return false;
    }

  private:
    const Core& core_;
    bool split_special_;
    std::string end_;  // of the text, as long as a token may be
};

}  // namespace lopt
