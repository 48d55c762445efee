// Consecutive pieces of text that are encoded together, and the scratch memory for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bpe/short_words.hpp"
#include "bpe/vocabulary.hpp"
#include "bpe/words.hpp"

namespace lopt {

// Number of pre-tokens resolved together: enough to include several new words.
inline constexpr uint32_t WINDOW = 1024;

// Boundaries of up to WINDOW consecutive pieces of text, and the scratch memory to resolve them. Piece k is [base +
// bounds[k], base + bounds[k + 1]): a pre-token, or a part of one that was cut.
struct Window {
    static constexpr uint32_t ROOM = WINDOW + 80;  // a scan step may add 64 bounds to a nearly full window

    const uint8_t* base = nullptr;
    uint32_t count = 0;
    uint32_t bounds[ROOM + 8];
    struct Parts {
        uint32_t first, last;  // pieces of one pre-token
    };
    std::vector<Parts> parts;

    // A piece whose ids are already known when it is added. They are in `ready`, from `first` up to the next piece's
    // `first`.
    struct Resolved {
        uint32_t piece, first;
    };
    static constexpr uint32_t READY = 4096, READY_AT_ONCE = 256;
    uint32_t resolved_count = 0, ready_count = 0;
    Resolved resolved[ROOM + 1];

    // A piece that is not in the first slot of the entry table that it maps to.
    struct Miss {
        WordKey key;
        uint64_t hash;
        uint32_t piece;
        uint32_t count;  // of its ids in `found`, or UNBOUNDED, or MERGED
    };
    static constexpr uint32_t UNBOUNDED = NONE;     // a long piece whose ids are found when they are written out
    static constexpr uint32_t MERGED = 1u << 31;  // plus k: a long piece that was merged as `long_words[k]`
    // Ids are always copied in groups of this size, because the exact number is hard to predict.
    static constexpr uint32_t COPIED = 16;

    uint32_t ids[ROOM + COPIED];
    uint32_t ready[READY + READY_AT_ONCE + COPIED];
    Miss misses[ROOM + 1];
    uint32_t found[ROOM + 1][COPIED];  // ids of each miss
    uint32_t fresh[ROOM + 1];          // misses that are not in the cache
    ShortWords<LONGEST_KEY>::Word words[ROOM];             // fresh misses that are merged side by side
    const ShortWords<LONGEST_KEY>::Word* known[ROOM + 1];  // the word of each fresh miss, or null
    static constexpr uint32_t MOST_LONG_WORDS = 256, LONG_WORD = 32;
    ShortWords<LONG_WORD>::Word long_words[MOST_LONG_WORDS];
    // Fresh misses by hash: a new word that recurs in the same window is encoded once.
    std::array<uint16_t, 256> recent;

    void start(const uint8_t* at) {
        base = at;
        count = 0;
        bounds[0] = 0;
        parts.clear();
        resolved_count = ready_count = 0;
    }
    bool full() const { return (count >= WINDOW) | (ready_count >= READY); }
    // Space for READY_AT_ONCE ids of a resolved piece. Write the ids here, then call add_resolved with their end.
    uint32_t* ready_end() { return ready + ready_count; }
    void add_resolved(const uint8_t* end, const uint32_t* ids_end) {
        if (resolved_count && resolved[resolved_count - 1].piece + 1 == count) {
            bounds[count] = static_cast<uint32_t>(end - base);
        } else {
            resolved[resolved_count++] = {count, ready_count};
            add(end);
        }
        ready_count = static_cast<uint32_t>(ids_end - ready);
    }
    void add(const uint8_t* end) { bounds[++count] = static_cast<uint32_t>(end - base); }
    bool is_whole(uint32_t piece) const {
        const auto later = std::upper_bound(parts.begin(), parts.end(), piece, [](uint32_t k, const Parts& p) { return k < p.first; });
        return later == parts.begin() || piece > later[-1].last;
    }
    uint32_t length(uint32_t piece) const { return bounds[piece + 1] - bounds[piece]; }
    const uint8_t* begin(uint32_t piece) const { return base + bounds[piece]; }
    const uint8_t* end() const { return base + bounds[count]; }
};

}  // namespace lopt
