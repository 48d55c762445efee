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
    // Matches tokens before and after the normalizer. add_prefix_space: a stretch that does not begin with a space gets
    // one. `method` must outlive the segmenter.
    Segmenter(const Method& method, AddedTokenSets added_tokens, bool add_prefix_space)
        : method_(method), metaspace_(method.metaspace()), raw_tokens_(std::move(added_tokens.raw)),
          normalized_tokens_(std::move(added_tokens.normalized), metaspace_ && metaspace_->in_normalizer), raw_edges_(raw_tokens_),
          normalized_edges_(normalized_tokens_), normalizer_prepends_(metaspace_ && metaspace_->normalizer_prepends),
          prepend_scheme_(metaspace_ ? metaspace_->prepend_scheme : add_prefix_space ? PrependScheme::always : PrependScheme::never) {
        for (const AddedToken& token : raw_tokens_.all()) {
            note(token, false);
            raw_ids_.push_back(token.id);
        }
        std::sort(raw_ids_.begin(), raw_ids_.end());
        for (const AddedToken& token : normalized_tokens_.all()) note(token, adds_space_to_stretches());
    }

    const AddedTokens& raw_tokens() const { return raw_tokens_; }
    const AddedTokens& normalized_tokens() const { return normalized_tokens_; }
    // May a stretch that does not continue another one get a space?
    bool adds_space_to_stretches() const { return normalizer_prepends_ || prepend_scheme_ != PrependScheme::never; }
    bool is_of_raw_text(uint32_t token) const { return std::binary_search(raw_ids_.begin(), raw_ids_.end(), token); }
    // Does text after an added token continue a stretch, in the sense of EncodeOptions::inside?
    bool goes_on_after(uint32_t token) const {
        if (normalizer_prepends_) return !is_of_raw_text(token);
        return metaspace_ && metaspace_->prepend_scheme == PrependScheme::first;
    }
    // Can the text after an added token be encoded by itself? Not if the pre-tokenizer alone prepends a space there: by itself,
    // the text would get one from the normalizer, or none.
    bool divides_after(uint32_t token) const {
        return is_of_raw_text(token) || !(normalizer_prepends_ && prepend_scheme_ == PrependScheme::always);
    }
    // May an added token strip white space that it does not strip in a longer text, because a token of the raw text takes it there?
    bool may_strip_more(uint32_t token) const {
        return token != NONE && !is_of_raw_text(token) && raw_edges_.take_white_space_before() && normalized_edges_.take_white_space_after();
    }
    // Is a space prepended to a stretch that begins with this character? `inside`: see EncodeOptions.
    bool prepends_space(uint32_t first, bool inside) const {
        const bool is_space = first == ' ' || (metaspace_ && first == METASPACE);
        if (inside) return false;
        return normalizer_prepends_ || (prepend_scheme_ != PrependScheme::never && !is_space);
    }
    bool any_normalized_tokens() const { return !normalized_tokens_.empty(); }
    size_t longest_token() const { return longest_token_; }  // bytes of its content
    bool tokens_take_white_space_before() const { return raw_edges_.take_white_space_before() || normalized_edges_.take_white_space_before(); }
    // Does a token begin or end with white space, and does it have flags or is it matched after spaces are prepended?
    // Then the end of a text may contain other tokens than the same characters inside a longer text.
    bool white_space_matters() const { return flagged_white_space_ || spaced_white_space_; }
    // Is that so because of flags?
    bool flagged_white_space() const { return flagged_white_space_; }
    bool tokens_take_white_space() const { return raw_edges_.take_white_space() || normalized_edges_.take_white_space(); }
    // An upper bound on the characters of a text that one id stands for, except `Method::fused_id` and white space that
    // an added token strips; 0 if unknown.
    size_t most_characters_of_id() const {
        const size_t most = method_.most_characters_of_id();
        return most ? std::max(most, longest_token_) : 0;
    }
    bool any_id_may_take_more() const { return tokens_take_white_space() || method_.fused_id() != NONE; }
    // Consider a prefix of the text that ends where an id of a longer prefix ends. Are its ids exactly the ids before
    // that position, and does each stand for the same characters as before? `ids` are the ids of the text. True only if
    // it is certain: either added tokens have no flags and are found in raw text, or none ends in this text.
    template <class Ids>
    bool grows_by_ids(const Characters& text, const Ids& ids) const {
        if (std::find(ids.data(), ids.data() + ids.size(), method_.fused_id()) != ids.data() + ids.size()) return false;
        if (normalized_tokens_.empty() && !tokens_take_white_space() && !raw_edges_.any_words()) return true;
        for (size_t i = 0; i < text.length; i++)
            if (raw_edges_.end_with(text[i]) || normalized_edges_.end_with(text[i])) return false;
        return true;
    }

    // No added token of any text spans this position, ends there, checks its neighbour across it, or strips white space
    // across it.
    bool divides(const Junction& junction) const {
        return raw_edges_.divide(method_.classes(), junction.left, junction.right) && method_.divides(junction, normalized_edges_);
    }
    bool may_reject_normalized_tokens() const { return normalized_edges_.any_words(); }
    // May there be a token whose content is not always one, and then hides the tokens inside it?
    bool may_hide_tokens(bool split_special) const { return split_special || raw_edges_.any_words() || normalized_edges_.any_words(); }
    // Let text[begin, end) be part of one pre-token of a longer text. May text[0, end) have an added token that ends there?
    // It may if it ends inside the content of a token that is not found in the longer text: one that must be a single
    // word, or a special one if `split_special`. Such content hides the tokens inside it. True if it is not certain.
    bool may_end_in_hidden_token(const Characters& text, size_t begin, size_t end, bool split_special) const {
        if (!may_hide_tokens(split_special)) return false;
        const size_t reach = 2 * longest_token_ + 4;  // a character and the mark that it is composed with count as two
        if (end - begin <= 2 * reach) return true;  // a token may begin with a prepended space
        size_t from = end - reach;
        while (!method_.begins_apart(text[from]))
            if (--from < end - 2 * reach) return true;
        std::string raw;
        for (size_t i = from; i < end; i++) append_character(text[i], raw);
        const std::string made = normalized(raw);
        if (split_special && (raw_edges_.begin_in(raw) || normalized_edges_.begin_in(made))) return true;
        return made.size() < longest_token_ || raw_edges_.end_in_word(raw) || normalized_edges_.end_in_word(made);
    }
    // May a token end with the last character of what the normalizer makes of this text?
    bool may_end_normalized_token(const std::string& raw) const {
        const std::vector<uint32_t> characters = code_points_of(normalized(raw));
        return !characters.empty() && normalized_edges_.end_with(characters.back());
    }
    // What the normalizer makes of a text.
    std::string normalized(const std::string& raw) const {
        const auto* const begin = reinterpret_cast<const uint8_t*>(raw.data());
        std::string out;
        return method_.normalize(begin, begin + raw.size(), true, out, nullptr) ? out : raw;
    }
    // Can a text be divided between these characters, after `token` or inside ordinary text (NONE)? Not if a token that must
    // be a single word may begin there, or inside the content of one that was rejected. A token of the normalized text may be
    // inside one that was rejected in the raw text.
    bool divides_tokens(uint32_t left, uint32_t right, uint32_t token, bool split_special) const {
        const bool may_be_hidden = may_hide_tokens(split_special) && raw_edges_.contain(left, right) && !is_of_raw_text(token);
        return !may_be_hidden && !may_begin_single_word(left, right);
    }
    // The same for the normalized text, between tokens.
    bool divides_normalized_tokens(uint32_t left, uint32_t right, bool split_special) const {
        const bool may_be_hidden = may_hide_tokens(split_special) && normalized_edges_.contain(left, right);
        return !may_be_hidden && !may_begin_single_word(left, right);
    }
    bool may_begin_token(uint32_t c) const { return raw_edges_.begin_with(c) || normalized_edges_.begin_with(c); }

    // If nothing in a stretch depends on its ends, runs of tokens that are pieces anyway (`is_piece`) need not divide it.
    template <class IsPiece>
    void leave_runs(IsPiece&& is_piece) {
        const bool bounds_matter = !metaspace_ || adds_space_to_stretches();
        if (!bounds_matter && normalized_tokens_.empty()) raw_tokens_.leave_runs(is_piece);
    }

    // False if [begin, end) contains no added token.
    bool any_added_token_in(const uint8_t* begin, const uint8_t* end) const {
        return raw_tokens_.any_in(begin, end) || normalized_tokens_.any_in(begin, end);
    }
    // Appends the added tokens of a text that the normalizer does not change, and the stretches between them.
    void find_added_tokens(const uint8_t* begin, const uint8_t* end, bool split_special, Buffer<Segment>& out) const {
        Buffer<Segment> raw;
        raw_tokens_.find(method_.classes(), begin, end, split_special, raw);
        for (const Segment& segment : raw) {
            if (segment.token != NONE) out.push_back(segment);
            else normalized_tokens_.find(method_.classes(), segment.begin, segment.end, split_special, out);
        }
    }

    // Writes the segments of a text to `space.segments`. `marked`: the text may contain
    // characters of marked pages. First finds added tokens in the raw text, then in the normalized text between them.
    void find(const Text& text, const EncodeOptions& options, bool marked, Workspace& space) const {
        auto &segments = space.segments, &raw_segments = space.raw_segments;
        segments.clear();
        raw_tokens_.find(method_.classes(), text.begin, text.end, options.split_special, segments);
        const bool normalize = marked || method_.normalizes_ascii();
        if (!normalize && !adds_space_to_stretches() && normalized_tokens_.empty()) return;
        raw_segments.swap(segments);
        segments.clear();
        const auto add = [&](const Segment& segment, const Origin& origin) {
            segments.push_back(segment);
            if (options.offsets) space.origins.push_back(origin);
        };
        Buffer<Segment> found;
        for (const Segment& raw : raw_segments) {
            const bool inside = options.inside && raw.begin == text.begin;
            if (raw.token != NONE) {
                add(raw, {raw.begin, nullptr, false});
                continue;
            }
            const Alignment* alignment = nullptr;
            Segment stretch = raw;
            if (normalize) {
                stretch = changed(space, raw, options, alignment, [&](std::string& out, Sources* sources) {
                    return method_.normalize(raw.begin, raw.end, marked, out, sources);
                });
            }
            bool prepend = normalizer_prepends_ && !inside;
            if (prepend && !normalized_tokens_.empty()) {
                stretch = changed(space, raw, options, alignment, [&stretch, &raw](std::string& out, Sources* sources) {
                    append_after_space(stretch.begin, stretch.end, out);
                    if (sources) note_after_space(raw.begin, raw.end, *sources);
                    return true;
                });
                prepend = false;
            }
            found.clear();
            normalized_tokens_.find(method_.classes(), stretch.begin, stretch.end, options.split_special, found);
            for (Segment part : found) {
                const Alignment* of_part = alignment;
                if (part.token == NONE) {
                    const bool begins_stretch = part.begin == stretch.begin;
                    if (marked && metaspace_ && !metaspace_->in_normalizer && !metaspace_->stays) {
                        part = changed(space, part, options, of_part, [&part](std::string& out, Sources* sources) {
                            return spaces_for_metaspaces(part.begin, part.end, out, sources);
                        });
                    }
                    const bool wanted = prepend_scheme_ == PrependScheme::always  ? !(inside && begins_stretch)
                                        : prepend_scheme_ == PrependScheme::first ? !inside && begins_stretch && raw.begin == text.begin
                                                                                  : false;
                    if (prepend || (wanted && !begins_with_space(part))) {
                        const uint8_t* const rest = first_piece_end(part);
                        std::string spaced;
                        append_after_space(part.begin, rest, spaced);
                        add(own(space, std::move(spaced)), {part.begin, of_part, true});
                        part.begin = rest;
                        if (part.begin == part.end) continue;
                    }
                }
                add(part, {part.begin, of_part, false});
            }
        }
    }

  private:
    // May a token that must be a single word begin between these characters, and be rejected for the left one?
    bool may_begin_single_word(uint32_t left, uint32_t right) const {
        return (method_.classes().of(left) & class_bit::word) && (raw_edges_.begin_word_with(right) || normalized_edges_.begin_word_with(right));
    }
    void note(const AddedToken& token, bool with_spaces) {
        longest_token_ = std::max(longest_token_, token.content.size());
        const bool flagged = token.single_word || token.lstrip || token.rstrip;
        const auto* const begin = reinterpret_cast<const uint8_t*>(token.content.data());
        for (const uint8_t* p : {begin, character_before(begin + token.content.size())}) {
            int length;
            const bool is_space = method_.classes().of(decode_character(p, length)) & class_bit::strip_space;
            flagged_white_space_ |= flagged && is_space;
            spaced_white_space_ |= with_spaces && is_space;
        }
    }
    // Applies change(out, sources) to a stretch; returns the stretch itself if that changes nothing. Sets `alignment` if
    // offsets are wanted.
    template <class Change>
    static Segment changed(Workspace& space, const Segment& stretch, const EncodeOptions& options, const Alignment*& alignment, Change&& change) {
        std::string text;
        Sources sources;
        if (!change(text, options.offsets ? &sources : nullptr)) return stretch;
        const Segment made = own(space, std::move(text));
        if (options.offsets) alignment = &space.alignments.emplace_back(Alignment{made.begin, stretch.begin, std::move(sources)});
        return made;
    }
    // Records the origins of characters after a space is prepended to them.
    static void note_after_space(const uint8_t* p, const uint8_t* end, Sources& sources) {
        int length;
        decode_character(p, length);
        sources.replace(p, p + length, 2, false);
        sources.keep(p + length, end);
    }
    bool begins_with_space(const Segment& part) const {
        if (*part.begin == ' ') return true;
        return metaspace_ && metaspace_->stays && part.end - part.begin >= 3 && find_metaspace(part.begin, part.begin + 3) == part.begin;
    }
    // The end of the part of a stretch that must be encoded together with a prepended space.
    const uint8_t* first_piece_end(const Segment& stretch) const {
        const auto& encoder = method_.encoder();
        if constexpr (requires { encoder.first_cut(stretch.begin, stretch.end); }) return encoder.first_cut(stretch.begin, stretch.end);
        else return stretch.end;
    }
    static void append_after_space(const uint8_t* begin, const uint8_t* end, std::string& out) {
        out.reserve(1 + static_cast<size_t>(end - begin) + READABLE_AFTER);  // avoids a second copy
        out.push_back(' ');
        out.append(begin, end);
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
    bool normalizer_prepends_;  // see Metaspace
    PrependScheme prepend_scheme_;  // which stretches get a space if they do not begin with one
    std::vector<uint32_t> raw_ids_;  // sorted
    size_t longest_token_ = 0;
    bool flagged_white_space_ = false, spaced_white_space_ = false;
};

}  // namespace lopt
