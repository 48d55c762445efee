// BPE of many short new words side by side, so that their cache misses overlap.
//
// A word never seen before touches memory that no word before it has touched, and waits for each piece of it. Here each
// word makes one merge a turn: it asks for the memory that its next merge will need and gives way to the others.
#pragma once

#include <algorithm>
#include <array>

#include "bpe/merges.hpp"

namespace lopt {

class ShortWords {
  public:
    static constexpr size_t LONGEST = 16;

    struct Word {
        const uint8_t* p;
        uint32_t length;  // 1 to LONGEST
        uint32_t count;   // set by `encode`, as are the ids
        std::array<uint32_t, LONGEST> ids;
    };

    explicit ShortWords(const MergeTable& merges) : merges_(merges) {}

    // The merges are those of merge_by_rank, in the same order within each word.
    void encode(Word* words, size_t count) const {
        for (size_t begun = 0; begun < count; begun += LANES) encode_some(words + begun, std::min(count - begun, LANES));
    }

  private:
    static constexpr size_t LANES = 16;
    static constexpr uint64_t NEVER = ~uint64_t{0};
    static constexpr unsigned PLACE_BITS = 8;
    static constexpr uint8_t NOWHERE = LONGEST;

    struct Lane {
        Word* word;
        size_t length;
        // Nothing is moved: a token stays where its first byte was. A candidate is the rank of the merge with the token to the
        // right, above the place, so that one minimum finds the leftmost of the lowest.
        std::array<uint64_t, LONGEST> candidates;
        std::array<uint32_t, LONGEST> ids;
        std::array<uint8_t, LONGEST> next, previous;
        uint8_t asked_here, asked_before;  // places whose merge with the token to their right is being looked up
    };

    static uint64_t candidate(uint32_t rank, size_t place) {
        return rank == NONE ? NEVER : static_cast<uint64_t>(rank) << PLACE_BITS | place;
    }

    void encode_some(Word* words, size_t count) const {
        for (size_t w = 0; w < count; w++)
            for (size_t i = 0; i + 1 < words[w].length; i++) merges_.prefetch_bytes(words[w].p[i], words[w].p[i + 1]);
        std::array<Lane, LANES> lanes;
        std::array<uint8_t, LANES> active;
        for (size_t w = 0; w < count; w++) {
            begin(lanes[w], words[w]);
            active[w] = static_cast<uint8_t>(w);
        }
        while (count) {
            size_t left = 0;
            for (size_t k = 0; k < count; k++) {
                active[left] = active[k];
                left += merge_once(lanes[active[k]]);
            }
            count = left;
        }
    }

    void begin(Lane& lane, Word& word) const {
        lane.word = &word;
        lane.length = word.length;
        lane.asked_here = lane.asked_before = NOWHERE;
        for (size_t i = 0; i < lane.length && i < LONGEST; i++) {
            lane.ids[i] = merges_.byte_id(word.p[i]);
            lane.next[i] = static_cast<uint8_t>(i + 1);
            lane.previous[i] = static_cast<uint8_t>(i - 1);
            lane.candidates[i] = NEVER;
            if (i + 1 < lane.length) look_up(lane, i, merges_.byte_pair_rank(word.p[i], word.p[i + 1]));
        }
    }
    void look_up(Lane& lane, size_t place, uint32_t rank) const {
        lane.candidates[place] = candidate(rank, place);
        if (rank != NONE) merges_.prefetch_product(rank);
    }

    // One merge, or the end of the word: false then.
    bool merge_once(Lane& lane) const {
        for (const uint8_t place : {lane.asked_here, lane.asked_before})
            if (place != NOWHERE) look_up(lane, place, merges_.rank(lane.ids[place], lane.ids[lane.next[place]]));
        uint64_t best = NEVER;
        for (size_t i = 0; i < lane.length; i++) best = std::min(best, lane.candidates[i]);
        if (best == NEVER) {
            finish(lane);
            return false;
        }
        const size_t place = best & ((1u << PLACE_BITS) - 1), gone = lane.next[place], after = lane.next[gone];
        lane.ids[place] = merges_.product(static_cast<uint32_t>(best >> PLACE_BITS));
        lane.candidates[gone] = lane.candidates[place] = NEVER;
        lane.next[place] = static_cast<uint8_t>(after);
        lane.asked_here = lane.asked_before = NOWHERE;
        if (after < lane.length) {
            lane.previous[after] = static_cast<uint8_t>(place);
            lane.asked_here = static_cast<uint8_t>(place);
            merges_.prefetch(lane.ids[place], lane.ids[after]);
        }
        if (place > 0) {
            lane.asked_before = lane.previous[place];
            merges_.prefetch(lane.ids[lane.asked_before], lane.ids[place]);
        }
        return true;
    }
    static void finish(const Lane& lane) {
        uint32_t count = 0;
        for (size_t i = 0; i < lane.length; i = lane.next[i]) lane.word->ids[count++] = lane.ids[i];
        lane.word->count = count;
    }

    const MergeTable& merges_;
};

}  // namespace lopt
