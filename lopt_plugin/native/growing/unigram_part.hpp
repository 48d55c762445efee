// A text of Unigram without a seam that grows. Only what is appended is read.
//
// Raw text is normalized up to the last position where the normalizer divides it for certain. What follows is added as if the
// text ended there, and is taken back at the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
class UnigramPart {
  public:
    // `inside`, `split_special`: see EncodeOptions. The core must outlive this object.
    UnigramPart(const Core& core, bool inside, bool split_special)
        : core_(core), inside_(inside), raw_tokens_(core, split_special), tokens_(core, split_special), word_(new_word()) {}

    // Returns false if ids of the text cannot be found like this; the object must not be used after that.
    bool append(const Characters& text) {
        if (raw_tokens_.finds(utf8_of(text, 0, text.length))) return false;
        for (size_t i = 0; i < text.length; i++) {
            if (is_surrogate(text[i])) return false;
            rest_.push_back(text[i]);
        }
        word_.truncate(certain_);
        after_.clear();
        size_t at = rest_.size();
        while (at > 0 && !(at < rest_.size() && core_.method().normalizer().first_divides(rest_[at - 1], rest_[at]))) at--;
        const std::vector<uint32_t> left(rest_.begin() + static_cast<ptrdiff_t>(at), rest_.end());
        const size_t among = core_.method().normalizer().first_divides_among(left, at == 0 && goes_on_);
        const bool is_among = among > 0;
        at += among;
        if (rest_.size() - at > MOST) return false;
        std::string part = utf8_of_rest(at);
        const auto [begins, ends] = core_.method().normalizer().apply_to_part(part);
        if (ends) {
            if (!(begins || is_first_) || tokens_.finds(part) || !add_certain(part)) return false;
            is_first_ &= at == 0;
            goes_on_ = at == 0 ? goes_on_ : is_among;
            rest_.erase(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(at));
        }
        if (rest_.size() > MOST) return false;
        std::string last = utf8_of_rest(rest_.size());
        const bool divided = core_.method().normalizer().apply_to_part(last).first;
        TokenWatch<Core> tokens = tokens_;
        return (divided || is_first_) && !tokens.finds(last) && add_last(last);
    }
    size_t count() const { return done_.size() + word_.count(word_.size()) + after_.size(); }
    void ids(IdBuffer& out) const {
        out.append(done_.data(), done_.size());
        word_.ids(out);
        out.append(after_.data(), after_.size());
    }

  private:
    static constexpr size_t MOST = 64;  // characters that are normalized again at each call

    GrowingLattice new_word() const { return core_.method().encoder().growing_lattice(); }
    std::string utf8_of_rest(size_t end) const { return utf8_of({rest_.data(), rest_.size(), sizeof rest_[0], false}, 0, end); }
    std::string spaced(const std::string& text) const { return has_begun_ ? text : with_space(core_, text, inside_); }
    static bool fits(const GrowingLattice& word, std::string_view more) { return more.size() < NONE - word.size(); }
    // Words that end in certain text are done.
    bool add_certain(const std::string& text) {
        bool all_fit = true;
        word_goes_on_ = core_.method().encoder().visit_spelled(spaced(text), word_goes_on_, [&](std::string_view spelled, bool begins) {
            if (begins) {
                word_.find_ways();
                word_.ids(done_);
                word_ = new_word();
            }
            all_fit = all_fit && fits(word_, spelled);
            if (all_fit) word_.append(spelled);
        });
        certain_ = word_.size();
        has_begun_ |= !text.empty();
        return all_fit;
    }
    bool add_last(const std::string& text) {
        bool all_fit = true;
        core_.method().encoder().visit_spelled(spaced(text), word_goes_on_, [&](std::string_view spelled, bool begins) {
            std::optional<GrowingLattice> next;
            if (begins && word_.size() > 0) next = new_word();
            GrowingLattice& word = next ? *next : word_;
            all_fit = all_fit && fits(word, spelled);
            if (!all_fit) return;
            word.append(spelled);
            if (!next) return;
            word.find_ways();
            word.ids(after_);
        });
        word_.find_ways();
        return all_fit;
    }

    const Core& core_;
    const bool inside_;
    TokenWatch<Core> raw_tokens_, tokens_;  // of the raw text, and of what is certain of the normalized one
    IdBuffer done_;                // of the words before the current one
    GrowingLattice word_;          // the current one
    IdBuffer after_;               // of the words after it, which are not certain
    std::vector<uint32_t> rest_;   // the raw characters that are not certain
    uint32_t certain_ = 0;         // bytes of the word
    bool word_goes_on_ = false;    // what is certain may go on with the current word
    bool has_begun_ = false;       // some normalized text is certain
    bool is_first_ = true;         // no raw text is certain
    bool goes_on_ = false;         // what is certain ends at a place found among the characters around it
};

}  // namespace lopt
