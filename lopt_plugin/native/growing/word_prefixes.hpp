// Counts the ids of all prefixes of one pre-token in one pass.
//
// Usually each prefix is a pre-token. If it is two (BytePairEncoder::closing_classes), the second one is called the tail,
// and grows separately.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "growing/growing.hpp"
#include "growing/growing_word.hpp"

namespace lopt {

template <class Core>
class WordPrefixes {
  public:
    // text[begin, end) must be a pre-token of the text from `begin` on. `inside`: see EncodeOptions.
    WordPrefixes(const Core& core, const Characters& text, size_t begin, size_t end, bool inside, bool split_special)
        : core_(core), text_(text), begin_(begin), inside_(inside), split_special_(split_special), model_(*core.method().growing_model()), word_(model_) {
        ends_.push_back({begin, 0});
        for (size_t at = begin; at < end && known_;) at = take(at, end);
    }
    // Can `count` be called for this end? Not near the end of the pre-token, which may begin another one when cut short.
    bool knows(size_t end) const { return end > begin_ && end + AT_END < begin_ + ends_.size(); }
    // The number of ids of text[begin, end).
    size_t count(size_t end, typename Core::Workspace& space) const {
        const End& found = ends_[end - begin_];
        const bool whole = found.begin == begin_;
        const size_t before = whole ? 0 : count(found.begin, space);
        if (found.count != NONE) return before + found.count;
        return before + encode_part(core_, text_, {found.begin, end, whole ? inside_ : true}, split_special_, space);
    }

  private:
    static constexpr size_t AT_END = 3;           // characters of a contraction
    static constexpr size_t MOST_TOGETHER = 64;  // largest number of characters that are normalized together

    struct End {
        size_t begin;    // start of the last pre-token
        uint32_t count;  // number of its ids; NONE: it must be encoded
    };
    struct State {
        size_t seen = 0;  // number of normalized characters read
        uint16_t first = 0, closing = 0;
        bool closed = false, in_tail = false;

        // Returns whether the character closes the pre-token.
        template <class Encoder>
        bool take(const Encoder& encoder, uint16_t classes) {
            if (seen == 0) first = classes;
            if (seen == 1) {
                closing = encoder.closing_classes(first, classes);
                closed = first & closing;
            }
            const bool closes = classes & closing;
            closed |= closes;
            in_tail = closed && !closes;
            seen++;
            return closes;
        }
    };

    // Reads the characters at `at` that are normalized together; returns their end.
    size_t take(size_t at, size_t end) {
        size_t stop = at + 1;
        while (stop < end && !core_.method().begins_apart(text_[stop])) stop++;
        if (stop - at > 1 && state_.seen > 0 && core_.method().keeps(utf8_of(text_, at, stop))) {
            for (size_t i = at; i < stop && known_; i++) grow(utf8_of(text_, i, i + 1), i);
            return stop;
        }
        known_ = stop - at <= MOST_TOGETHER;
        for (size_t part = at + 1; part < stop && known_; part++) ends_.push_back(end_with(normalized(at, part), at));
        if (known_) grow(normalized(at, stop), at);
        return stop;
    }
    std::string normalized(size_t at, size_t stop) const { return spaced_part(core_, text_, at, stop, state_.seen == 0, inside_); }
    // Updates the state, and appends the bytes to encode to `kept`. Returns false if a tail begins among the characters.
    bool read(const std::string& bytes, State& state, std::string& kept) const {
        const auto *p = reinterpret_cast<const uint8_t*>(bytes.data()), *const end = p + bytes.size();
        bool closes = false;
        int length;
        for (; p < end; p += length) closes |= state.take(core_.method().encoder(), core_.method().classes().at(p, end, length));
        for (const char byte : bytes)
            if (!model_.drops_byte(static_cast<uint8_t>(byte))) kept.push_back(byte);
        return !(closes && state.in_tail);
    }

    // Takes in these bytes, which represent the characters from `at` on, and adds the end after them.
    void grow(const std::string& bytes, size_t at) {
        std::string kept;
        known_ = read(bytes, state_, kept) && word_.append(kept);
        if (!state_.in_tail) {
            tail_.reset();
            tail_begin_ = begin_;
        } else {
            if (!tail_) {
                tail_.emplace(model_);
                tail_begin_ = at;
            }
            known_ = known_ && tail_->append(kept);
        }
        if (known_) ends_.push_back(end_of(tail_ ? *tail_ : word_, {}, tail_begin_));
    }
    // The end state if the text stops after these bytes, which represent the characters from `at` on.
    End end_with(const std::string& bytes, size_t at) {
        State state = state_;
        std::string kept;
        if (!read(bytes, state, kept)) return {begin_, NONE};
        if (!state.in_tail) return end_of(word_, kept, begin_);
        if (state_.in_tail) return end_of(*tail_, kept, tail_begin_);
        GrowingWord tail(model_);
        return end_of(tail, kept, at);
    }
    End end_of(GrowingWord& word, std::string bytes, size_t begin) const {
        if (word.size() + bytes.size() <= model_.longest_whole()) return {begin, NONE};
        if (model_.ends_words()) bytes.push_back(static_cast<char>(END_OF_WORD));
        return {begin, word.count_with(bytes)};
    }

    const Core& core_;
    const Characters& text_;
    size_t begin_;
    bool inside_, split_special_;
    const Model& model_;
    GrowingWord word_;
    std::optional<GrowingWord> tail_;
    size_t tail_begin_ = begin_;
    State state_;
    bool known_ = true;
    std::vector<End> ends_;  // indexed by the length of the prefix
};

}  // namespace lopt
