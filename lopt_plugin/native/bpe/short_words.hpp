// BPE of many short new words in parallel lanes, so that their cache misses overlap.
//
// A new word touches memory that no earlier word has touched, and waits for each access. Here each word makes one merge
// per turn: it prefetches the memory that its next merge needs, then lets the other words go on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "bpe/merges.hpp"

namespace lopt {

// For words of at most MOST bytes; MOST is a power of two.
template <size_t MOST>
class ShortWords {
  public:
    static constexpr size_t LONGEST = MOST;

    struct Word {
        const uint8_t* p;
        uint32_t length;  // 1 to LONGEST
        uint32_t count;   // set by `encode`, like the ids
        std::array<uint32_t, LONGEST> ids;
    };

    explicit ShortWords(const MergeTable& merges) : merges_(merges) {}

    // Applies the merges of merge_by_rank, in the same order within each word.
    void encode(Word* words, size_t count) const {
        for (size_t begun = 0; begun < count; begun += LANES) encode_some(words + begun, std::min(count - begun, LANES));
    }

  private:
    static constexpr size_t LANES = 16;
    static constexpr size_t FEW = 4;  // tokens of most words
    static constexpr unsigned PLACE_BITS = std::bit_width(LONGEST - 1);
    static constexpr int32_t NEVER = static_cast<int32_t>(MergeTable::NO_RANK << PLACE_BITS);  // or more: no merge
    static constexpr size_t NOWHERE = LONGEST;  // the position before the first token and after the last one; nothing merges with it
    static_assert(LONGEST == size_t{1} << PLACE_BITS);

    // A token keeps the position of its first byte.
    struct Lane {
        Word* word;
        // The merge of each token with its right neighbour, as rank << PLACE_BITS | position, so that the minimum is the
        // leftmost merge of the lowest rank. NEVER while the lookup is pending.
        alignas(16) std::array<int32_t, LONGEST + 1> candidates;
        std::array<uint32_t, LONGEST + 1> ids;
        std::array<uint8_t, LONGEST + 1> next, previous;
        uint32_t count;  // of its tokens
        // The token that the last merge made, and the token before it.
        uint8_t place, before;
        MergeTable::Question here, there;
    };

    // Has no branch on whether there is a merge, which is hard to predict.
    int32_t candidate(uint32_t rank, size_t place) const {
        merges_.prefetch_product(rank);
        return static_cast<int32_t>(rank << PLACE_BITS | static_cast<uint32_t>(place));
    }
    static int32_t least(const std::array<int32_t, LONGEST + 1>& candidates) {
        using Four [[gnu::vector_size(16)]] = int32_t;
        const auto four = [&candidates](size_t i) {
            Four values;
            std::memcpy(&values, &candidates[i], sizeof values);
            return values;
        };
        const auto lower = [](Four a, Four b) { return a < b ? a : b; };
        Four all = lower(lower(four(0), four(4)), lower(four(8), four(12)));
        for (size_t i = 16; i < LONGEST; i += 8) all = lower(all, lower(four(i), four(i + 4)));
        return std::min(std::min(all[0], all[1]), std::min(all[2], all[3]));
    }

    void encode_some(Word* words, size_t count) const {
        std::array<Lane, LANES> lanes;
        std::array<Lane*, LANES> active;
        for (size_t w = 0; w < count; w++) {
            begin(lanes[w], words[w]);
            active[w] = &lanes[w];
        }
        while (count) {
            size_t left = 0;
            for (size_t k = 0; k < count; k++) {
                active[left] = active[k];
                left += merge_once(*active[k]);
            }
            count = left;
            for (size_t k = 0; k < count; k++) {
                merges_.filter(active[k]->here);
                merges_.filter(active[k]->there);
            }
        }
    }

    void begin(Lane& lane, Word& word) const {
        const size_t length = word.length;
        lane.word = &word;
        lane.candidates.fill(NEVER);
        for (size_t i = 0; i <= LONGEST; i++) {
            lane.next[i] = static_cast<uint8_t>(i + 1);
            lane.previous[i] = static_cast<uint8_t>(i - 1);
        }
        lane.next[length - 1] = lane.previous[0] = lane.next[NOWHERE] = NOWHERE;
        lane.ids[NOWHERE] = MergeTable::NO_ID;
        lane.ids[0] = merges_.byte_id(word.p[0]);
        for (size_t i = 1; i < length; i++) {
            lane.ids[i] = merges_.byte_id(word.p[i]);
            lane.candidates[i - 1] = candidate(merges_.byte_pair_rank(word.p[i - 1], word.p[i]), i - 1);
        }
        lane.count = word.length;
        lane.place = lane.before = NOWHERE;
        lane.here = lane.there = MergeTable::no_question();
    }

    // Applies one merge; returns false if there is none left.
    bool merge_once(Lane& lane) const {
        // Comes before the stores, because a vector load would have to wait for them.
        const int32_t known = least(lane.candidates);
        const int32_t here = candidate(merges_.rank(lane.here), lane.place), there = candidate(merges_.rank(lane.there), lane.before);
        lane.candidates[lane.place] = here;
        lane.candidates[lane.before] = there;
        const int32_t best = std::min(known, std::min(here, there));
        if (best >= NEVER) {
            finish(lane);
            return false;
        }
        const size_t place = static_cast<size_t>(best) & (LONGEST - 1), gone = lane.next[place], after = lane.next[gone], before = lane.previous[place];
        const uint32_t id = merges_.product(static_cast<uint32_t>(best) >> PLACE_BITS);
        lane.ids[place] = id;
        lane.candidates[gone] = lane.candidates[place] = lane.candidates[before] = NEVER;
        lane.next[place] = static_cast<uint8_t>(after);
        lane.previous[after] = static_cast<uint8_t>(place);
        lane.place = static_cast<uint8_t>(place);
        lane.before = static_cast<uint8_t>(before);
        lane.count--;
        lane.here = merges_.ask(id, lane.ids[after]);
        lane.there = merges_.ask(lane.ids[before], id);
        return true;
    }
    static void finish(const Lane& lane) {
        uint32_t* const ids = lane.word->ids.data();
        size_t i = 0;
        const auto copy = [&](size_t from, size_t to) {
            for (size_t k = from; k < to; k++, i = lane.next[i]) ids[k] = lane.ids[i];
        };
        copy(0, FEW);  // a fixed number, because the exact one is hard to predict; NOWHERE follows itself
        if (lane.count > FEW) copy(FEW, lane.count);
        lane.word->count = lane.count;
    }

    const MergeTable& merges_;
};

}  // namespace lopt
