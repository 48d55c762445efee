// Finds the longest prefix of a text that, encoded on its own, has at most a given number of ids.
//
// The counts of prefixes do not rise monotonically. But the counts of prefixes that end at seams do, and a prefix that
// ends after a seam has at least as many ids as the prefix that ends at it. So the longest prefix ends between the last
// seam with few enough ids and the next seam. If these are far apart, the positions between them (places.hpp) narrow the
// range in the same way, down to one pre-token. If it is long, one pass counts all its prefixes (word_prefixes.hpp,
// lattice_prefixes.hpp). A text with a metaspace is one pre-token; its search is bounded by the maximum number of characters per id.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>

#include "base/needs_reference.hpp"
#include "growing/lattice_prefixes.hpp"
#include "growing/place_finder.hpp"
#include "growing/word_prefixes.hpp"

namespace lopt {

// The time budget was not enough to find the longest prefix.
struct TooManyPrefixesError : NeedsReference {
    TooManyPrefixesError() : NeedsReference("cut: too many prefixes would have to be encoded to find the longest one") {}
};

// Counts prefixes of one part of a text, within a time budget that is linear in its length.
template <class Core>
class PrefixCounts {
  public:
    PrefixCounts(const Core& core, const Characters& text, size_t length, bool split_special, typename Core::Workspace& space)
        : core_(core), text_(text), split_special_(split_special), space_(space), left_((size_t{1} << 21) + 4 * length) {}
    // Throws unless so many characters may still be encoded.
    void check_budget(size_t characters) const {
        if (characters > left_) throw TooManyPrefixesError();
    }
    size_t operator()(size_t begin, size_t end, bool inside) {
        check_budget(end - begin);
        left_ -= end - begin;
        return encode_part(core_, text_, {begin, end, inside}, split_special_, space_);
    }

  private:
    const Core& core_;
    const Characters& text_;
    bool split_special_;
    typename Core::Workspace& space_;
    size_t left_;  // number of characters that may still be encoded
};

// A position in a part of the text: what is encoded from the part's beginning up to there, or further, certainly has more
// than `room` ids. The end of the text if none is known.
template <class Core>
size_t too_many_ids_at(const Core& core, const Characters& text, const TextPart& part, size_t room) {
    if constexpr (requires { core.method().most_in_one(); }) {
        const size_t of_id = core.segmenter().most_characters_of_id(), in_one = core.method().most_in_one();
        if (!of_id || core.segmenter().any_id_may_take_more()) return text.length;
        // An id stands for so many bytes of normalized text, or fewer; `in_one` characters may have become one of them. But a
        // character before another that the normalizer leaves has all its bytes there.
        size_t left = (room + 1) * std::max(of_id, core.segmenter().longest_token() * in_one);
        for (size_t i = part.begin; i < part.end; i++) {
            const bool kept = core.method().leaves(text[i]) && (i + 1 == text.length || core.method().leaves(text[i + 1]));
            const size_t taken = kept ? in_one * bytes_of_character(text[i]) : 1;
            if (taken >= left) return i + 1;
            left -= taken;
        }
    }
    return text.length;
}

// May text[begin, end) end in a token of normalized text that the next character changes, as a mark does?
template <class Core>
bool may_lose_token(const Core& core, const Characters& text, size_t begin, size_t end) {
    if (!core.segmenter().any_normalized_tokens() || end == text.length || core.method().begins_apart(text[end])) return false;
    size_t from = end - 1;
    while (from > begin && !core.method().begins_apart(text[from])) from--;
    return core.segmenter().may_end_normalized_token(utf8_of(text, from, end));
}

// The longest prefix of text[part] with at most `room` ids; the whole part has more, and so have prefixes that end at
// `too_many` or later.
template <class Core>
size_t longest_prefix_of_part(const Core& core, const Characters& text, const TextPart& part, size_t too_many, size_t room, bool split_special,
                              size_t long_word, typename Core::Workspace& space) {
    PrefixCounts<Core> counts(core, text, part.end - part.begin, split_special, space);
    const auto count = [&](const Place& from, size_t end) { return from.count + counts(from.at, end, from.inside); };
    const std::vector<Place> places = places_of(core, text, part, room, split_special, space);
    const Place &next = places.back(), &last = *std::prev(places.end(), 2);
    const auto sure = [&](const Place& place) { return end_of_reach(core, text, place.at, part.end); };  // in prefixes that end there, or later
    size_t end = std::min({sure(next), part.end, too_many}) - 1;
    const size_t from = last.at == part.begin ? part.begin : sure(last) - 1;  // shorter prefixes may not be divisible at `last`
    bool ids_stay = true;
    if constexpr (requires { core.method().ids_stay(); }) ids_stay = core.method().ids_stay();
    if (last.count == room && end > from && ids_stay) {
        // The room is used up, so the text after `last` may yield no ids. If it yields none up to some end, then neither
        // up to an earlier one.
        size_t none = from, some = end + 1;
        while (some - none > 1) {
            const size_t middle = none + (some - none) / 2;
            (count(last, middle) <= room ? none : some) = middle;
        }
        if (none > from) return none;
    } else {
        std::optional<std::conditional_t<HasLattice<Core>, LatticePrefixes<Core>, WordPrefixes<Core>>> word;
        const bool is_word = next.pre_tokens - last.pre_tokens == 1 && !next.after_token && next.count > last.count;
        if constexpr (HasLattice<Core> || requires { core.method().leaves(0u); })
            if (is_word && next.at - last.at >= long_word && (HasLattice<Core> || core.method().growing_model()))
                word.emplace(core, text, last.at, next.at, last.inside, split_special);
        // Encoding some of so many prefixes would probably not find it.
        if (end > from && !(word && word->knows(from + 1))) counts.check_budget((end - from) * (from - last.at + (end - from) / 2));
        for (; end > from; end--) {
            const bool known = word && word->knows(end) && !may_lose_token(core, text, last.at, end) && !core.segmenter().may_end_in_hidden_token(text, last.at, end, split_special);
            const size_t found = known ? last.count + word->count(end, space) : count(last, end);
            if (found <= room) return end;
        }
    }
    for (end = std::min(end, from); end > part.begin; end--) {
        const auto after = std::find_if(places.rbegin(), places.rend(), [&](const Place& place) { return sure(place) <= end; });
        if (count(after == places.rend() ? places.front() : *after, end) <= room) return end;
    }
    return part.begin;
}

// The same if the part `grows_by_ids`, with at most `reach` characters per id. Of any `reach` consecutive positions, at
// least one is the end of an id of a longer prefix. So if all prefixes that end at these positions have more than `room`
// ids, all longer ones do too.
template <class Core>
size_t longest_prefix_by_reach(const Core& core, const Characters& text, const TextPart& part, size_t room, bool split_special, size_t reach,
                               typename Core::Workspace& space) {
    const auto fits = [&](size_t end) { return encode_part(core, text, {part.begin, end, part.inside}, split_special, space) <= room; };
    size_t longest = part.begin, more = part.end;
    while (more - longest > 1) {
        const size_t middle = longest + (more - longest) / 2;
        (fits(middle) ? longest : more) = middle;
    }
    for (size_t end = longest + 1; end < std::min(longest + reach + 1, part.end); end++)
        if (fits(end)) longest = end;
    return longest;
}

// `long_word`: parts of at least this many characters are searched as above; for shorter parts, all prefixes are encoded.
template <class Core>
size_t longest_prefix(const Core& core, Characters text, size_t most, bool split_special, typename Core::Workspace& space, size_t long_word = LONG_WORD) {
    constexpr size_t SHORT = 64;  // characters; few enough that encoding them takes no time
    constexpr size_t BEYOND = 3;  // characters after a prefix, so that WordPrefixes knows it
    const size_t of_id = core.segmenter().most_characters_of_id();
    size_t too_many = text.length;  // prefixes that end there, or later, have more than `most` ids
    if (of_id && !core.segmenter().any_id_may_take_more() && most < text.length / of_id) too_many = (most + 1) * of_id;
    text.length = std::min(text.length, too_many + BEYOND);
    Estimate estimate;
    size_t before = 0;
    TextPart part{0, text.length, false};
    for (const size_t longest : {PART, SHORT, size_t{1}}) {
        Parts parts(core.boundaries(), text, part.begin, part.end, part.inside);
        bool found = false;
        while (!parts.done()) {
            const size_t wanted = std::min(longest, estimate.characters(most - before));
            const auto next = parts.next(wanted);
            found = longest < PART && next.begin == part.begin && next.end == part.end;
            if (found) break;  // nothing divides it, and it has too many ids
            part = next;
            if (part.end - part.begin >= 2 * wanted + long_word) {
                too_many = std::min(too_many, too_many_ids_at(core, text, part, most - before));
                if (too_many + BEYOND < part.end) text.length = part.end = too_many + BEYOND;
            }
            const size_t count = encode_part(core, text, part, split_special, space);
            found = before + count > most;
            if (found) break;
            estimate.read(part.end - part.begin, count);
            before += count;
        }
        if (!found) return part.end;  // only if the whole text has at most `most` ids
    }
    if (part.end - part.begin >= long_word) {
        const bool by_reach = of_id && core.method().metaspace() && core.segmenter().grows_by_ids(text.part(part.begin, part.end), space.ids);
        try {
            if (!core.segmenter().white_space_matters()) return longest_prefix_of_part(core, text, part, too_many, most - before, split_special, long_word, space);
        } catch (const TooManyPrefixesError&) {  // WordPrefixes knows too few
            if (!by_reach) throw;
        }
        if (by_reach) return longest_prefix_by_reach(core, text, part, most - before, split_special, of_id, space);
    }
    PrefixCounts<Core> counts(core, text, part.end - part.begin, split_special, space);
    for (size_t end = part.end - 1; end > part.begin; end--)
        if (before + counts(part.begin, end, part.inside) <= most) return end;
    return part.begin;
}

}  // namespace lopt
