// Reads the vocabulary and the merges of a model from JSON: an object of names and ids, and an array of pairs of names or of
// two names separated by a space.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe/vocabulary.hpp"
#include "text/invalid_utf8.hpp"
#include "text/utf8.hpp"

namespace lopt {

// The parts of a JSON text in order. Names point into it, or into this object if they have escapes.
class JsonReader {
  public:
    // `wrong`: what is thrown if the text has another form.
    JsonReader(std::string_view json, const char* wrong) : json_(json), wrong_(wrong) {
        unescaped_.reserve(json.size());  // a name is not longer than its JSON
    }
    JsonReader(const JsonReader&) = delete;
    JsonReader& operator=(const JsonReader&) = delete;

    [[noreturn]] void fail() const { throw std::invalid_argument(wrong_); }

    // Calls read() for each element between the two signs, which enclose the whole text.
    template <class Read>
    void all_between(char open, char close, Read&& read) {
        expect(open);
        if (!take(close)) {
            do read();
            while (take(','));
            expect(close);
        }
        if (at_ != json_.size()) fail();
    }
    bool take(char sign) {
        skip_white_space();
        const bool there = at_ < json_.size() && json_[at_] == sign;
        at_ += there;
        return there;
    }
    void expect(char sign) {
        if (!take(sign)) fail();
    }
    void skip_white_space() {
        while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == '\r' || json_[at_] == '\t')) at_++;
    }
    std::string_view name() {
        expect('"');
        const std::string_view plain = up_to_mark();
        if (json_[at_++] == '"') return plain;
        const size_t start = unescaped_.size();
        unescaped_ += plain;
        for (;;) {
            escaped();
            unescaped_ += up_to_mark();
            if (json_[at_++] == '"') return std::string_view(unescaped_).substr(start);
        }
    }
    // A whole number up to MAX_ID.
    uint32_t id() {
        const size_t start = at_;
        uint32_t value = 0;
        for (; at_ < json_.size() && json_[at_] >= '0' && json_[at_] <= '9'; at_++) {
            value = 10 * value + static_cast<uint32_t>(json_[at_] - '0');
            if (value > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
        }
        if (at_ == start) fail();
        return value;
    }

  private:
    // The text up to the next quotation mark or backslash, which is at `at_` then.
    std::string_view up_to_mark() {
        const size_t start = at_;
        while (at_ < json_.size() && json_[at_] != '"' && json_[at_] != '\\') at_++;
        if (at_ == json_.size()) fail();
        return json_.substr(start, at_ - start);
    }
    void escaped() {
        constexpr std::string_view signs = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (at_ >= json_.size()) fail();
        const char sign = json_[at_++];
        if (sign == 'u') return append_character(code_point(), unescaped_);
        const size_t which = signs.find(sign);
        if (which == std::string_view::npos) fail();
        unescaped_ += meant[which];
    }
    uint32_t code_point() {
        const uint32_t unit = hexadecimal();
        if (unit < 0xD800 || unit > 0xDFFF) return unit;
        if (unit > 0xDBFF || json_.substr(at_, 2) != "\\u") fail();
        at_ += 2;
        const uint32_t low = hexadecimal();
        if (low < 0xDC00 || low > 0xDFFF) fail();
        return 0x10000 + ((unit & 0x3FF) << 10 | (low & 0x3FF));
    }
    uint32_t hexadecimal() {
        constexpr std::string_view digits = "0123456789abcdefABCDEF";
        uint32_t value = 0;
        for (int i = 0; i < 4; i++) {
            const size_t digit = at_ < json_.size() ? digits.find(json_[at_++]) : std::string_view::npos;
            if (digit == std::string_view::npos) fail();
            value = value << 4 | static_cast<uint32_t>(digit < 16 ? digit : digit - 6);
        }
        return value;
    }

    std::string_view json_;
    const char* wrong_;
    size_t at_ = 0;
    std::string unescaped_;
};

// The items of both point into the JSON text and into the object. The constructors throw std::invalid_argument.
class VocabularyJson {
  public:
    explicit VocabularyJson(std::string_view json) : in_(json, "the vocabulary is not a JSON object of names and ids") {
        if (!is_utf8(json)) in_.fail();
        items_.reserve(json.size() / 12);
        in_.all_between('{', '}', [this] {
            const std::string_view name = in_.name();
            in_.expect(':');
            in_.skip_white_space();
            items_.push_back({name, in_.id()});
        });
    }
    std::vector<VocabularyItem> take_items() { return std::move(items_); }

  private:
    JsonReader in_;
    std::vector<VocabularyItem> items_;
};

class MergesJson {
  public:
    explicit MergesJson(std::string_view json) : in_(json, "the merges are not a JSON list of pairs of names") {
        items_.reserve(json.size() / 12);
        in_.all_between('[', ']', [this] { items_.push_back(merge()); });
    }
    std::vector<MergeItem> take_items() { return std::move(items_); }

  private:
    MergeItem merge() {
        if (!in_.take('[')) return merge_of(in_.name());
        const std::string_view left = in_.name();
        in_.expect(',');
        const std::string_view right = in_.name();
        in_.expect(']');
        return {left, right};
    }

    JsonReader in_;
    std::vector<MergeItem> items_;
};

}  // namespace lopt
