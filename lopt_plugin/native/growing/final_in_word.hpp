// Where a long word that still grows can be divided for good.
//
// BPE: no merge crosses a boundary between two tokens of an encoded word, so the text on either side of it is encoded as it
// is on its own. A longer word has such a boundary among the last L positions of this one, if no entry is longer than L. So
// a boundary that is one in each prefix that ends there is one in every longer word.
//
// A scan that begins there must find the end of the pre-token that a scan from its beginning finds. It does if all
// characters but the first are of one kind (a pattern may take one of any kind before letters), some more of them follow,
// and, where capitals begin words, if both scans can or both cannot take another capital.
//
// WordPiece: too long a word is unknown, and so is its end, if that is too long on its own.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "growing/growing_word.hpp"
#include "growing/places.hpp"
#include "wordpiece/word_characters.hpp"

namespace lopt {

// The kinds of characters that stay together in a pre-token, as bits. Marks stay together in every pattern, and in some with
// letters. In others they do with symbols, but a scan that begins there may take them for letters.
inline unsigned kinds_of(uint16_t classes) {
    using namespace class_bit;
    if (classes & space) return 1;
    if (classes & number) return 2;
    return classes & mark ? 4 | 16 : classes & letter ? 4 : 8;
}

// The kinds of what the normalizer makes of a character before the last; all kinds, if that depends on its neighbours.
template <class Core>
unsigned kinds_alone(const Core& core, const Characters& text, size_t at) {
    if (!core.method().begins_apart(text[at]) || !core.method().begins_apart(text[at + 1])) return ~0u;
    const auto characters = code_points_of(normalized_part(core, text, at, at + 1));
    return characters.size() == 1 ? kinds_of(core.method().classes().of(characters[0])) : ~0u;
}

// The normalized characters of a pre-token, as they are read.
template <class Core>
class Pretoken {
  public:
    explicit Pretoken(const Core& core) : core_(core), is_stretch_(core.method().metaspace()) {}

    void read(const std::string& characters) {
        const auto *p = reinterpret_cast<const uint8_t*>(characters.data()), *const end = p + characters.size();
        for (int length; p < end; p += length) {
            last_ = decode_character(p, length);
            const uint16_t classes = core_.method().classes().of(last_);
            (is_first_ ? of_first_ : of_others_) &= kinds_of(classes);
            is_first_ = false;
            may_take_capitals_ &= static_cast<bool>(classes & class_bit::upper_side);
        }
    }
    bool is_empty() const { return is_first_; }
    // Are they all alike, so far? White space follows symbols only as their end.
    bool is_uniform() const { return is_stretch_ || (of_others_ && !(of_others_ == kinds_of(class_bit::space) && of_first_ != of_others_)); }
    // Can it be divided before these characters, which follow?
    bool divides(const std::string& characters, bool split_special) const {
        if (characters.empty()) return false;
        const uint32_t c = first_character(characters);
        if (!core_.segmenter().divides_normalized_tokens(last_, c, split_special)) return false;
        const uint16_t classes = core_.method().classes().of(c);
        // A scan that begins with a Han symbol takes a run of Han only, one that has begun before takes symbols.
        if (core_.method().separates_han() && (classes & class_bit::cjk) && !(classes & class_bit::letter)) return false;
        // A scan from there on must take the capitals that this one takes.
        constexpr uint16_t any_case = class_bit::lower_side | class_bit::upper_side;
        return is_stretch_ || may_take_capitals_ || !core_.method().separates_capitals() || (classes & any_case) != any_case;
    }

  private:
    const Core& core_;
    const bool is_stretch_;  // with a metaspace, any characters
    unsigned of_first_ = ~0u, of_others_ = ~0u;
    uint32_t last_ = 0;
    bool is_first_ = true, may_take_capitals_ = true;
};

// `from`: the place where the pre-token begins. It goes on after `known`. Core: of BPE.
template <class Core>
std::optional<Place> final_place_of_word(const Core& core, const Characters& text, const Place& from, size_t known, bool split_special, const Model& model,
                                         const OpenRow<Core>& row) {
    struct Start {
        size_t bytes, at;
    };
    constexpr size_t MORE_BYTES = 16;  // of characters that follow
    std::vector<Start> starts;
    GrowingWord word(model);
    Pretoken pretoken(core);
    std::string characters;
    for (size_t at = from.at, stop = at + 1; at < known; at = stop++) {
        while (stop < known && !core.method().begins_apart(text[stop]) && !row.divides_marks(stop)) stop++;
        if (stop == known) break;
        characters = spaced_part(core, text, at, stop, pretoken.is_empty(), from.inside);
        const bool divides = at > from.at && pretoken.divides(characters, split_special) &&
                             core.segmenter().divides_tokens(text[at - 1], text[at], NONE, split_special);
        if (divides) starts.push_back({word.size(), at});
        pretoken.read(characters);
        std::erase_if(characters, [&model](char byte) { return model.drops_byte(static_cast<uint8_t>(byte)); });
        if (!pretoken.is_uniform() || !word.append(characters)) return std::nullopt;
    }
    for (size_t end = word.shared_boundary(model.longest_entry() + MORE_BYTES); end > 0; end = word.last_begin(end)) {
        const auto start = std::lower_bound(starts.begin(), starts.end(), end, [](const Start& each, size_t bytes) { return each.bytes < bytes; });
        if (start != starts.end() && start->bytes == end) return Place{start->at, true, from.count + word.count(end), from.pre_tokens, false};
    }
    return std::nullopt;
}

// The same for WordPiece.
template <class Core>
std::optional<Place> final_place_of_unknown_word(const Core& core, const Characters& text, const Place& from, size_t known, bool split_special) {
    if (core.method().normalizes_ascii()) return std::nullopt;  // twice, before and after added tokens are found
    constexpr uint16_t dividing = word_bit::divides | word_bit::spaced;
    std::optional<Place> place;
    size_t characters = 0;  // at least so many from there on
    for (size_t at = known; at-- > from.at;) {
        const uint16_t classes = core.method().classes().of(text[at]);
        if (classes & dividing) return std::nullopt;
        if (classes & (word_bit::removed | word_bit::reordered)) continue;
        const bool is_unknown = ++characters > core.method().model().most_characters();
        if (is_unknown && !place && at > from.at && core.segmenter().divides_tokens(text[at - 1], text[at], NONE, split_special))
            place = {at, true, from.count, from.pre_tokens, false};
    }
    return place;
}

// The last position in a long pre-token at which every text that begins with it can be divided. `known`: no added token
// that is found in a longer text begins before it. `long_word`: the least characters of such a pre-token.
template <class Core>
std::optional<Place> final_place_in_word(const Core& core, const Characters& text, const std::vector<Place>& places, size_t known, bool split_special,
                                         size_t long_word, const OpenRow<Core>& row) {
    constexpr size_t AFTER = 8;  // characters: a pattern may give back a space, and takes a contraction to a word
    for (size_t i = places.size() - 1; i-- > 0;) {
        const Place &from = places[i], &next = places[i + 1];
        const size_t end = std::min(known, next.at);
        const bool is_pre_token = next.pre_tokens - from.pre_tokens == 1 && !next.after_token && next.count > from.count;  // not a gap
        if (!is_pre_token || !from.marks.empty() || end < from.at + long_word + AFTER) continue;
        std::optional<Place> found;
        if constexpr (requires { core.method().model().most_characters(); }) {
            found = final_place_of_unknown_word(core, text, from, end - AFTER, split_special);
        } else if constexpr (!HasLattice<Core>) {
            // Does the pre-token begin there in every longer text?
            const bool begins = from.pre_tokens == 0 || from.after_token || !(kinds_alone(core, text, from.at - 1) & kinds_alone(core, text, from.at));
            const Model* const model = core.method().growing_model();
            if (model && begins) found = final_place_of_word(core, text, from, end - AFTER, split_special, *model, row);
        }
        if (found) return found;
    }
    return std::nullopt;
}

}  // namespace lopt
