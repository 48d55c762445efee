// Pre-tokens to ids, a window at a time: one probe for most words, a cache for known ones, BPE for new ones.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "cuts.hpp"
#include "id_buffer.hpp"
#include "matcher.hpp"
#include "short_words.hpp"
#include "words.hpp"

namespace lopt {

// Pre-tokens that are resolved together: enough for several new words to be among them.
inline constexpr uint32_t WINDOW = 1024;
// Pre-tokens that are looked up together: enough for their cache misses to overlap, few enough for their slots to stay
// in the L1 cache.
inline constexpr uint32_t BLOCK = 256;

// Boundaries of up to WINDOW consecutive pieces of text, and the working space to resolve them.
// Piece k is [base + bounds[k], base + bounds[k + 1]): a pre-token, or a part of one that was cut.
struct Window {
    static constexpr uint32_t ROOM = WINDOW + 80;  // a scan step may add 64 bounds to a window that is nearly full

    const uint8_t* base = nullptr;
    uint32_t count = 0;
    // For each id, memory that the caller will read when it has all ids; asked for while they are found. May be null.
    const void* const* read_later = nullptr;
    uint32_t bounds[ROOM + 8];
    struct Parts {
        uint32_t first, last;  // pieces of one pre-token
    };
    std::vector<Parts> parts;

    // A piece that the first slots of the table of entries do not hold.
    struct Miss {
        WordKey key;
        uint64_t hash;
        uint32_t piece;
        bool more;  // it may stand in a later slot
    };
    uint32_t ids[ROOM + 8];
    Miss misses[ROOM + 1];
    ShortWords::Word words[ROOM];         // short misses that are new
    const ShortWords::Word* known[ROOM];  // for each miss its word, or null
    // A new word that comes again in the same window is encoded once: misses by their hash.
    std::array<uint16_t, 256> recent;

    void start(const uint8_t* at) {
        base = at;
        count = 0;
        bounds[0] = 0;
        parts.clear();
    }
    bool full() const { return count >= WINDOW; }
    void add(const uint8_t* end) { bounds[++count] = static_cast<uint32_t>(end - base); }
    bool is_whole(uint32_t piece) const {
        const auto later = std::upper_bound(parts.begin(), parts.end(), piece, [](uint32_t k, const Parts& p) { return k < p.first; });
        return later == parts.begin() || piece > later[-1].last;
    }
    uint32_t length(uint32_t piece) const { return bounds[piece + 1] - bounds[piece]; }
    const uint8_t* begin(uint32_t piece) const { return base + bounds[piece]; }
    const uint8_t* end() const { return base + bounds[count]; }
};

class WordEncoder {
  public:
    WordEncoder(const WordTable& words, const LongWordTable& long_words, const MergeTable& merges, const Matcher& matcher, WordCache& cache)
        : words_(words), long_words_(long_words), merges_(merges), short_words_(merges), matcher_(matcher), cache_(cache) {}

    // Appends the ids of the window's pieces. Bytes up to `readable_end` may be read.
    void resolve(Window& window, const uint8_t* readable_end, IdBuffer& out) const {
        const bool near_end = readable_end - window.end() < static_cast<ptrdiff_t>(LONGEST_KEY);
        const uint32_t missing = near_end ? probe<true>(window) : probe<false>(window);
        look_ahead(window, missing);
        emit(window, missing, out);
    }

  private:
    template <bool NEAR_END>
    WordKey key_of(const Window& window, uint32_t piece) const {
        return NEAR_END ? masks_.key_near_end(window.begin(piece), window.length(piece))
                        : masks_.key(window.begin(piece), window.length(piece));
    }

    // Looks all pieces up in the first slots of the table; gathers those that are not there and returns their number.
    template <bool NEAR_END>
    uint32_t probe(Window& window) const {
        uint32_t missing = 0;
        for (uint32_t first = 0; first < window.count; first += BLOCK)
            missing = probe_block<NEAR_END>(window, first, std::min(first + BLOCK, window.count), missing);
        return missing;
    }
    // The same for pieces [first, last), with `missing` gathered so far. All slots are asked for before one is read.
    template <bool NEAR_END>
    uint32_t probe_block(Window& window, uint32_t first, uint32_t last, uint32_t missing) const {
        WordKey keys[BLOCK];
        for (uint32_t k = first; k < last; k++) {
            const WordKey key = key_of<NEAR_END>(window, k);
            keys[k - first] = key;
            window.ids[k] = words_.prefetch(key);
        }
        uint32_t elsewhere[BLOCK + 1], count = 0;
        for (uint32_t k = first; k < last; k++) {
            const uint32_t id = words_.find_first(keys[k - first], window.ids[k]);
            window.ids[k] = id;
            elsewhere[count] = k;
            count += id >= WHOLE_ONLY;
        }
        for (uint32_t m = 0; m < count; m++) {
            const uint32_t k = elsewhere[m];
            const WordKey key = keys[k - first];
            const uint64_t hash = key.hash();
            bool more;
            const uint32_t id = words_.find_second(key, hash, more);
            cache_.prefetch(hash);
            window.ids[k] = id;
            window.misses[missing] = {key, hash, k, more};
            missing += id >= WHOLE_ONLY;
        }
        return missing;
    }

    // Encodes the short words that neither table nor cache holds.
    void look_ahead(Window& window, uint32_t missing) const {
        size_t count = 0;
        window.recent.fill(0);
        for (uint32_t m = 0; m < missing; m++) {
            const Window::Miss& miss = window.misses[m];
            window.known[m] = nullptr;
            if (miss.more || !may_merge(window, miss) || cache_.holds(miss.key, miss.hash)) continue;
            uint16_t& recent = window.recent[miss.hash >> 56];
            if (recent < m && window.known[recent] && window.misses[recent].key == miss.key) {
                window.known[m] = window.known[recent];
                continue;
            }
            recent = static_cast<uint16_t>(m);
            ShortWords::Word& word = window.words[count++];
            word.p = window.begin(miss.piece);
            word.length = window.length(miss.piece);
            window.known[m] = &word;
        }
        short_words_.encode(window.words, count);
    }
    // From its bytes a short word takes few merges; of characters of three bytes, matching takes fewer steps.
    bool may_merge(const Window& window, const Window::Miss& miss) const {
        const uint8_t* p = window.begin(miss.piece);
        const uint32_t length = window.length(miss.piece);
        const bool by_characters = p[0] >= 0xE0 || (length > 1 && p[1] >= 0xE0);
        return length <= ShortWords::LONGEST && !by_characters && matcher_.knows_all_bytes();
    }

    void emit(const Window& window, uint32_t missing, IdBuffer& out) const {
        uint32_t* const begin = out.reserve(window.bounds[window.count] + 16);
        uint32_t* o = begin;
        uint32_t piece = 0;
        for (uint32_t m = 0; m <= missing; m++) {
            const uint32_t stop = m < missing ? window.misses[m].piece : window.count;
            for (uint32_t n = 0; n < stop - piece; n += 8) std::memcpy(o + n, window.ids + piece + n, 32);  // may copy too much
            o += stop - piece;
            piece = stop + 1;
            if (m < missing) o = encode(window, window.misses[m], window.known[m], o);
        }
        out.set_end(o);
        if (window.read_later)
            for (const uint32_t* id = begin; id < o; id++) __builtin_prefetch(window.read_later[*id], 1);
    }

    // Ids of one piece, written to o, which has room for one a byte and for WordCache::MAX_IDS; returns their end.
    uint32_t* encode(const Window& window, const Window::Miss& miss, const ShortWords::Word* known, uint32_t* o) const {
        const uint8_t* p = window.begin(miss.piece);
        const uint32_t length = window.length(miss.piece);
        if (length > LONGEST_KEY) {
            const uint32_t id = window.is_whole(miss.piece) ? long_words_.find(p, length) : NONE;
            if (id != NONE) return *o = id, o + 1;
            return matcher_.encode(p, length, o);
        }
        const uint32_t first = window.ids[miss.piece];
        const uint32_t id = miss.more ? words_.find(miss.key, miss.hash) : first;
        if (id < WHOLE_ONLY) return *o = id, o + 1;
        if (id != NONE && window.is_whole(miss.piece)) return *o = id & ~WHOLE_ONLY, o + 1;
        if (uint32_t* const stop = matcher_.unknown_character(p, length, o)) return stop;
        const size_t cached = known ? 0 : cache_.find(miss.key, miss.hash, o);
        if (cached) return o + cached;
        uint32_t* end = o;
        if (known) end = std::copy_n(known->ids.data(), known->count, o);
        else if (may_merge(window, miss)) end += merge_few(merges_, p, length, o);
        else end = matcher_.encode(p, length, o);
        end = matcher_.with_unknown(o, end);
        cache_.insert(miss.key, miss.hash, o, static_cast<size_t>(end - o));
        return end;
    }

    const WordTable& words_;
    const LongWordTable& long_words_;
    const MergeTable& merges_;
    ShortWords short_words_;
    const Matcher& matcher_;
    WordCache& cache_;
    KeyMasks masks_;
};

}  // namespace lopt
