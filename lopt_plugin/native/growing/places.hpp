// Positions at which a particular text, and therefore its prefixes, can be divided: boundaries of this text, which need
// not be seams.
//
// A scan only looks ahead, and if a split pattern matches part of a text within the whole text, it also matches that part
// alone: missing text can only make other matches fail. So every prefix that reaches a little past a pre-token has the
// same pre-tokens up to there, and the same added tokens, if the split steps allow it (`refinements_restart`). (At the end
// of a prefix, no word follows white space, the start of an added token is plain text, and a token that must be a single
// word may become one.)
#pragma once

#include <vector>

#include "growing/growing.hpp"
#include "growing/kept_marks.hpp"
#include "growing/open_row.hpp"

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

// Can the text be divided at a position after `token`, or inside ordinary text (NONE)? Not if a token that must be a single
// word may begin there, or if it may be inside one that was rejected.
template <class Core>
bool divides_tokens(const Core& core, const Characters& text, size_t at, uint32_t token, bool split_special) {
    const uint32_t left = text[at - 1], right = text[at];
    return !((core.method().classes().of(left) & class_bit::word) && core.segmenter().may_begin_single_word(right)) &&
           !core.segmenter().may_be_in_hidden_token(left, right, token, split_special);
}

// The same for two characters of the normalized text.
template <class Core>
bool divides_normalized_tokens(const Core& core, uint32_t left, uint32_t right, bool split_special) {
    return !((core.method().classes().of(left) & class_bit::word) && core.segmenter().may_begin_single_word(right)) &&
           !core.segmenter().may_be_in_hidden_normalized_token(left, right, split_special);
}

// The positions of text[part], including its ends, as long as they have at most `most` ids, and one more with more ids.
// `row`: null, or that of a text that grows. Then only those that text after the part cannot change as long as the row is open,
// as far as they are not near its end (final_place.hpp). The ids before the last of them are left in `space.ids`.
template <class Core>
std::vector<Place> places_of(const Core& core, const Characters& text, const typename Parts<Core>::Part& part, size_t most, bool split_special,
                             typename Core::Workspace& space, const OpenRow<Core>* row = nullptr) {
    std::vector<Place> places{{part.begin, part.inside, 0, 0, false}};
    size_t pre_tokens = 0;
    // A word of Unigram that grows is not divided, only the raw text after an added token is: no origins are needed.
    const bool only_after_tokens = HasLattice<Core> && row;
    EncodeOptions options{1, 0, split_special, !only_after_tokens};
    options.inside = part.inside;
    try {
        core.find_segments(text.part(part.begin, part.end), options, space);
    } catch (const OffsetsUnknownError&) {
        places.push_back({part.end, true, SIZE_MAX, 2, false});
        return places;
    }
    const ClassTable& classes = core.method().classes();
    const uint8_t* counted = space.text.begin;
    size_t characters = 0;  // before `counted`
    const auto character = [&](const uint8_t* p) {
        characters += count_characters(counted, p);
        counted = p;
        return part.begin + characters;
    };
    // A token that exists only at the end of a prefix may strip the white space before it, and one that must be a single
    // word checks the character before it. The first token must begin in this part.
    bool white_space_is_taken = false;
    for (size_t i = part.begin; i < part.end && !row && core.segmenter().tokens_take_white_space_before() && !white_space_is_taken; i++)
        white_space_is_taken = core.segmenter().may_begin_token(text[i]) && !(classes.of(text[i]) & class_bit::strip_space);
    const auto divides = [&](size_t at, uint32_t token) {
        const bool beside_space = (classes.of(text[at - 1]) | classes.of(text[at])) & class_bit::strip_space;
        if (white_space_is_taken && token == NONE && beside_space) return false;
        const bool before_space = classes.of(text[at]) & class_bit::strip_space;
        return !(before_space && core.segmenter().may_strip_more(token)) && divides_tokens(core, text, at, token, split_special);
    };
    bool restarts = true;
    if constexpr (requires { core.method().restarts(); }) restarts = core.method().restarts();
    // `token`: the added token that ends there, or NONE.
    const auto add = [&](size_t at, bool inside, uint32_t token) {
        if ((restarts || token != NONE) && at > places.back().at && at < part.end && divides(at, token)) places.push_back({at, inside, space.ids.size(), pre_tokens, token != NONE});
        return places.back().count <= most;
    };
    // Of the latest alignment: its characters before `in_normalized`, and the characters of the text before its start.
    const Alignment* alignment = nullptr;
    Sources::Reader sources;
    const uint8_t* in_normalized = nullptr;
    size_t normalized = 0, base = 0;
    NormalizedApart<Core> normalized_apart(core, text, part.begin, part.end, row);
    // Adds the place of a position of the normalized text, if the text is divided there, too.
    const auto add_normalized = [&](const Segment& segment, const Origin& origin, const uint8_t* end, bool inside, uint32_t token) {
        const uint8_t* const p = origin.begin + (end - segment.begin - origin.spaced);
        size_t at;
        bool is_origin = true;
        if (origin.alignment) {
            if (origin.alignment->sources.misplaced()) return true;
            normalized += count_characters(in_normalized, p);
            in_normalized = p;
            if (normalized == alignment->sources.size()) return true;  // at the end, or before an added token of the raw text
            const auto last = static_cast<int32_t>(normalized);
            const int32_t source = sources[last];
            const int32_t before = normalized ? sources[last - 1] : -1;
            if (before >= source) return true;  // both came from the same character
            is_origin = source == before + 1;
            at = base + static_cast<size_t>(source);
        } else {
            at = character(p);
        }
        if (at >= part.end || normalized_apart.at(at, is_origin)) return add(at, inside, token);
        if (!row || !restarts || !origin.alignment || token != NONE || core.segmenter().may_hide_tokens(split_special)) return true;
        const KeptMarks kept = kept_marks(core, text, base, part.end, at, alignment->normalized, p, origin.begin + (segment.end - segment.begin - origin.spaced));
        if (kept.after <= places.back().at || normalized < kept.before) return true;
        const auto first = static_cast<int32_t>(normalized - kept.before);
        const auto source_of = [&](int32_t i) { return base + static_cast<size_t>(sources[i]); };
        if (source_of(first) < kept.first || (first > 0 && source_of(first - 1) >= kept.first)) return true;
        places.push_back({kept.after, true, space.ids.size(), pre_tokens, false, kept.marks});
        return places.back().count <= most;
    };
    const auto origin_of = [&space](size_t i) { return space.origins.empty() ? Origin{space.segments[i].begin, nullptr, false} : space.origins[i]; };
    for (size_t i = 0; i < space.segments.size() && places.back().count <= most; i++) {
        const Segment& segment = space.segments[i];
        const Origin origin = origin_of(i);
        if (origin.alignment && origin.alignment != alignment) {
            alignment = origin.alignment;
            sources = Sources::Reader(alignment->sources);
            in_normalized = alignment->normalized;
            normalized = 0;
            base = character(alignment->original);
        }
        if (segment.token != NONE) {
            space.ids.push(segment.token);
            pre_tokens++;
            const bool is_raw = core.segmenter().is_of_raw_text(segment.token), inside = core.segmenter().goes_on_after(segment.token);
            // The next token may be inside the white space that this one stripped.
            const Segment* const next = i + 1 < space.segments.size() && space.segments[i + 1].token != NONE ? &space.segments[i + 1] : nullptr;
            if (next && core.segmenter().is_of_raw_text(next->token) == is_raw && next->begin < segment.end && next->end > segment.begin) continue;
            if (!core.segmenter().divides_after(segment.token)) continue;
            if (is_raw || (!only_after_tokens && !origin.alignment)) add(character(segment.end), inside, segment.token);
            else if (!only_after_tokens && row && !core.segmenter().may_hide_tokens(split_special)) add_normalized(segment, origin, segment.end, inside, segment.token);
            continue;
        }
        // The same stretch may go on there, after a piece with a prepended space.
        const bool goes_on = i + 1 < space.segments.size() && space.segments[i + 1].token == NONE;
        const uint8_t* const next_stretch = goes_on ? space.segments[i + 1].begin : nullptr;
        core.method().encoder().visit_pre_tokens(Core::stretch_text(space.text, segment), space.stretch, space.ids, [&](const uint8_t* end) {
            pre_tokens++;
            if (only_after_tokens) return true;
            if (end < segment.end && is_continuation(*end)) return true;  // steps after ByteLevel may divide characters
            const uint8_t* const next = end < segment.end ? end : next_stretch;
            if (next && end > segment.begin) {
                int length;
                const uint32_t left = decode_character(character_before(end), length), right = decode_character(next, length);
                if (!divides_normalized_tokens(core, left, right, split_special)) return true;
            }
            return add_normalized(segment, origin, end, true, NONE);
        });
    }
    if (places.back().count > most) return places;
    const bool ends_in_token = !space.segments.empty() && space.segments.back().token != NONE;  // none: the normalizer removed all
    places.push_back({part.end, true, space.ids.size(), pre_tokens, ends_in_token});
    return places;
}

}  // namespace lopt
