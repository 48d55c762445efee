// A normalization form computed from tables, for a core without the reference library: decompose, sort marks, compose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/utf8.hpp"

namespace lopt {

struct CharacterForms {
    // Characters that the form decomposes, with their full decompositions.
    std::unordered_map<uint32_t, std::vector<uint32_t>> decompositions;
    // Characters with a combining class, and the rank of their class, from 1.
    std::unordered_map<uint32_t, uint32_t> ranks;
    // Keyed by first << 32 | second; empty for a form that does not compose.
    std::unordered_map<uint64_t, uint32_t> compositions;

    std::string normalize(std::string_view text) const {
        std::vector<Ranked> made;
        for (const uint32_t c : code_points_of(text)) {
            const auto found = decompositions.find(c);
            if (found == decompositions.end()) made.push_back(ranked(c));
            else for (const uint32_t part : found->second) made.push_back(ranked(part));
        }
        put_in_order(made);
        if (!compositions.empty()) compose(made);
        std::string out;
        for (const Ranked& character : made) append_character(character.code_point, out);
        return out;
    }

  private:
    struct Ranked {
        uint32_t code_point, rank;  // 0: no combining class
    };
    Ranked ranked(uint32_t c) const {
        const auto found = ranks.find(c);
        return {c, found == ranks.end() ? 0 : found->second};
    }

    // Sorts each run of characters with a combining class by class.
    static void put_in_order(std::vector<Ranked>& characters) {
        const auto has_class = [](const Ranked& character) { return character.rank > 0; };
        for (auto from = characters.begin(); from != characters.end();) {
            from = std::find_if(from, characters.end(), has_class);
            const auto to = std::find_if_not(from, characters.end(), has_class);
            std::stable_sort(from, to, [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
            from = to;
        }
    }

    // A character composes with the last one of class 0, unless a character of the same or a higher class stands between
    // them.
    void compose(std::vector<Ranked>& characters) const {
        constexpr size_t NOTHING = SIZE_MAX;
        size_t starter = NOTHING, kept = 0;
        for (const Ranked character : characters) {
            const bool adjacent = starter != NOTHING && starter + 1 == kept;
            const bool reaches = adjacent || (starter != NOTHING && characters[kept - 1].rank < character.rank);
            if (reaches) {
                const auto found = compositions.find(uint64_t{characters[starter].code_point} << 32 | character.code_point);
                if (found != compositions.end()) {
                    characters[starter].code_point = found->second;
                    continue;
                }
            }
            if (character.rank == 0) starter = kept;
            characters[kept++] = character;
        }
        characters.resize(kept);
    }
};

}  // namespace lopt
