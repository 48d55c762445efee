// One word of Unigram that grows, in normalized text and in raw text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_buffer.hpp"
#include "growing/growing.hpp"
#include "growing/token_watch.hpp"
#include "text/characters.hpp"
#include "text/utf8.hpp"
#include "unigram/growing_lattice.hpp"

namespace lopt {

template <class Core>
class UnigramWord {
  public:
    // `inside`: see EncodeOptions. The core must outlive this object.
    UnigramWord(const Core& core, bool inside) : core_(core), inside_(inside), lattice_(core.method().encoder().growing_lattice()) {}

    // Adds normalized text. Returns false, and adds nothing, if that is not one word any more.
    bool append(std::string text) {
        if (text.empty()) return true;
        int length;
        const uint32_t first = decode_character(reinterpret_cast<const uint8_t*>(text.data()), length);
        const bool goes_on = lattice_.size() > 0;
        if (!goes_on && core_.segmenter().prepends_space(first, inside_)) text.insert(0, 1, ' ');
        const auto spelled = core_.method().encoder().spell_word(text, goes_on);
        if (!spelled || spelled->size() >= NONE - lattice_.size()) return false;
        lattice_.append(*spelled);
        return true;
    }
    GrowingLattice& lattice() { return lattice_; }
    const GrowingLattice& lattice() const { return lattice_; }

  private:
    const Core& core_;
    bool inside_;
    GrowingLattice lattice_;
};

// Raw text is normalized up to the last position where the normalizer divides it for certain. What follows is added as if the
// text ended there, and is taken back at the next call.
template <class Core>
class UnigramPart {
  public:
    // `inside`, `split_special`: see EncodeOptions. The core must outlive this object.
    UnigramPart(const Core& core, bool inside, bool split_special)
        : core_(core), raw_tokens_(core, split_special), tokens_(core, split_special), word_(core, inside) {}

    bool append(const Characters& text) {
        if (raw_tokens_.finds(utf8_of(text, 0, text.length))) return false;
        for (size_t i = 0; i < text.length; i++) {
            if (is_surrogate(text[i])) return false;
            rest_.push_back(text[i]);
        }
        word_.lattice().truncate(certain_);
        size_t at = rest_.size();
        while (at > 0 && !(at < rest_.size() && core_.method().normalizer().first_divides(rest_[at - 1], rest_[at]))) at--;
        const bool is_among = at == 0;
        if (is_among) at = core_.method().normalizer().first_divides_among(rest_, goes_on_);
        if (rest_.size() - at > MOST) return false;
        std::string part = utf8_of_rest(at);
        const auto [begins, ends] = core_.method().normalizer().apply_to_part(part);
        if (ends) {
            if (!(begins || is_first_) || tokens_.finds(part) || !word_.append(part)) return false;
            certain_ = word_.lattice().size();
            is_first_ &= at == 0;
            goes_on_ = at == 0 ? goes_on_ : is_among;
            rest_.erase(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(at));
        }
        if (rest_.size() > MOST) return false;
        std::string last = utf8_of_rest(rest_.size());
        const bool divided = core_.method().normalizer().apply_to_part(last).first;
        TokenWatch<Core> tokens = tokens_;
        if (!(divided || is_first_) || tokens.finds(last) || !word_.append(last)) return false;
        word_.lattice().find_ways();
        return true;
    }
    size_t count() const { return word_.lattice().count(word_.lattice().size()); }
    void ids(IdBuffer& out) const { word_.lattice().ids(out); }

  private:
    static constexpr size_t MOST = 64;  // characters that are normalized again at each call

    std::string utf8_of_rest(size_t end) const { return utf8_of({rest_.data(), rest_.size(), sizeof rest_[0], false}, 0, end); }

    const Core& core_;
    TokenWatch<Core> raw_tokens_, tokens_;  // of the raw text, and of what is certain of the normalized one
    UnigramWord<Core> word_;
    std::vector<uint32_t> rest_;  // the raw characters that are not certain
    uint32_t certain_ = 0;        // bytes of the word
    bool is_first_ = true;        // nothing is certain
    bool goes_on_ = false;        // what is certain ends at a place found among the characters around it
};

}  // namespace lopt
