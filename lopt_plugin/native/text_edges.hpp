// Normalizer steps at the edges of a stretch: Strip and Prepend.
#pragma once

#include <string>
#include <utility>

#include "character_set.hpp"
#include "normalizer.hpp"
#include "unicode.hpp"

namespace lopt {

class Strip final : public NormalizerStep {
  public:
    Strip(CharacterSet white_space, bool left, bool right) : white_space_(std::move(white_space)), left_(left), right_(right) {}

    bool changes_ascii() const override { return true; }
    void mark_pages(PageMarks&) const override {}
    bool passes(Junction& junction) const override { return !white_space_.holds(junction.left) && !white_space_.holds(junction.right); }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out) const override {
        const uint8_t *from = begin, *to = end;
        int length;
        while (left_ && from < to && white_space_.holds(decode_character(from, length))) from += length;
        while (right_ && from < to) {
            const uint8_t* last = to;
            do last--;
            while ((*last & 0xC0) == 0x80);
            if (!white_space_.holds(decode_character(last, length))) break;
            to = last;
        }
        if (from == begin && to == end) return false;
        out.assign(from, to);
        return true;
    }

  private:
    CharacterSet white_space_;
    bool left_, right_;
};

class Prepend final : public NormalizerStep {
  public:
    explicit Prepend(std::string text) : text_(std::move(text)) {}

    bool changes_ascii() const override { return true; }
    void mark_pages(PageMarks&) const override {}
    // An empty stretch stays empty.
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out) const override {
        if (begin == end) return false;
        out.reserve(text_.size() + static_cast<size_t>(end - begin));
        out.assign(text_);
        out.append(begin, end);
        return true;
    }

  private:
    std::string text_;
};

}  // namespace lopt
