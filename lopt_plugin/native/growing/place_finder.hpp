// Finds the places (places.hpp) of a text: the ends of its pre-tokens and added tokens, in the raw text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "growing/growing.hpp"
#include "growing/kept_marks.hpp"
#include "growing/open_row.hpp"
#include "growing/places.hpp"
#include "text/alignment.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Are the texts before and after a position normalized independently? Must be called with ascending positions. `row`:
// null, or that of a text that grows. Then they are as long as the row is open.
template <class Core>
class NormalizedApart {
  public:
    NormalizedApart(const Core& core, const Characters& text, size_t begin, size_t end, const OpenRow<Core>* row)
        : core_(core), text_(text), begin_(begin), end_(end), row_(row) {}

    // `is_origin`: is the place known to be that of the normalized character, not only that of the last of some which became it?
    bool at(size_t place, bool is_origin) {
        if (begins_apart(place)) return true;
        if (!is_origin) return false;
        if (row_ && row_->divides_marks(place)) return true;
        if (place >= until_) {
            size_t first = place;
            while (first > begin_ && !begins_apart(first)) first--;
            for (until_ = place + 1; until_ < end_ && !begins_apart(until_);) until_++;
            kept_ = begins_apart(first) && !(row_ && until_ == end_) && core_.method().keeps(utf8_of(text_, first, until_));
        }
        return kept_;
    }

  private:
    bool begins_apart(size_t place) const { return core_.method().begins_apart(text_[place]); }

    const Core& core_;
    const Characters& text_;
    size_t begin_, end_;
    const OpenRow<Core>* row_;
    // The end of the latest characters that are normalized together, and whether they stay unchanged.
    size_t until_ = 0;
    bool kept_ = false;
};

template <class Core>
class PlaceFinder {
  public:
    using Workspace = typename Core::Workspace;

    // See `places_of`. All must outlive this object.
    PlaceFinder(const Core& core, const Characters& text, const TextPart& part, size_t most, bool split_special, Workspace& space, const OpenRow<Core>* row)
        : core_(core), segmenter_(core.segmenter()), classes_(core.method().classes()), text_(text), part_(part), most_(most), split_special_(split_special),
          row_(row), space_(space), normalized_apart_(core, text, part.begin, part.end, row) {
        if constexpr (requires { core.method().restarts(); }) restarts_ = core.method().restarts();
    }

    std::vector<Place> find() {
        places_.push_back({part_.begin, part_.inside, 0, 0, false});
        const EncodeOptions options{.split_special = split_special_, .offsets = !only_after_tokens(), .inside = part_.inside};
        try {
            core_.find_segments(text_.part(part_.begin, part_.end), options, space_);
        } catch (const OffsetsUnknownError&) {
            places_.push_back({part_.end, true, SIZE_MAX, 2, false});
            return std::move(places_);
        }
        counted_ = space_.text.begin;
        white_space_is_taken_ = white_space_may_be_taken();
        for (size_t i = 0; i < space_.segments.size() && places_.back().count <= most_; i++) {
            const Origin origin = space_.origins.empty() ? Origin{space_.segments[i].begin, nullptr, false} : space_.origins[i];
            if (origin.alignment) enter(*origin.alignment);
            if (space_.segments[i].token != NONE) find_after_token(i, origin);
            else find_in_stretch(i, origin);
        }
        if (places_.back().count > most_) return std::move(places_);
        const bool ends_in_token = !space_.segments.empty() && space_.segments.back().token != NONE;  // none: the normalizer removed all
        places_.push_back({part_.end, true, space_.ids.size(), pre_tokens_, ends_in_token});
        return std::move(places_);
    }

  private:
    // A word of Unigram that grows is not divided, only the raw text after an added token is: no origins are needed.
    bool only_after_tokens() const { return HasLattice<Core> && row_; }

    // A token that exists only at the end of a prefix may strip the white space before it, and one that must be a single
    // word checks the character before it. The first token must begin in this part.
    bool white_space_may_be_taken() const {
        if (row_ || !segmenter_.tokens_take_white_space_before()) return false;
        for (size_t i = part_.begin; i < part_.end; i++)
            if (segmenter_.may_begin_token(text_[i]) && !is_white_space(i)) return true;
        return false;
    }
    bool is_white_space(size_t at) const { return classes_.of(text_[at]) & class_bit::strip_space; }

    // `token`: the added token that ends there, or NONE.
    bool divides(size_t at, uint32_t token) const {
        if (white_space_is_taken_ && token == NONE && (is_white_space(at - 1) || is_white_space(at))) return false;
        if (is_white_space(at) && segmenter_.may_strip_more(token)) return false;
        return segmenter_.divides_tokens(text_[at - 1], text_[at], token, split_special_);
    }

    void find_after_token(size_t i, const Origin& origin) {
        const Segment& segment = space_.segments[i];
        space_.ids.push(segment.token);
        pre_tokens_++;
        const bool is_raw = segmenter_.is_of_raw_text(segment.token), inside = segmenter_.goes_on_after(segment.token);
        // The next token may be inside the white space that this one stripped.
        const Segment* const next = i + 1 < space_.segments.size() && space_.segments[i + 1].token != NONE ? &space_.segments[i + 1] : nullptr;
        if (next && segmenter_.is_of_raw_text(next->token) == is_raw && next->begin < segment.end && next->end > segment.begin) return;
        if (!segmenter_.divides_after(segment.token)) return;
        if (only_after_tokens() && !is_raw) return;
        if (is_raw || !origin.alignment) add(character(segment.end), inside, segment.token);
        else if (row_ && !segmenter_.may_hide_tokens(split_special_)) add_normalized(segment, origin, segment.end, inside, segment.token);
    }

    void find_in_stretch(size_t i, const Origin& origin) {
        const Segment& segment = space_.segments[i];
        // The same stretch may go on there, after a piece with a prepended space.
        const bool goes_on = i + 1 < space_.segments.size() && space_.segments[i + 1].token == NONE;
        const uint8_t* const next_stretch = goes_on ? space_.segments[i + 1].begin : nullptr;
        core_.method().encoder().visit_pre_tokens(Core::stretch_text(space_.text, segment), space_.stretch, space_.ids, [&](const uint8_t* end) {
            pre_tokens_++;
            if (only_after_tokens()) return true;
            if (end < segment.end && is_continuation(*end)) return true;  // steps after ByteLevel may divide characters
            const uint8_t* const next = end < segment.end ? end : next_stretch;
            if (next && end > segment.begin) {
                int length;
                const uint32_t left = decode_character(character_before(end), length), right = decode_character(next, length);
                if (!segmenter_.divides_normalized_tokens(left, right, split_special_)) return true;
            }
            return add_normalized(segment, origin, end, true, NONE);
        });
    }

    // Whether `most` ids are not exceeded yet.
    bool add(size_t at, bool inside, uint32_t token) {
        if ((restarts_ || token != NONE) && at > places_.back().at && at < part_.end && divides(at, token)) push({at, inside, 0, 0, token != NONE});
        return places_.back().count <= most_;
    }
    void push(Place place) {
        place.count = space_.ids.size();
        place.pre_tokens = pre_tokens_;
        places_.push_back(std::move(place));
    }

    // Adds the place of a position of the normalized text, if the text is divided there, too. Returns what `add` does.
    bool add_normalized(const Segment& segment, const Origin& origin, const uint8_t* end, bool inside, uint32_t token) {
        const uint8_t* const p = normalized_position(segment, origin, end);
        if (!origin.alignment) {
            const size_t at = character(p);
            return at < part_.end && !normalized_apart_.at(at, true) ? true : add(at, inside, token);
        }
        if (alignment_->sources.misplaced()) return true;
        normalized_ += count_characters(in_normalized_, p);
        in_normalized_ = p;
        if (normalized_ == alignment_->sources.size()) return true;  // at the end, or before an added token of the raw text
        const auto last = static_cast<int32_t>(normalized_);
        const int32_t source = sources_[last], before = last ? sources_[last - 1] : -1;
        if (before >= source) return true;  // both came from the same character
        const size_t at = base_ + static_cast<size_t>(source);
        if (at >= part_.end || normalized_apart_.at(at, source == before + 1)) return add(at, inside, token);
        const bool may_keep_marks = row_ && restarts_ && token == NONE && !segmenter_.may_hide_tokens(split_special_);
        return !may_keep_marks || add_before_kept_marks(at, p, normalized_position(segment, origin, segment.end));
    }
    static const uint8_t* normalized_position(const Segment& segment, const Origin& origin, const uint8_t* end) {
        return origin.begin + (end - segment.begin - origin.spaced);
    }

    // `at`, `p`: see kept_marks. Returns what `add` does.
    bool add_before_kept_marks(size_t at, const uint8_t* p, const uint8_t* stretch_end) {
        const KeptMarks kept = kept_marks(core_, text_, base_, part_.end, at, alignment_->normalized, p, stretch_end);
        if (kept.after <= places_.back().at || normalized_ < kept.before) return true;
        const auto first = static_cast<int32_t>(normalized_ - kept.before);
        const auto source_of = [&](int32_t i) { return base_ + static_cast<size_t>(sources_[i]); };
        if (source_of(first) < kept.first || (first > 0 && source_of(first - 1) >= kept.first)) return true;
        push({kept.after, true, 0, 0, false, kept.marks});
        return places_.back().count <= most_;
    }

    // The index of the character at `p`, which is not before the last one that was asked for.
    size_t character(const uint8_t* p) {
        characters_ += count_characters(counted_, p);
        counted_ = p;
        return part_.begin + characters_;
    }

    void enter(const Alignment& alignment) {
        if (alignment_ == &alignment) return;
        alignment_ = &alignment;
        sources_ = Sources::Reader(alignment.sources);
        in_normalized_ = alignment.normalized;
        normalized_ = 0;
        base_ = character(alignment.original);
    }

    const Core& core_;
    decltype(std::declval<const Core&>().segmenter()) segmenter_;
    const ClassTable& classes_;
    const Characters& text_;
    const TextPart& part_;
    const size_t most_;
    const bool split_special_;
    const OpenRow<Core>* row_;
    Workspace& space_;
    bool restarts_ = true, white_space_is_taken_ = false;

    std::vector<Place> places_;
    size_t pre_tokens_ = 0;
    const uint8_t* counted_ = nullptr;
    size_t characters_ = 0;  // before `counted_`
    NormalizedApart<Core> normalized_apart_;
    // Of the latest alignment: its characters before `in_normalized_`, and the characters of the text before its start.
    const Alignment* alignment_ = nullptr;
    Sources::Reader sources_;
    const uint8_t* in_normalized_ = nullptr;
    size_t normalized_ = 0, base_ = 0;
};

// The places of text[part], including its ends, as long as they have at most `most` ids, and one more with more ids.
// `row`: null, or that of a text that grows. Then only those that text after the part cannot change as long as the row is open,
// as far as they are not near its end (final_place.hpp). The ids before the last of them are left in `space.ids`.
template <class Core>
std::vector<Place> places_of(const Core& core, const Characters& text, const TextPart& part, size_t most, bool split_special,
                             typename Core::Workspace& space, const OpenRow<Core>* row = nullptr) {
    return PlaceFinder<Core>(core, text, part, most, split_special, space, row).find();
}

}  // namespace lopt
