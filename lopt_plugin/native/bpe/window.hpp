// Consecutive pieces of text that are encoded together, and the memory to do it in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bpe/short_words.hpp"
#include "bpe/vocabulary.hpp"
#include "bpe/words.hpp"

namespace lopt {

// Pre-tokens that are resolved together: enough for several new words to be among them.
inline constexpr uint32_t WINDOW = 1024;

// Boundaries of up to WINDOW consecutive pieces of text, and the working space to resolve them.
// Piece k is [base + bounds[k], base + bounds[k + 1]): a pre-token, or a part of one that was cut.
struct Window {
    static constexpr uint32_t ROOM = WINDOW + 80;  // a scan step may add 64 bounds to a window that is nearly full

    const uint8_t* base = nullptr;
    uint32_t count = 0;
    uint32_t bounds[ROOM + 8];
    struct Parts {
        uint32_t first, last;  // pieces of one pre-token
    };
    std::vector<Parts> parts;

    // A piece whose ids are known when it is added: they stand in `ready` from `first` on, up to those of the next one.
    struct Resolved {
        uint32_t piece, first;
    };
    static constexpr uint32_t READY = 4096, READY_AT_ONCE = 256;
    uint32_t resolved_count = 0, ready_count = 0;
    Resolved resolved[ROOM + 1];

    // A piece that the table of entries does not hold where it is looked for first.
    struct Miss {
        WordKey key;
        uint64_t hash;
        uint32_t piece;
        uint32_t count;  // of its ids in `found`, or UNBOUNDED
    };
    static constexpr uint32_t UNBOUNDED = NONE;     // a long piece: its ids are found as they are written out
    static constexpr uint32_t MERGED = 1u << 31;  // plus a number: a long piece that was merged, the word of that number
    // Ids are copied this many at a time, wanted or not: how many are wanted is hard to predict.
    static constexpr uint32_t COPIED = 16;

    uint32_t ids[ROOM + COPIED];
    uint32_t ready[READY + READY_AT_ONCE + COPIED];
    Miss misses[ROOM + 1];
    uint32_t found[ROOM + 1][COPIED];  // of each miss
    uint32_t fresh[ROOM + 1];          // the misses that the cache does not hold
    ShortWords<LONGEST_KEY>::Word words[ROOM];             // those of them that are merged side by side
    const ShortWords<LONGEST_KEY>::Word* known[ROOM + 1];  // for each fresh miss its word, or null
    static constexpr uint32_t MOST_LONG_WORDS = 64, LONG_WORD = 32;
    ShortWords<LONG_WORD>::Word long_words[MOST_LONG_WORDS];
    // A new word that comes again in the same window is encoded once: fresh misses by their hash.
    std::array<uint16_t, 256> recent;

    void start(const uint8_t* at) {
        base = at;
        count = 0;
        bounds[0] = 0;
        parts.clear();
        resolved_count = ready_count = 0;
    }
    bool full() const { return (count >= WINDOW) | (ready_count >= READY); }
    // Room for READY_AT_ONCE ids of a resolved piece; to be written, and then added with their end.
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
