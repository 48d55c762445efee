// Maps whole words to ids with read-only tables of vocabulary entries.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "base/table.hpp"
#include "bpe/vocabulary.hpp"

namespace lopt {

inline constexpr size_t LONGEST_KEY = 16;
// Flag on an id: the entry matches a whole pre-token (`ignore_merges`), but BPE does not reproduce it from its bytes.
inline constexpr uint32_t WHOLE_ONLY = 1u << 31;

// A word of up to 16 bytes, padded with 0xFF, a byte that never occurs in valid UTF-8: the key alone identifies the word.
struct WordKey {
    uint64_t low, high;
    bool operator==(const WordKey&) const = default;
    bool is_character() const {
        const auto lead = static_cast<uint8_t>(low);
        const int bytes = character_bytes(lead);
        return high == ~uint64_t{0} && (lead < 0x80 || lead >= 0xC0) && low >> (8 * bytes) == ~uint64_t{0} >> (8 * bytes);
    }
    bool is_ascii_character() const { return is_character() && (low & 0xFF) < 0x80; }
    uint64_t hash() const { return hash_words(low, high); }
};

class KeyMasks {
  public:
    KeyMasks() {
        for (size_t n = 0; n <= LONGEST_KEY + 1; n++) {
            low_[n] = n >= 8 ? 0 : ~uint64_t{0} << (8 * n);
            high_[n] = n >= 16 ? 0 : n <= 8 ? ~uint64_t{0} : ~uint64_t{0} << (8 * (n - 8));
        }
        low_[LONGEST_KEY + 1] = high_[LONGEST_KEY + 1] = ~uint64_t{0};  // for longer words: a key that no word has
    }
    // 16 bytes at p are readable.
    WordKey key(const uint8_t* p, size_t length) const {
        const size_t n = length <= LONGEST_KEY ? length : LONGEST_KEY + 1;
        return {load64(p) | low_[n], load64(p + 8) | high_[n]};
    }
    WordKey key_near_end(const uint8_t* p, size_t length) const {
        uint8_t copy[16] = {};
        std::memcpy(copy, p, length < sizeof copy ? length : sizeof copy);
        return key(copy, length);
    }

  private:
    std::array<uint64_t, LONGEST_KEY + 2> low_, high_;
};

// The first piece at which fewer bytes than the longest key has are readable; the number of pieces if there is none. Only
// the last few are ever so, and reading them takes several times as long.
template <class Pieces>
uint32_t first_near_end(const Pieces& pieces, const uint8_t* readable_end) {
    uint32_t first = pieces.count;
    while (first > 0 && readable_end - pieces.begin(first - 1) < static_cast<ptrdiff_t>(LONGEST_KEY)) first--;
    return first;
}

// Vocabulary entries by key.
class WordTable {
  public:
    struct Item {
        WordKey key;
        uint32_t id;
    };

    // A key that no text has. It is always found in its first slot, with the id 0.
    static constexpr WordKey NO_WORD{~uint64_t{0} - 1, ~uint64_t{0}};

    // Inserts frequent words first, so that they get their first slots.
    explicit WordTable(std::vector<Item> items) {
        sort_by_frequency(items);
        // Where a third of the slots is taken, fewer words miss their first slots than at a half. Beyond 16 MB, memory counts more.
        const size_t half = std::bit_ceil(2 * items.size() + 2), third = std::bit_ceil(3 * items.size() + 2);
        slots_.assign(std::max(half, std::min(third, MOST_SPARSE)), {{~uint64_t{0}, ~uint64_t{0}}, NONE});
        shift_ = shift_to_index(slots_.size());
        slots_[first(NO_WORD.hash())] = {NO_WORD, 0};
        for (const auto& item : items) {
            const size_t home = first(item.key.hash());
            size_t at = home;
            for (size_t tries = 1; slots_[at].id != NONE; tries++) at = place_after(home, tries);
            slots_[at] = {item.key, item.id};
        }
    }

    // Prefetches and returns the position where the search for a word begins.
    uint32_t prefetch(const WordKey& key) const {
        const size_t place = first(key.hash());
        __builtin_prefetch(&slots_[place]);
        return static_cast<uint32_t>(place);
    }
    // The id if the first slot contains the word; NONE proves nothing. Without a branch, because where a word is found is
    // hard to predict.
    uint32_t find_first(const WordKey& key, uint32_t place) const {
        const Slot& slot = slots_[place];
        const uint64_t differs = (slot.key.low ^ key.low) | (slot.key.high ^ key.high);
        return slot.id | static_cast<uint32_t>(-static_cast<int32_t>(differs != 0));
    }
    // The id; NONE if the table does not contain the word.
    uint32_t find(const WordKey& key, uint64_t hash) const {
        const size_t home = first(hash);
        size_t at = home;
        for (size_t tries = 1;; tries++) {
            const Slot& slot = slots_[at];
            if (slot.key == key || slot.id == NONE) return slot.id;
            at = place_after(home, tries);
        }
    }
    // Looks all pieces up: at least those whose ids are WHOLE_ONLY or above (NONE included) are not in their first slots.
    // Writes the ids to `ids`. Calls known(keys, first, last) before the pieces [first, last) are read, which may give them
    // other keys, and elsewhere(k, key) for each piece that its first slot does not hold, in order. May read bytes up to
    // `readable_end`.
    template <class Pieces, class Known, class Elsewhere>
    [[gnu::always_inline]] void look_up(const Pieces& pieces, const uint8_t* readable_end, uint32_t* ids, Known&& known, Elsewhere&& elsewhere) const {
        const uint32_t all = pieces.count, all_near_end = first_near_end(pieces, readable_end);
        for (uint32_t first = 0; first < all; first += PROBE_BLOCK) {
            const uint32_t last = std::min(first + PROBE_BLOCK, all), near_end = std::clamp(all_near_end, first, last);
            WordKey keys[PROBE_BLOCK];
            const auto ask = [&](uint32_t k, const WordKey& key) {
                keys[k - first] = key;
                ids[k] = prefetch(key);
            };
            for (uint32_t k = first; k < near_end; k++) ask(k, masks_.key(pieces.begin(k), pieces.length(k)));
            for (uint32_t k = near_end; k < last; k++) ask(k, masks_.key_near_end(pieces.begin(k), pieces.length(k)));
            known(keys, first, last);
            uint32_t others[PROBE_BLOCK + 1], count = 0;
            for (uint32_t k = first; k < last; k++) {
                others[count] = k;
                count += (ids[k] = find_first(keys[k - first], ids[k])) >= WHOLE_ONLY;
            }
            for (uint32_t m = 0; m < count; m++) elsewhere(others[m], keys[others[m] - first]);
        }
    }
    size_t bytes() const { return slots_.bytes(); }

  private:
    // Number of pieces looked up together: enough for their cache misses to overlap, and few enough for their slots to stay in
    // the L1 cache.
    static constexpr uint32_t PROBE_BLOCK = 256;

    struct alignas(32) Slot {  // two of them in a cache line
        WordKey key;
        uint32_t id;
    };
    static constexpr size_t MOST_SPARSE = (size_t{16} << 20) / sizeof(Slot);

    // Low ids are frequent, both among merges and among characters, but SentencePiece numbers the characters last. For
    // such vocabularies merges and characters take turns, after the ASCII characters.
    static void sort_by_frequency(std::vector<Item>& items) {
        const auto before = [](const Item& a, const Item& b) { return (a.id & ~WHOLE_ONLY) < (b.id & ~WHOLE_ONLY); };
        const auto sorted_end = std::is_sorted_until(items.begin(), items.end(), before);
        std::sort(sorted_end, items.end(), before);
        std::inplace_merge(items.begin(), sorted_end, items.end(), before);
        const auto count_ascii = [](auto from, auto to) { return std::count_if(from, to, [](const Item& item) { return item.key.is_ascii_character(); }); };
        const auto middle = items.begin() + static_cast<ptrdiff_t>(items.size() / 2);
        if (count_ascii(middle, items.end()) <= count_ascii(items.begin(), middle)) return;
        std::vector<Item> sorted, characters, others;
        sorted.reserve(items.size());
        for (const Item& item : items) (item.key.is_ascii_character() ? sorted : item.key.is_character() ? characters : others).push_back(item);
        for (size_t k = 0; k < std::max(characters.size(), others.size()); k++) {
            if (k < others.size()) sorted.push_back(others[k]);
            if (k < characters.size()) sorted.push_back(characters[k]);
        }
        items.swap(sorted);
    }
    size_t first(uint64_t hash) const { return hash >> shift_; }
    // The search visits both slots of a cache line before it moves to the next line.
    size_t place_after(size_t home, size_t tries) const { return ((home + (tries & ~size_t{1})) & (slots_.size() - 1)) ^ (tries & 1); }

    KeyMasks masks_;
    Table<Slot> slots_;
    unsigned shift_ = 0;
};

// Entries of more than 16 bytes that only match whole pre-tokens. The matcher finds all other long entries.
class LongWordTable {
  public:
    explicit LongWordTable(const std::vector<Entry>& entries) : items_(copied(entries)), table_(items_) {}
    LongWordTable(const LongWordTable&) = delete;
    LongWordTable& operator=(const LongWordTable&) = delete;

    uint32_t find(const uint8_t* p, size_t length) const {
        const VocabularyItem* const found = length > longest_ ? nullptr : table_.find(std::string_view(reinterpret_cast<const char*>(p), length));
        return found ? found->id : NONE;
    }

  private:
    std::vector<VocabularyItem> copied(const std::vector<Entry>& entries) {
        std::vector<VocabularyItem> items;
        words_.reserve(entries.size());  // the items point into it
        for (const Entry& entry : entries) {
            items.push_back({words_.emplace_back(entry.bytes), entry.id});
            longest_ = std::max(longest_, entry.bytes.size());
        }
        return items;
    }

    size_t longest_ = 0;
    std::vector<std::string> words_;
    std::vector<VocabularyItem> items_;
    NameTable table_;
};

}  // namespace lopt
