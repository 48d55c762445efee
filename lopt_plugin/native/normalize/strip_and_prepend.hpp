// Normalizer steps at the edges of a stretch: Strip and Prepend.
#pragma once

#include <string>
#include <utility>

#include "normalize/character_set.hpp"
#include "normalize/normalizer.hpp"

namespace lopt {

class Strip final : public NormalizerStep {
  public:
    Strip(CharacterSet white_space, bool left, bool right) : white_space_(std::move(white_space)), left_(left), right_(right) {}

    bool changes_ascii() const override { return true; }
    void mark_pages(PageMarks& marks) const override { white_space_.mark_pages(marks); }
    // The text before the position must not be stripped on its right, nor the text after it on its left.
    bool passes(Junction& junction) const override { return !white_space_.holds(junction.left) && !(left_ && white_space_.holds(junction.right)); }
    bool divides(uint32_t left, uint32_t right) const override { return !white_space_.holds(left) && !white_space_.holds(right); }
    // A part of a text may end where the text does not.
    bool keeps(const uint8_t* begin, const uint8_t* end) const override { return white_space_.next(begin, end) == end; }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        const auto [from, to] = stripped(begin, end);
        if (from == begin && to == end) return false;
        out.assign(from, to);
        if (sources) {
            sources->replace(begin, from, 0, false);
            sources->keep(from, to);
        }
        return true;
    }

  private:
    std::pair<const uint8_t*, const uint8_t*> stripped(const uint8_t* from, const uint8_t* to) const {
        int length;
        while (left_ && from < to && white_space_.holds(decode_character(from, length))) from += length;
        while (right_ && from < to) {
            const uint8_t* const last = character_before(to);
            if (!white_space_.holds(decode_character(last, length))) break;
            to = last;
        }
        return {from, to};
    }

    CharacterSet white_space_;
    bool left_, right_;
};

class Prepend final : public NormalizerStep {
  public:
    explicit Prepend(std::string text) : text_(std::move(text)) {}

    bool changes_ascii() const override { return true; }
    void mark_pages(PageMarks& marks) const override { mark_all(marks); }
    // An empty stretch stays empty. The prepended text takes the position of the first character.
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        if (begin == end) return false;
        out.reserve(text_.size() + static_cast<size_t>(end - begin));
        out.assign(text_);
        out.append(begin, end);
        if (sources) {
            const uint8_t* const second = begin + character_bytes(*begin);
            sources->replace(begin, second, characters_in(text_) + 1, false);
            sources->keep(second, end);
        }
        return true;
    }

  private:
    std::string text_;
};

}  // namespace lopt
