// Reads the merges of a model from JSON: an array of pairs of names, or of two names separated by a space.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/vocabulary.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Throws std::invalid_argument if the text is anything else.
class MergesJson {
  public:
    explicit MergesJson(std::string_view json) : json_(json) {
        names_.reserve(json.size());  // a name is not longer than its JSON; the items point into it
        expect('[');
        if (!take(']')) {
            do items_.push_back(merge());
            while (take(','));
            expect(']');
        }
        if (at_ != json_.size()) fail();
    }
    MergesJson(const MergesJson&) = delete;
    MergesJson& operator=(const MergesJson&) = delete;

    const std::vector<MergeItem>& items() const { return items_; }

  private:
    [[noreturn]] static void fail() { throw std::invalid_argument("the merges are not a JSON list of pairs of names"); }

    MergeItem merge() {
        if (take('[')) {
            const std::string_view left = name();
            expect(',');
            const std::string_view right = name();
            expect(']');
            return {left, right};
        }
        return merge_of(name());
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
        const size_t start = names_.size();
        for (;;) {
            const size_t stop = json_.find_first_of("\"\\", at_);
            if (stop == std::string_view::npos) fail();
            names_.append(json_, at_, stop - at_);
            at_ = stop + 1;
            if (json_[stop] == '"') return std::string_view(names_).substr(start);
            escaped();
        }
    }
    void escaped() {
        constexpr std::string_view signs = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (at_ >= json_.size()) fail();
        const char sign = json_[at_++];
        if (sign == 'u') return append_character(code_point(), names_);
        const size_t which = signs.find(sign);
        if (which == std::string_view::npos) fail();
        names_ += meant[which];
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
    size_t at_ = 0;
    std::string names_;
    std::vector<MergeItem> items_;
};

}  // namespace lopt
