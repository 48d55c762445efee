// Normalizer steps that replace a text, or runs of characters from a set. Matches are found from left to right without
// overlaps, and replacements are not searched again.
#pragma once

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "normalize/character_set.hpp"
#include "normalize/normalizer.hpp"

namespace lopt {

class ReplaceText final : public NormalizerStep {
  public:
    // `pattern` must not be empty and must consist of whole characters, so its bytes only match whole characters.
    ReplaceText(std::string pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {
        if (pattern_.empty()) throw std::invalid_argument("an empty text to replace");
    }

    bool changes_ascii() const override { return beyond_ascii() == pattern_.end(); }
    void mark_pages(PageMarks& marks) const override {
        if (changes_ascii()) return;
        marks[first_character({beyond_ascii(), pattern_.end()}) >> 4] = 1;
    }
    // No match contains a character that is not in the pattern.
    bool passes(Junction& junction) const override {
        int length;
        for (const char* p = pattern_.data(); p < pattern_.data() + pattern_.size(); p += length) {
            const uint32_t c = decode_character(reinterpret_cast<const uint8_t*>(p), length);
            if (c == junction.left || c == junction.right) return false;
            if (junction.has_next && c == junction.next) junction.has_next = false;
        }
        return true;
    }
    bool begins_apart(uint32_t c) const override {
        Junction junction{c, c, 0, false};
        return passes(junction);
    }
    bool may_remove_several() const override { return true; }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        const std::string_view text = text_between(begin, end);
        Rewriting rewriting(begin, end, out, sources);
        for (size_t at = text.find(pattern_); at != std::string_view::npos; at = text.find(pattern_, at + pattern_.size())) {
            const uint8_t *const from = begin + at, *const to = from + pattern_.size();
            if (Sources* const of_content = rewriting.replace(from, to, content_)) of_content->replace(from, to, characters_in(content_), true);
        }
        return rewriting.finish();
    }

  private:
    // A non-ASCII byte of the pattern; without its character, a text cannot change.
    std::string::const_iterator beyond_ascii() const {
        return std::find_if(pattern_.begin(), pattern_.end(), [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
    }
    std::string pattern_, content_;
};

class ReplaceRuns final : public NormalizerStep {
  public:
    // Replaces maximal runs of at least `least` (1 or more) characters of `set`; with `each`, replaces every single
    // character.
    ReplaceRuns(CharacterSet set, size_t least, bool each, std::string content)
        : set_(std::move(set)), least_(least), each_(each), content_(std::move(content)) {
        if (least == 0 || (each && least > 1)) throw std::invalid_argument("a run to replace has no character, or several at once");
        stands_for_one_ = characters_in(content_) == 1;
    }

    bool changes_ascii() const override { return set_.holds_ascii(); }
    void mark_pages(PageMarks& marks) const override { set_.mark_pages(marks); }
    // No run contains a character outside the set, and a run of one is replaced if `least` is 1.
    bool passes(Junction& junction) const override {
        const bool left = set_.holds(junction.left), right = set_.holds(junction.right);
        if (left && right && !each_) return false;
        if (right && !left && least_ == 2 && (junction.has_next || junction.is_end)) {
            if (junction.is_end || !set_.holds(junction.next)) return true;  // a run of one
            if (content_.empty()) return false;
            junction.right = first_character(content_);
            junction.has_next = false;
            return true;
        }
        if ((left || right) && (least_ > 1 || content_.size() != 1 || (content_[0] & 0x80))) return false;
        junction.replace(left ? &content_ : nullptr, right ? &content_ : nullptr, junction.has_next && set_.holds(junction.next));
        return true;
    }
    bool begins_apart(uint32_t c) const override { return each_ || !set_.holds(c); }
    bool maps_each() const override { return each_; }
    bool may_remove_several() const override { return least_ > 1 && content_ != " " && content_ != "\u2581"; }
    uint32_t image_in_run(uint32_t c) const override {
        if (!set_.holds(c)) return c;
        return stands_for_one_ && least_ <= 2 ? first_character(content_) : NONE;
    }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        Rewriting rewriting(begin, end, out, sources);
        for (const uint8_t* p = begin; (p = next_run(p, end)) < end;) {
            const uint8_t* const run = p;
            size_t count = 0;
            int length;
            do {
                if (!set_.holds(decode_character(p, length))) break;
                p += length;
                count++;
            } while (p < end && !each_);
            // If several characters replace the same ones, they still come from the last of those.
            const bool same = stands_for_one_ && text_between(run, p) == content_;
            if (count < least_ || same) continue;
            if (Sources* const of_content = rewriting.replace(run, p, content_)) of_content->replace(run, p, characters_in(content_), true);
        }
        return rewriting.finish();
    }

  private:
    // The first place in [p, end) where a run to replace may begin; `end` if there is none.
    const uint8_t* next_run(const uint8_t* p, const uint8_t* end) const {
        const uint8_t byte = set_.only_ascii();
        return least_ > 1 && byte < 0x80 ? first_pair(byte, p, end) : set_.next(p, end);
    }
    // The first place in [p, end) where the byte stands twice in a row; `end` if there is none. Single spaces are everywhere.
    static const uint8_t* first_pair(uint8_t byte, const uint8_t* p, const uint8_t* end) {
        constexpr uint64_t ONES = 0x0101010101010101u;
        for (; end - p >= 8; p += 7) {
            const uint64_t differs = load64(p) ^ byte * ONES;
            const uint64_t equal = ~(((differs & 0x7F * ONES) + 0x7F * ONES) | differs) & 0x80 * ONES;  // a bit for each byte
            if (const uint64_t pairs = equal & (equal >> 8)) return p + std::countr_zero(pairs) / 8;
        }
        for (; end - p >= 2; p++)
            if (p[0] == byte && p[1] == byte) return p;
        return end;
    }

    CharacterSet set_;
    size_t least_;
    bool each_;
    std::string content_;
    bool stands_for_one_ = false;
};

}  // namespace lopt
