// All read-only tables of one BPE model, and its word cache.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/parallel_for.hpp"
#include "bpe/character_runs.hpp"
#include "bpe/compatibility.hpp"
#include "bpe/cuts.hpp"
#include "bpe/matcher.hpp"
#include "bpe/merges.hpp"
#include "bpe/trie.hpp"
#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"
#include "bpe/word_cache.hpp"
#include "bpe/window_encoder.hpp"
#include "bpe/words.hpp"

namespace lopt {

// The entries that BPE reproduces from their own bytes; and if `ignore_merges`, all others, which only match whole pre-tokens.
struct Reproduction {
    std::vector<Entry> reproduced, whole_only;
    bool describable = true;  // false: a reproduced entry is too long for the matcher
};

class Model {
  public:
    // Throws std::invalid_argument, with the reason, if the model cannot be encoded exactly.
    Model(const Vocabulary& vocabulary, const std::vector<Merge>& merges, bool ignore_merges, UnknownCharacters unknown = {})
        : unknown_(std::move(unknown)), merges_(vocabulary, merges), compatibility_(vocabulary), reproduction_(reproduce(vocabulary, ignore_merges)), trie_(linked_and_flagged()),
          matcher_(merges_, compatibility_, trie_, reproduction_.describable, vocabulary.drops_bytes(), unknown_),
          cuts_(vocabulary.entries(), vocabulary.drops_bytes()), ends_words_(vocabulary.ends_words()),
          whole_words_matter_(!reproduction_.whole_only.empty()), words_(all_words()), long_words_(long_words()), cache_(CACHE_SLOTS), long_cache_(LONG_CACHE_SLOTS),
          window_encoder_(words_, long_words_, merges_, matcher_, cache_, long_cache_) {
        if (matcher_.knows_all_bytes() && !ends_words_ && unknown_.unknown_id() == NONE) {
            const auto token_of = [this](std::string_view text) { return word_id(text); };
            character_runs_.emplace(vocabulary.entries(), reproduction_.whole_only, merges_, compatibility_, cuts_, unknown_, token_of);
        }
        for (const auto& entry : vocabulary.entries()) longest_entry_ = std::max(longest_entry_, entry.bytes.size());
        for (const auto& entry : reproduction_.whole_only) longest_whole_ = std::max(longest_whole_, entry.bytes.size());
        reproduction_ = {};
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const WindowEncoder& window_encoder() const { return window_encoder_; }
    const Cuts& cuts() const { return cuts_; }
    const Compatibility& compatibility() const { return compatibility_; }
    const Trie& trie() const { return trie_; }
    // Length in bytes of the longest entry that only matches a whole pre-token.
    size_t longest_whole() const { return longest_whole_; }
    size_t longest_entry() const { return longest_entry_; }
    const Matcher& matcher() const { return matcher_; }
    const MergeTable& merges() const { return merges_; }
    // Null if the vocabulary does not allow character runs.
    const CharacterRuns* character_runs() const { return character_runs_ ? &*character_runs_ : nullptr; }
    bool ends_words() const { return ends_words_; }
    // Does it matter whether a piece is a whole pre-token?
    bool whole_words_matter() const { return whole_words_matter_; }
    const UnknownCharacters& unknown_characters() const { return unknown_; }
    // The id if the text is an entry that BPE reproduces and that fits a key; otherwise NONE.
    uint32_t word_id(std::string_view text) const {
        if (text.empty() || !fits_key({text, 0})) return NONE;
        const WordTable::Item word = item({text, 0});
        const uint32_t id = words_.find(word.key, word.key.hash());
        return id < WHOLE_ONLY ? id : NONE;
    }
    // Is the byte an entry, or is it dropped?
    bool knows_byte(uint8_t byte) const { return merges_.byte_id(byte) != NONE || drops_byte(byte); }
    bool drops_byte(uint8_t byte) const { return merges_.byte_id(byte) == NONE && !matcher_.knows_all_bytes(); }
    size_t bytes() const {
        return merges_.bytes() + compatibility_.bytes() + trie_.bytes() + cuts_.bytes() + words_.bytes() + cache_.bytes() + long_cache_.bytes() +
               (character_runs_ ? character_runs_->bytes() : 0);
    }

  private:
    // Enough for the new words of a million characters in many languages; a larger cache costs more than it gains.
    static constexpr size_t CACHE_SLOTS = 1 << 17, LONG_CACHE_SLOTS = 1 << 14;

    // Describes single bytes, and whatever merges make of two described entries: nearly all that BPE reproduces, in a
    // fraction of the time that merging their bytes takes.
    void describe_merged(const Vocabulary& vocabulary) {
        std::vector<size_t> lengths(vocabulary.max_id() + 1, 0);
        for (const auto& entry : vocabulary.entries()) {
            lengths[entry.id] = entry.bytes.size();
            if (entry.bytes.size() == 1) compatibility_.set_token(entry.id, 1, {});
        }
        const auto pairs = merges_.pairs();
        for (uint32_t rank = 0; rank < pairs.size(); rank++) {
            const auto [left, right] = pairs[rank];
            const uint32_t made = merges_.product(rank);
            if (left == NONE || !lengths[made] || lengths[made] > Compatibility::MAX_LENGTH || compatibility_.length(made)) continue;
            if (compatibility_.make_one(merges_, left, right, rank)) compatibility_.set_token(made, lengths[made], {rank, left, right});
        }
    }

    Reproduction reproduce(const Vocabulary& vocabulary, bool ignore_merges) {
        describe_merged(vocabulary);
        const auto& entries = vocabulary.entries();
        std::vector<uint8_t> same(entries.size(), 0);
        parallel_for(entries.size(), [&](size_t begin, size_t end) {
            std::vector<uint32_t> ids, ranks;
            for (size_t i = begin; i < end; i++) {
                same[i] = compatibility_.length(entries[i].id) > 0;
                if (same[i]) continue;
                const size_t n = entries[i].bytes.size();
                ids.resize(std::max(ids.size(), n));
                ranks.resize(ids.size());
                Derivation derivation;
                const uint8_t* p = reinterpret_cast<const uint8_t*>(entries[i].bytes.data());
                same[i] = merge_by_scan(merges_, p, n, ids.data(), ranks.data(), &derivation) == 1 && ids[0] == entries[i].id;
                if (same[i] && n <= Compatibility::MAX_LENGTH) compatibility_.set_token(entries[i].id, n, derivation);
            }
        });
        Reproduction result;
        result.reproduced.reserve(entries.size());
        for (size_t i = 0; i < entries.size(); i++) {
            if (same[i]) result.reproduced.push_back(entries[i]);
            else if (ignore_merges) result.whole_only.push_back(entries[i]);
            if (same[i] && entries[i].bytes.size() > Compatibility::MAX_LENGTH) result.describable = false;
        }
        return result;
    }

    // The reproduced entries in byte order, flagged for the trie. Links each with the longest other one that it begins with.
    std::vector<Entry> linked_and_flagged() {
        std::vector<Entry> entries = in_byte_order(reproduction_.reproduced), beginnings;
        for (auto& entry : entries) {
            while (!beginnings.empty() && !entry.bytes.starts_with(beginnings.back().bytes)) beginnings.pop_back();
            if (!beginnings.empty()) compatibility_.set_shorter(entry.id, beginnings.back().id);
            beginnings.push_back(entry);
            if (compatibility_.irregular(entry.id)) entry.id |= IRREGULAR;
        }
        return entries;
    }

    // Keys are padded with 0xFF, which occurs in no text, so entries that contain it are never looked up.
    static bool fits_key(const Entry& entry) {
        return entry.bytes.size() <= LONGEST_KEY && entry.bytes.find('\xFF') == std::string_view::npos;
    }
    // If words get an end-of-word byte, only pieces of cut words lack it.
    static bool is_piece(const Entry& entry) {
        const auto cut = [](char byte) { return static_cast<uint8_t>(byte) >= 0xE0; };
        return std::any_of(entry.bytes.begin(), entry.bytes.end(), cut);  // END_OF_WORD included
    }
    static WordTable::Item item(const Entry& entry, uint32_t flag = 0) {
        static const KeyMasks masks;
        return {masks.key_near_end(reinterpret_cast<const uint8_t*>(entry.bytes.data()), entry.bytes.size()), entry.id | flag};
    }

    std::vector<WordTable::Item> all_words() const {
        std::vector<WordTable::Item> items;
        items.reserve(reproduction_.reproduced.size());
        for (const auto& entry : reproduction_.reproduced)
            if (fits_key(entry) && !unknown_.is_part(entry.id) && (!ends_words_ || is_piece(entry))) items.push_back(item(entry));
        for (const auto& entry : reproduction_.whole_only)
            if (fits_key(entry)) items.push_back(item(entry, WHOLE_ONLY));
        return items;
    }
    std::vector<Entry> long_words() const {
        std::vector<Entry> entries;
        for (const auto& entry : reproduction_.whole_only)
            if (!fits_key(entry)) entries.push_back(entry);
        return entries;
    }

    UnknownCharacters unknown_;
    MergeTable merges_;
    Compatibility compatibility_;
    Reproduction reproduction_;
    Trie trie_;
    Matcher matcher_;
    Cuts cuts_;
    bool ends_words_, whole_words_matter_;
    WordTable words_;
    LongWordTable long_words_;
    WordCache cache_;
    LongWordCache long_cache_;
    WindowEncoder window_encoder_;
    std::optional<CharacterRuns> character_runs_;
    size_t longest_whole_ = 0, longest_entry_ = 0;
};

}  // namespace lopt
