// Positions where a text can be divided, whatever added tokens it contains.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/added_tokens.hpp"
#include "text/unicode.hpp"

namespace lopt {

class AddedTokenEdges {
  public:
    explicit AddedTokenEdges(const AddedTokens& tokens) {
        for (const AddedToken& token : tokens.all()) note(token);
        for (auto* set : {&firsts_, &word_firsts_, &lasts_, &lefts_of_pairs_}) set->finish();
        std::sort(pairs_.begin(), pairs_.end());
        pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    }

    // True if, whatever the rest of the text is, no token spans the position between these characters, none ends there (a
    // new stretch would begin after it), and none checks its neighbour or strips white space across it.
    bool divide(const ClassTable& classes, uint32_t left, uint32_t right) const {
        if (empty_) return true;
        if (lasts_.holds(left)) return false;
        if (contain(left, right)) return false;
        if (classes.of(left) & class_bit::strip_space) {
            if (any_rstrip_) return false;
            if (any_lstrip_ && ((classes.of(right) & class_bit::strip_space) || firsts_.holds(right))) return false;
        }
        return !((classes.of(left) & class_bit::word) && word_firsts_.holds(right));
    }

    // Does a token contain these two characters side by side?
    bool contain(uint32_t left, uint32_t right) const {
        return lefts_of_pairs_.holds(left) && std::binary_search(pairs_.begin(), pairs_.end(), pair(left, right));
    }

    // May a token that must be a single word begin with this character?
    bool begin_word_with(uint32_t c) const { return word_firsts_.holds(c); }
    bool any_words() const { return !words_.empty(); }
    // Does the text end with the content of such a token, or with a beginning of it? Does not check the characters around it.
    bool end_in_word(std::string_view text) const {
        return std::any_of(words_.begin(), words_.end(), [text](std::string_view word) {
            for (size_t length = word.size(); length > 0; length--)
                if (text.ends_with(word.substr(0, length))) return true;
            return false;
        });
    }
    bool take_white_space() const { return any_lstrip_ || any_rstrip_; }
    bool take_white_space_before() const { return any_lstrip_; }
    bool take_white_space_after() const { return any_rstrip_; }
    // May a token begin with this character?
    bool begin_with(uint32_t c) const { return !empty_ && firsts_.holds(c); }
    // May a token begin in this text?
    bool begin_in(std::string_view text) const {
        const auto characters = code_points_of(text);
        return std::any_of(characters.begin(), characters.end(), [this](uint32_t c) { return begin_with(c); });
    }
    // May a token end with this character?
    bool end_with(uint32_t c) const { return !empty_ && lasts_.holds(c); }

  private:
    class Set {
      public:
        void add(uint32_t c) {
            if (c < 0x80) ascii_[c] = true;
            else others_.push_back(c);
        }
        void finish() { std::sort(others_.begin(), others_.end()); }
        bool holds(uint32_t c) const { return c < 0x80 ? ascii_[c] : std::binary_search(others_.begin(), others_.end(), c); }

      private:
        std::array<bool, 0x80> ascii_{};
        std::vector<uint32_t> others_;
    };
    static uint64_t pair(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

    void note(const AddedToken& token) {
        empty_ = false;
        const auto* p = reinterpret_cast<const uint8_t*>(token.content.data());
        const uint8_t* const end = p + token.content.size();
        int length;
        uint32_t left = decode_character(p, length);
        firsts_.add(left);
        if (token.single_word) {
            word_firsts_.add(left);
            words_.push_back(token.content);
        }
        for (p += length; p < end; p += length) {
            const uint32_t right = decode_character(p, length);
            lefts_of_pairs_.add(left);
            pairs_.push_back(pair(left, right));
            left = right;
        }
        lasts_.add(left);
        any_lstrip_ |= token.lstrip;
        any_rstrip_ |= token.rstrip;
    }

    Set firsts_, word_firsts_, lasts_, lefts_of_pairs_;
    std::vector<uint64_t> pairs_;
    std::vector<std::string> words_;  // contents of tokens that must be single words
    bool empty_ = true, any_lstrip_ = false, any_rstrip_ = false;
};

}  // namespace lopt
