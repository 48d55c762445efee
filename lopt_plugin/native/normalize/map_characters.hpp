// Normalizer steps that map each character independently: Lowercase, StripAccents, Nmt.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "normalize/character_set.hpp"
#include "normalize/normalizer.hpp"
#include "text/utf8.hpp"

namespace lopt {

struct MappedCharacter {
    uint32_t code_point;
    std::string text;  // UTF-8, possibly empty
};

class MapCharacters final : public NormalizerStep {
  public:
    // `mapped`: every character that the step changes, once each.
    explicit MapCharacters(const std::vector<MappedCharacter>& mapped) : changed_(code_points_of(mapped)) {
        for (const auto& [code_point, text] : mapped) texts_[code_point] = text;
    }

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
        const uint8_t* p = changed_.next(begin, end);
        if (p == end) return false;
        out.clear();
        out.reserve(static_cast<size_t>(end - begin) + 64);
        out.append(begin, p);
        if (sources) sources->keep(begin, p);
        while (p < end) {
            int length;
            const std::string& text = *text_of(decode_character(p, length));
            const uint8_t* const unchanged = p + length;
            if (sources) sources->replace(p, unchanged, characters_in(text), false);
            p = changed_.next(unchanged, end);
            out.append(text).append(unchanged, p);
            if (sources) sources->keep(unchanged, p);
        }
        return true;
    }

  private:
    static std::vector<uint32_t> code_points_of(const std::vector<MappedCharacter>& mapped) {
        std::vector<uint32_t> code_points;
        for (const MappedCharacter& character : mapped) code_points.push_back(character.code_point);
        return code_points;
    }
    // The replacement of a character; null if it is unchanged.
    const std::string* text_of(uint32_t c) const { return changed_.holds(c) ? &texts_.find(c)->second : nullptr; }

    CharacterSet changed_;
    std::unordered_map<uint32_t, std::string> texts_;
};

}  // namespace lopt
