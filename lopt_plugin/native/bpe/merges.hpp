// The merge table, and BPE by merge rank: the reference algorithm, also used for words that the matcher does not handle.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "bpe/vocabulary.hpp"

namespace lopt {

class MergeTable {
  public:
    MergeTable(const Vocabulary& vocabulary, const std::vector<Merge>& merges)
        : slots_(FIRST + std::bit_ceil(merges.size() + merges.size() / 2 + 2), EMPTY), slot_shift_(shift_to_index(slots_.size() - FIRST)),
          filter_(std::min(std::bit_ceil(12 * merges.size() + 64), MOST_FILTER_BITS) / 64, 0), filter_shift_(shift_to_index(filter_.size() * 64)),
          rank_to_id_(merges.size()), byte_pair_rank_(1 << 16, NO_RANK) {
        if (merges.size() > MAX_MERGES) throw std::invalid_argument("more than 2^24 - 1 merges");
        std::vector<int> byte_of(vocabulary.max_id() + 1, -1);
        for (int byte = 0; byte < 256; byte++) {
            byte_id_[byte] = vocabulary.byte_id(static_cast<uint8_t>(byte));
            if (byte_id_[byte] != NONE) byte_of[byte_id_[byte]] = byte;
        }
        for (uint32_t rank = 0; rank < merges.size(); rank++) {
            const auto [left, right, product] = merges[rank];
            rank_to_id_[rank] = product;
            insert(key_of(left, right), rank);
            if (byte_of[left] >= 0 && byte_of[right] >= 0) byte_pair_rank_[static_cast<size_t>(byte_of[left]) << 8 | static_cast<size_t>(byte_of[right])] = rank;
        }
    }

    // The ids of each merge by rank. A merge whose pair comes again later never happens, and has NONE.
    std::vector<std::pair<uint32_t, uint32_t>> pairs() const {
        std::vector<std::pair<uint32_t, uint32_t>> found(rank_to_id_.size(), {NONE, NONE});
        for (size_t i = 0; i < slots_.size(); i++)
            if (slots_[i] != EMPTY) found[slots_[i] & MAX_MERGES] = {static_cast<uint32_t>(slots_[i] >> 44), static_cast<uint32_t>(slots_[i] >> RANK_BITS & NO_ID)};
        return found;
    }

    // Higher than every rank.
    static constexpr uint32_t NO_RANK = MAX_MERGES + 1;
    // An id that no token has. A pair of two NO_IDs would look like an empty slot, but such a pair is never looked up.
    static constexpr uint32_t NO_ID = MAX_ID + 1;
    // A lookup in three steps, each of which prefetches the memory that the next one reads: `ask`, `filter`, `rank`.
    struct Question {
        uint64_t key;
        uint64_t place;  // the key's hash; from `filter` on the slot, or NOTHING_HERE if the filter has ruled the merge out
    };
    Question ask(uint32_t left, uint32_t right) const {
        const uint64_t key = key_of(left, right);
        __builtin_prefetch(&filter_[hash(key) >> filter_shift_ >> 6]);
        return {key, hash(key)};
    }
    void filter(Question& question) const {
        const uint64_t bit = question.place >> filter_shift_, perhaps = filter_[bit >> 6] >> (bit & 63) & 1;
        question.place = first_of_two(question.place) & (0 - perhaps);
        __builtin_prefetch(&slots_[question.place]);
    }
    // What `filter` makes of a question about a merge that does not exist.
    static Question no_question() { return {key_of(0, 0), NOTHING_HERE}; }
    // The rank, or NO_RANK if there is no such merge. Compiles without a branch on whether there is one and in which of the two
    // slots, because both are hard to predict.
    uint32_t rank(const Question& question) const {
        const uint64_t one = slots_[question.place], other = slots_[question.place + 1];
        const uint64_t rank = std::min(one ^ question.key, other ^ question.key);
        // Are there both a difference in the key and another entry? A conjunction would become two branches.
        if (std::min(rank >> RANK_BITS, other - EMPTY) != 0) [[unlikely]] return rank_farther(question);
        return static_cast<uint32_t>(std::min<uint64_t>(rank, NO_RANK));
    }
    uint32_t rank(uint32_t left, uint32_t right) const {
        Question question = ask(left, right);
        filter(question);
        return rank(question);
    }
    // Without a branch on whether there is a merge: for NO_RANK, prefetches the first product.
    void prefetch_product(uint32_t rank) const { __builtin_prefetch(rank_to_id_.data() + (rank & ((rank >> RANK_BITS) - 1))); }
    uint32_t byte_pair_rank(uint8_t left, uint8_t right) const { return byte_pair_rank_[static_cast<size_t>(left) << 8 | right]; }
    uint32_t byte_id(uint8_t byte) const { return byte_id_[byte]; }
    uint32_t product(uint32_t rank) const { return rank_to_id_[rank]; }
    size_t bytes() const { return slots_.bytes() + filter_.bytes() + rank_to_id_.size() * 4 + byte_pair_rank_.size() * 4; }

  private:
    static constexpr uint64_t EMPTY = ~uint64_t{0};
    // A filter that fits in the caches is faster than a larger one with fewer false positives.
    static constexpr size_t MOST_FILTER_BITS = size_t{1} << 21;
    static constexpr unsigned RANK_BITS = 24;
    static_assert(MAX_MERGES < size_t{1} << RANK_BITS);
    // The first two slots are always empty.
    static constexpr size_t NOTHING_HERE = 0, FIRST = 2;

    // What a slot holds above the rank.
    static uint64_t key_of(uint32_t left, uint32_t right) { return (static_cast<uint64_t>(left) << 20 | right) << RANK_BITS; }
    // Only the high bits are well mixed.
    static uint64_t hash(uint64_t key) { return key * HASH_A; }
    // A lookup starts with the two slots of a pair.
    size_t first_of_two(uint64_t hash) const { return (hash >> slot_shift_ & ~size_t{1}) + FIRST; }
    // The slot that holds the key, or the first empty one, from `at` on.
    size_t find(uint64_t key, size_t at) const {
        for (;; at++) {
            if (at == slots_.size()) at = FIRST;
            if (slots_[at] == EMPTY || (slots_[at] ^ key) >> RANK_BITS == 0) return at;
        }
    }
    uint32_t rank_farther(const Question& question) const {
        const uint64_t slot = slots_[find(question.key, question.place + 2)];
        return slot == EMPTY ? NO_RANK : static_cast<uint32_t>(slot ^ question.key);
    }
    void insert(uint64_t key, uint32_t rank) {
        slots_[find(key, first_of_two(hash(key)))] = key | rank;  // a repeated pair keeps its last rank, as in Hugging Face's map
        const uint64_t bit = hash(key) >> filter_shift_;
        filter_[bit >> 6] |= uint64_t{1} << (bit & 63);
    }

    Table<uint64_t> slots_;
    unsigned slot_shift_;
    Table<uint64_t> filter_;
    unsigned filter_shift_;
    std::vector<uint32_t> rank_to_id_;
    std::vector<uint32_t> byte_pair_rank_;
    std::array<uint32_t, 256> byte_id_{};
};

// How merges made a word: its last merge, and whether any merge had a lower rank than an earlier one.
struct Derivation {
    uint32_t last_rank = NONE, left = 0, right = 0;
    bool ranks_fell = false;
};

inline constexpr size_t SHORT_WORD = 64;  // up to this length, the quadratic scan beats the heap

// Lowest rank first, leftmost first, by scanning all ranks for each merge. `ids` and `ranks` hold n elements.
inline size_t merge_by_scan(const MergeTable& merges, const uint8_t* p, size_t n, uint32_t* ids, uint32_t* ranks,
                            Derivation* derivation = nullptr) {
    for (size_t i = 0; i < n; i++) {
        ids[i] = merges.byte_id(p[i]);
        ranks[i] = i + 1 < n ? merges.byte_pair_rank(p[i], p[i + 1]) : MergeTable::NO_RANK;
    }
    uint32_t previous = 0;
    while (n > 1) {
        const uint32_t* least = std::min_element(ranks, ranks + n - 1);
        const uint32_t best = *least;
        if (best == MergeTable::NO_RANK) break;
        const size_t at = static_cast<size_t>(least - ranks);
        if (derivation) {
            derivation->last_rank = best;
            derivation->left = ids[at];
            derivation->right = ids[at + 1];
            derivation->ranks_fell |= best < previous;
            previous = best;
        }
        ids[at] = merges.product(best);
        n--;
        std::copy(ids + at + 2, ids + n + 1, ids + at + 1);
        std::copy(ranks + at + 1, ranks + n + 1, ranks + at);
        ranks[at] = at + 1 < n ? merges.rank(ids[at], ids[at + 1]) : MergeTable::NO_RANK;
        if (at) ranks[at - 1] = merges.rank(ids[at - 1], ids[at]);
    }
    return n;
}

// The same result with a heap of candidate merges, in O(n log n).
inline size_t merge_by_heap(const MergeTable& merges, const uint8_t* p, size_t n, uint32_t* out) {
    constexpr uint32_t END = NONE;
    std::vector<uint32_t> ids(n), ranks(n), previous(n), next(n);
    std::vector<uint64_t> heap;
    heap.reserve(n);
    const auto later = std::greater<uint64_t>();
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = merges.byte_id(p[i]);
        previous[i] = i ? i - 1 : END;
        next[i] = i + 1 < n ? i + 1 : END;
        ranks[i] = i + 1 < n ? merges.byte_pair_rank(p[i], p[i + 1]) : MergeTable::NO_RANK;
        if (ranks[i] != MergeTable::NO_RANK) heap.push_back(static_cast<uint64_t>(ranks[i]) << 32 | i);
    }
    std::make_heap(heap.begin(), heap.end(), later);
    const auto reconsider = [&](uint32_t i) {
        ranks[i] = next[i] == END ? MergeTable::NO_RANK : merges.rank(ids[i], ids[next[i]]);
        if (ranks[i] == MergeTable::NO_RANK) return;
        heap.push_back(static_cast<uint64_t>(ranks[i]) << 32 | i);
        std::push_heap(heap.begin(), heap.end(), later);
    };
    while (!heap.empty()) {
        const uint64_t top = heap.front();
        std::pop_heap(heap.begin(), heap.end(), later);
        heap.pop_back();
        const uint32_t i = static_cast<uint32_t>(top), rank = static_cast<uint32_t>(top >> 32);
        if (ranks[i] != rank) continue;  // the pair has changed in the meantime
        const uint32_t gone = next[i];
        ids[i] = merges.product(rank);
        ranks[gone] = MergeTable::NO_RANK;
        next[i] = next[gone];
        if (next[gone] != END) previous[next[gone]] = i;
        reconsider(i);
        if (previous[i] != END) reconsider(previous[i]);
    }
    size_t count = 0;
    for (uint32_t i = 0; i != END; i = next[i]) out[count++] = ids[i];
    return count;
}

// BPE of one word by merge rank. `out` needs room for n ids.
inline size_t merge_by_rank(const MergeTable& merges, const uint8_t* p, size_t n, uint32_t* out) {
    if (n == 0) return 0;
    if (n > SHORT_WORD) return merge_by_heap(merges, p, n, out);
    uint32_t ids[SHORT_WORD], ranks[SHORT_WORD];
    const size_t count = merge_by_scan(merges, p, n, ids, ranks);
    std::copy(ids, ids + count, out);
    return count;
}

}  // namespace lopt
