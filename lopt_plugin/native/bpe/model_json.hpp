// Reads the vocabulary and the merges of a model from JSON: an object of names and ids, and an array of pairs of names or of
// two names separated by a space.
#pragma once

#include <charconv>
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

// One of the two. Names point into the JSON text, or into this object if they have escapes.
class ModelJson {
  public:
    explicit ModelJson(std::string_view json) : json_(json) {
        unescaped_.reserve(json.size());  // a name is not longer than its JSON
    }
    ModelJson(const ModelJson&) = delete;
    ModelJson& operator=(const ModelJson&) = delete;

    // Both throw std::invalid_argument if the text has another form.
    std::vector<VocabularyItem> vocabulary() {
        wrong_ = "the vocabulary is not a JSON object of names and ids";
        if (!is_utf8(json_)) fail();
        std::vector<VocabularyItem> items;
        items.reserve(json_.size() / 12);
        all_between('{', '}', [&] {
            const std::string_view entry = name();
            expect(':');
            skip_white_space();
            items.push_back({entry, id()});
        });
        return items;
    }
    std::vector<MergeItem> merges() {
        wrong_ = "the merges are not a JSON list of pairs of names";
        std::vector<MergeItem> items;
        items.reserve(json_.size() / 12);
        all_between('[', ']', [&] { items.push_back(merge()); });
        return items;
    }

  private:
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

    MergeItem merge() {
        if (!take('[')) return merge_of(name());
        const std::string_view left = name();
        expect(',');
        const std::string_view right = name();
        expect(']');
        return {left, right};
    }
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
        const std::string_view digits = json_.substr(at_, 4);
        const char* const end = digits.data() + digits.size();
        uint32_t value = 0;
        if (digits.size() < 4 || std::from_chars(digits.data(), end, value, 16).ptr != end) fail();
        at_ += 4;
        return value;
    }

    std::string_view json_;
    const char* wrong_ = nullptr;  // the error if the text has another form
    size_t at_ = 0;
    std::string unescaped_;
};

}  // namespace lopt
