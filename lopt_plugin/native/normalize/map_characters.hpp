// Normalizer steps that map each character independently: Lowercase, StripAccents, Nmt.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "normalize/character_set.hpp"
#include "normalize/normalizer.hpp"
#include "text/utf8.hpp"

namespace lopt {

class MapCharacters final : public NormalizerStep {
  public:
    // What each character that the step changes becomes: UTF-8, possibly empty.
    using Texts = std::unordered_map<uint32_t, std::string>;
    explicit MapCharacters(Texts texts) : changed_(keys_of(texts)), texts_(std::move(texts)) {}

    bool changes_ascii() const override { return changed_.holds_ascii(); }
    void mark_pages(PageMarks& marks) const override { changed_.mark_pages(marks); }

    // Every position divides, but the images of the characters there must be known.
    bool begins_apart(uint32_t) const override { return true; }
    bool maps_each() const override { return true; }
    bool passes(Junction& junction) const override {
        const std::string *const left = text_of(junction.left), *const right = text_of(junction.right);
        if ((left && left->empty()) || (right && right->empty())) return false;
        junction.replace(left, right, junction.has_next && changed_.holds(junction.next));
        return true;
    }
    bool surely_keeps(const uint8_t* begin, const uint8_t* end) const override { return changed_.next(begin, end) == end; }
    // The replacement of a character takes its position.
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        Rewriting rewriting(begin, end, out, sources);
        int length;
        for (const uint8_t* p = changed_.next(begin, end); p < end; p = changed_.next(p + length, end)) {
            const std::string& text = *text_of(decode_character(p, length));
            if (Sources* const of_text = rewriting.replace(p, p + length, text)) of_text->replace(p, p + length, characters_in(text), false);
        }
        return rewriting.finish();
    }

  private:
    static std::vector<uint32_t> keys_of(const Texts& texts) {
        std::vector<uint32_t> code_points;
        for (const auto& [code_point, text] : texts) code_points.push_back(code_point);
        return code_points;
    }
    // The replacement of a character; null if it is unchanged.
    const std::string* text_of(uint32_t c) const { return changed_.holds(c) ? &texts_.find(c)->second : nullptr; }

    CharacterSet changed_;
    Texts texts_;
};

}  // namespace lopt
