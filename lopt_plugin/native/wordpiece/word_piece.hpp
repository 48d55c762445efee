// The WordPiece model: longest match first, from the left; a word that cannot be matched to its end is unknown.
#pragma once

#include <vector>

#include "bpe/trie.hpp"
#include "bpe/vocabulary.hpp"

namespace lopt {

class WordPiece {
  public:
    // items: names in UTF-8. prefix: of every piece except the first of a word. most_characters: longer words are
    // unknown. Throws std::invalid_argument for ids that the tables cannot store.
    WordPiece(const std::vector<VocabularyItem>& items, std::string_view prefix, uint32_t unknown_id, size_t most_characters)
        : trie_(sorted(items)), unknown_id_(unknown_id), most_characters_(most_characters) {
        if (unknown_id > MAX_ID) throw std::invalid_argument("the unknown token's id is above 2^20 - 2");
        inner_base_ = Trie::ROOT;
        for (const char c : prefix) {
            const auto byte = static_cast<uint8_t>(c);
            const Trie::Unit& unit = trie_[inner_base_ ^ byte];
            inner_base_ = unit.is(byte) ? unit.base() : Trie::NO_CHILDREN;
        }
    }

    // Writes the ids of a normalized word to o, which needs room for one per byte, and at least one. An empty word has no
    // ids.
    uint32_t* encode(const uint8_t* p, const uint8_t* end, size_t characters, uint32_t* o) const {
        if (p == end) return o;
        uint32_t* const first = o;
        if (characters > most_characters_) return *o = unknown_id_, o + 1;
        for (uint32_t base = Trie::ROOT; p < end; base = inner_base_) {
            const Trie::Match longest = trie_.longest(base, p, end);
            if (longest.token == NONE) return *first = unknown_id_, first + 1;
            *o++ = longest.token;
            p = longest.end;
        }
        return o;
    }
    size_t most_characters() const { return most_characters_; }
    uint32_t unknown_id() const { return unknown_id_; }
    size_t bytes() const { return trie_.bytes(); }

  private:
    static std::vector<Entry> sorted(const std::vector<VocabularyItem>& items) {
        std::vector<Entry> entries;
        entries.reserve(items.size());
        for (const auto& item : items) {
            if (item.id > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
            if (!item.name.empty()) entries.push_back({item.name, item.id});
        }
        return in_byte_order(entries);
    }

    Trie trie_;
    uint32_t inner_base_, unknown_id_;
    size_t most_characters_;
};

}  // namespace lopt
