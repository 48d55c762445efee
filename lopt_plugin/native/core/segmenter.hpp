// Divides a text into segments: added tokens, and the normalized stretches between them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "core/added_token_edges.hpp"
#include "core/added_tokens.hpp"
#include "core/workspace.hpp"
#include "normalize/metaspace.hpp"
#include "text/alignment.hpp"
#include "text/seam.hpp"
#include "text/text.hpp"

namespace lopt {

// Method: see core.hpp.
template <class Method>
class Segmenter {
    using Workspace = lopt::Workspace<typename Method::Encoder::Workspace>;

  public:
    // Tokens are matched before and after the normalizer; add_prefix_space: a stretch that begins with no space gets one.
    // `method` outlives the segmenter.
    Segmenter(const Method& method, std::vector<AddedToken> raw_tokens, std::vector<AddedToken> normalized_tokens, bool add_prefix_space)
        : method_(method), metaspace_(method.metaspace()), raw_tokens_(std::move(raw_tokens)),
          normalized_tokens_(std::move(normalized_tokens), metaspace_ && metaspace_->in_normalizer), raw_edges_(raw_tokens_),
          normalized_edges_(normalized_tokens_), add_prefix_space_(add_prefix_space) {
        for_each_token([this](const AddedToken& token) { longest_token_ = std::max(longest_token_, token.content.size()); });
    }

    template <class Visit>
    void for_each_token(Visit&& visit) const {
        raw_tokens_.for_each(visit);
        normalized_tokens_.for_each(visit);
    }
    bool adds_prefix_space() const { return add_prefix_space_; }
    // Is text after an added token not the beginning of a stretch, as far as it matters (EncodeOptions::inside)?
    bool goes_on_after_token() const {
        return metaspace_ && !metaspace_->normalizer_prepends && metaspace_->prepend_scheme == PrependScheme::first;
    }
    // Does a stretch that begins with this character get a space before it? `inside`: see EncodeOptions.
    bool prepends_space(uint32_t first, bool inside) const {
        const bool is_space = first == ' ' || (metaspace_ && first == METASPACE);
        if (inside) return false;
        if (metaspace_) return metaspace_->normalizer_prepends || (metaspace_->prepend_scheme != PrependScheme::never && !is_space);
        return add_prefix_space_ && !is_space;
    }
    size_t longest_token() const { return longest_token_; }  // bytes of its content
    bool tokens_take_white_space_before() const { return raw_edges_.take_white_space_before() || normalized_edges_.take_white_space_before(); }
    bool tokens_take_white_space() const { return raw_edges_.take_white_space() || normalized_edges_.take_white_space(); }
    // Of a text, no id stands for more characters; 0: that is not known.
    size_t most_characters_of_id() const {
        const size_t most = method_.most_characters_of_id();
        return most && !tokens_take_white_space() ? std::max(most, longest_token_) : 0;
    }

    // No added token of any text reaches across such a place, ends there, or looks or takes spaces across it.
    bool divides(const Junction& junction) const {
        return raw_edges_.divide(method_.classes(), junction.left, junction.right) && method_.divides(junction, normalized_edges_);
    }
    bool may_begin_single_word(uint32_t c) const { return raw_edges_.begin_word_with(c) || normalized_edges_.begin_word_with(c); }
    bool may_end_with_single_word(const Characters& text, size_t end) const {
        return raw_edges_.end_with_word(text, end) || normalized_edges_.end_with_word(text, end);
    }
    bool may_begin_token(uint32_t c) const { return raw_edges_.begin_with(c) || normalized_edges_.begin_with(c); }

    // Where nothing is done to a stretch that depends on its bounds, runs of tokens that are pieces anyway (`is_piece`) need
    // not bound it.
    template <class IsPiece>
    void leave_runs(IsPiece&& is_piece) {
        const bool bounds_matter = !metaspace_ || metaspace_->normalizer_prepends || metaspace_->prepend_scheme != PrependScheme::never;
        if (!bounds_matter && !add_prefix_space_ && normalized_tokens_.empty()) raw_tokens_.leave_runs(is_piece);
    }

    // Appends the added tokens of a text that the normalizer leaves as it is, and the stretches between them.
    void find_added_tokens(const uint8_t* begin, const uint8_t* end, bool split_special, Buffer<Segment>& out) const {
        Buffer<Segment> raw;
        if (begin == end) return;
        if (raw_tokens_.empty()) raw.push_back({begin, end, NONE});
        else raw_tokens_.find(method_.classes(), begin, end, split_special, raw);
        for (const Segment& segment : raw) {
            if (segment.token != NONE || normalized_tokens_.empty()) out.push_back(segment);
            else normalized_tokens_.find(method_.classes(), segment.begin, segment.end, split_special, out);
        }
    }

    // The segments of a text to `space.segments`, divided at `space.divisions`. `marked`: the text may hold characters of
    // pages that the method marks.
    void find(const Text& text, const EncodeOptions& options, bool marked, Workspace& space) const {
        if constexpr (MAY_SPELL_SPACES)
            if (metaspace_) return find_with_metaspace(text, options, marked, space);
        find_normalized(text, options, marked, space);
    }

  private:
    static constexpr bool MAY_SPELL_SPACES = requires(const typename Method::Encoder& encoder, const uint8_t* p) { encoder.first_cut(p, p); };

    // Divides the segments of the text. Each division then knows its segment.
    static void divide(Workspace& space, Buffer<Segment>& segments) {
        auto& divisions = space.divisions;
        if (divisions.empty()) return;
        Buffer<Segment> divided;
        divided.reserve(segments.size() + divisions.size());
        size_t next = 0;
        for (Segment segment : segments) {
            for (; next < divisions.size() && divisions[next].at < segment.end; next++) {
                const uint8_t* const at = divisions[next].at;
                if (segment.begin < at) {
                    divided.push_back({segment.begin, at, segment.token});
                    segment.begin = at;
                }
                divisions[next].segment = divided.size();
            }
            divided.push_back(segment);
        }
        segments.swap(divided);
    }
    // Moves the divisions, from number `next` on, that stand before segment `from` to segment `to`; whether there were any.
    static bool move_divisions(Workspace& space, size_t& next, size_t from, size_t to) {
        const size_t first = next;
        for (; next < space.divisions.size() && space.divisions[next].segment == from; next++) space.divisions[next].segment = to;
        return next > first;
    }

    // Added tokens are found in the raw text first, then, between them, in the normalized text.
    void find_normalized(const Text& text, const EncodeOptions& options, bool marked, Workspace& space) const {
        const bool normalize = marked || method_.normalizes_ascii();
        auto& segments = space.segments;
        segments.clear();
        if (text.begin == text.end) return;
        if (raw_tokens_.empty()) segments.push_back({text.begin, text.end, NONE});
        else raw_tokens_.find(method_.classes(), text.begin, text.end, options.split_special, segments);
        divide(space, segments);
        if (!normalize && normalized_tokens_.empty() && !add_prefix_space_) return;
        space.raw_segments.swap(segments);
        segments.clear();
        size_t next_division = 0;
        for (const Segment& raw : space.raw_segments) {
            const bool divided = move_divisions(space, next_division, static_cast<size_t>(&raw - space.raw_segments.data()), segments.size());
            const bool inside = divided || (options.inside && raw.begin == text.begin);
            if (raw.token != NONE) {
                segments.push_back(raw);
                if (options.offsets) space.origins.push_back({raw.begin, nullptr, false});
                continue;
            }
            Segment stretch = raw;
            const Alignment* alignment = nullptr;
            std::string changed;
            Sources sources;
            if (normalize && method_.normalize(raw.begin, raw.end, marked, changed, options.offsets ? &sources : nullptr)) {
                if (changed.empty()) continue;
                stretch = own(space, std::move(changed));
                if (options.offsets) alignment = &space.alignments.emplace_back(Alignment{stretch.begin, raw.begin, std::move(sources)});
            }
            const size_t first = segments.size();
            if (normalized_tokens_.empty()) segments.push_back(stretch);
            else normalized_tokens_.find(method_.classes(), stretch.begin, stretch.end, options.split_special, segments);
            for (size_t i = first; i < segments.size(); i++) {
                const bool spaced = add_prefix_space_ && !(inside && i == first) && segments[i].token == NONE && *segments[i].begin != ' ';
                if (options.offsets) space.origins.push_back({segments[i].begin, alignment, spaced});
                if (spaced) segments[i] = after_space(space, segments[i].begin, segments[i].end);
            }
        }
    }
    // The same for pipelines with a metaspace. `may_hold_metaspace`: the text may hold U+2581 itself.
    void find_with_metaspace(const Text& text, const EncodeOptions& options, bool may_hold_metaspace, Workspace& space) const {
        auto &segments = space.segments, &raw_segments = space.raw_segments;
        segments.clear();
        raw_segments.clear();
        if (text.begin == text.end) return;
        if (raw_tokens_.empty()) raw_segments.push_back({text.begin, text.end, NONE});
        else raw_tokens_.find(method_.classes(), text.begin, text.end, options.split_special, raw_segments);
        divide(space, raw_segments);
        const bool changes = may_hold_metaspace || metaspace_->normalizer_prepends || metaspace_->prepend_scheme != PrependScheme::never;
        if (!changes && normalized_tokens_.empty()) return segments.swap(raw_segments);
        Buffer<Segment> found;
        const auto note = [&](const uint8_t* begin, const Alignment* alignment, bool spaced) {
            if (options.offsets) space.origins.push_back({begin, alignment, spaced});
        };
        size_t next_division = 0;
        for (const Segment& raw : raw_segments) {
            const bool divided = move_divisions(space, next_division, static_cast<size_t>(&raw - raw_segments.data()), segments.size());
            const bool inside = divided || (options.inside && raw.begin == text.begin);
            if (raw.token != NONE) {
                segments.push_back(raw);
                note(raw.begin, nullptr, false);
                continue;
            }
            Segment stretch = raw;
            const Alignment* alignment = nullptr;
            bool prepend = false;
            if (metaspace_->in_normalizer) {
                if (may_hold_metaspace) stretch = with_spaces(space, stretch, options, alignment);
                prepend = metaspace_->normalizer_prepends && !inside;
                if (prepend && !normalized_tokens_.empty()) {
                    stretch = after_space(space, stretch.begin, stretch.end);
                    if (options.offsets) alignment = same_characters(space, stretch, raw, true);
                    prepend = false;
                }
            }
            found.clear();
            if (normalized_tokens_.empty()) found.push_back(stretch);
            else normalized_tokens_.find(method_.classes(), stretch.begin, stretch.end, options.split_special, found);
            const uint8_t* const first = raw.begin == text.begin && !inside ? stretch.begin : nullptr;
            for (Segment part : found) {
                const Alignment* of_part = alignment;
                if (part.token == NONE) {
                    const bool is_first = part.begin == first, continues = inside && part.begin == stretch.begin;
                    if (may_hold_metaspace && !metaspace_->in_normalizer) part = with_spaces(space, part, options, of_part);
                    const PrependScheme scheme = metaspace_->prepend_scheme;
                    const bool wanted = (scheme == PrependScheme::always && !continues) || (scheme == PrependScheme::first && is_first);
                    if (prepend || (wanted && *part.begin != ' ')) {
                        note(part.begin, of_part, true);
                        part.begin = with_space_prepended(space, part);
                    }
                    if (part.begin == part.end) continue;
                }
                segments.push_back(part);
                note(part.begin, of_part, false);
            }
        }
    }
    // `alignment` is set where offsets are asked for and the stretch, which lies in the text, was changed.
    static Segment with_spaces(Workspace& space, const Segment& stretch, const EncodeOptions& options, const Alignment*& alignment) {
        if (find_metaspace(stretch.begin, stretch.end) == stretch.end) return stretch;
        std::string text;
        append_with_spaces(stretch.begin, stretch.end, text);
        const Segment made = own(space, std::move(text));
        if (options.offsets) alignment = same_characters(space, made, stretch, false);
        return made;
    }
    // `made` has the characters of `stretch`, one by one, perhaps after a space.
    static const Alignment* same_characters(Workspace& space, const Segment& made, const Segment& stretch, bool spaced) {
        Sources sources;
        const uint8_t* p = stretch.begin;
        if (spaced) {
            int length;
            decode_character(p, length);
            sources.replace(p, p + length, 2, false);
            p += length;
        }
        sources.keep(p, stretch.end);
        return &space.alignments.emplace_back(Alignment{made.begin, stretch.begin, std::move(sources)});
    }
    // Adds the first piece of a stretch with a space in front; returns where the rest begins.
    const uint8_t* with_space_prepended(Workspace& space, const Segment& stretch) const {
        const uint8_t* const end = method_.encoder().first_cut(stretch.begin, stretch.end);
        space.segments.push_back(after_space(space, stretch.begin, end));
        return end;
    }
    static Segment after_space(Workspace& space, const uint8_t* begin, const uint8_t* end) {
        std::string text;
        text.reserve(1 + static_cast<size_t>(end - begin) + READABLE_AFTER);  // so that it is copied once
        text.push_back(' ');
        text.append(begin, end);
        return own(space, std::move(text));
    }
    static Segment own(Workspace& space, std::string text) {
        const size_t length = text.size();
        check_length(length);
        text.append(READABLE_AFTER, '\0');
        space.owned.push_back(std::make_unique<std::string>(std::move(text)));
        const auto* data = reinterpret_cast<const uint8_t*>(space.owned.back()->data());
        return {data, data + length, NONE};
    }

    const Method& method_;
    const Metaspace* metaspace_;  // null: none
    AddedTokens raw_tokens_, normalized_tokens_;
    AddedTokenEdges raw_edges_, normalized_edges_;
    bool add_prefix_space_;
    size_t longest_token_ = 0;
};

}  // namespace lopt
