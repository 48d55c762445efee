// Pre-tokens to ids, a window at a time: one probe for most words, and overlapping cache misses for the rest.
#pragma once

#include <algorithm>
#include <vector>

#include "cuts.hpp"
#include "id_buffer.hpp"
#include "matcher.hpp"
#include "words.hpp"

namespace lopt {

inline constexpr uint32_t WINDOW = 512;  // pre-tokens that are resolved together

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

    // A piece that is no entry.
    struct Miss {
        WordKey key;
        uint64_t hash;
        uint32_t piece;
    };
    uint32_t ids[ROOM + 8];
    uint32_t missing[ROOM + 8];
    Miss misses[ROOM];
    Matcher::Job jobs[ROOM];
    const Match* known[ROOM];
    std::vector<Match> matches = std::vector<Match>(ROOM * 65);

    void start(const uint8_t* at) {
        base = at;
        count = 0;
        bounds[0] = 0;
        parts.clear();
    }
    bool full() const { return count >= WINDOW; }
    void add(const uint8_t* end) { bounds[++count] = static_cast<uint32_t>(end - base); }
    // Without a branch: whether a place is a cut is hard to predict.
    void add_if(bool wanted, const uint8_t* end) {
        bounds[count + 1] = static_cast<uint32_t>(end - base);
        count += wanted;
    }
    bool is_whole(uint32_t piece) const {
        const auto later = std::upper_bound(parts.begin(), parts.end(), piece, [](uint32_t k, const Parts& p) { return k < p.first; });
        return later == parts.begin() || piece > later[-1].last;
    }
    const uint8_t* end() const { return base + bounds[count]; }
};

class WordEncoder {
  public:
    WordEncoder(const WordTable& words, const LongWordTable& long_words, const Matcher& matcher, WordCache& cache)
        : words_(words), long_words_(long_words), matcher_(matcher), cache_(cache) {}

    // Appends the ids of the window's pieces. Bytes up to `readable_end` may be read.
    void resolve(Window& window, const uint8_t* readable_end, IdBuffer& out) const {
        const bool near_end = readable_end - window.end() < 16;
        const uint32_t missing = near_end ? probe<true>(window) : probe<false>(window);
        look_ahead(window, missing);
        emit(window, missing, out);
    }

  private:
    template <bool NEAR_END>
    WordKey key_of(const uint8_t* p, uint32_t length) const {
        return NEAR_END ? masks_.key_near_end(p, length) : masks_.key(p, length);
    }

    // Looks all pieces up in the table of entries, asking for all its slots first; returns how many it does not hold.
    template <bool NEAR_END>
    uint32_t probe(Window& window) const {
        for (uint32_t k = 0; k < window.count; k++) {
            const uint32_t length = window.bounds[k + 1] - window.bounds[k];
            window.ids[k] = words_.prefetch(key_of<NEAR_END>(window.base + window.bounds[k], length).hash(), length <= 8);
        }
        uint32_t missing = 0;
        for (uint32_t k = 0; k < window.count; k++) {
            const uint32_t length = window.bounds[k + 1] - window.bounds[k];
            const uint32_t id = words_.find_first(key_of<NEAR_END>(window.base + window.bounds[k], length), window.ids[k], length <= 8);
            window.ids[k] = id;
            window.missing[missing] = k;
            missing += id >= WHOLE_ONLY;
        }
        uint32_t left = 0;
        for (uint32_t m = 0; m < missing; m++) {
            const uint32_t k = window.missing[m], length = window.bounds[k + 1] - window.bounds[k];
            const WordKey key = key_of<NEAR_END>(window.base + window.bounds[k], length);
            const uint64_t hash = key.hash();
            uint32_t id = words_.find(key, hash, length <= 8);
            if (id != NONE && id & WHOLE_ONLY) id = window.is_whole(k) ? id & ~WHOLE_ONLY : NONE;
            window.ids[k] = id;
            cache_.prefetch(hash);
            window.misses[left] = {key, hash, k};
            left += id == NONE;
        }
        return left;
    }

    // Matches the words that neither table nor cache holds, many at a time.
    void look_ahead(Window& window, uint32_t missing) const {
        size_t jobs = 0;
        Match* room = window.matches.data();
        for (uint32_t m = 0; m < missing; m++) {
            const Window::Miss& miss = window.misses[m];
            const uint8_t* p = window.base + window.bounds[miss.piece];
            const uint32_t length = window.bounds[miss.piece + 1] - window.bounds[miss.piece];
            window.known[m] = &NO_MATCHES;
            const bool by_characters = p[0] >= 0xE0 || (length > 1 && p[1] >= 0xE0);
            if (length > 64 || by_characters || !matcher_.usable()) continue;
            if (length <= LONGEST_KEY && cache_.holds(miss.key, miss.hash)) continue;
            window.known[m] = room;
            window.jobs[jobs++] = {p, length, room};
            room += length + 1;
        }
        if (jobs) matcher_.walk_ahead(window.jobs, jobs);
    }

    void emit(const Window& window, uint32_t missing, IdBuffer& out) const {
        uint32_t* o = out.reserve(window.bounds[window.count] + window.count + 16);
        uint32_t piece = 0;
        for (uint32_t m = 0; m <= missing; m++) {
            const uint32_t stop = m < missing ? window.misses[m].piece : window.count;
            for (uint32_t n = 0; n < stop - piece; n += 8) std::memcpy(o + n, window.ids + piece + n, 32);  // may copy too much
            o += stop - piece;
            piece = stop + 1;
            if (m < missing) o = encode_unknown(window, window.misses[m], window.known[m], o);
        }
        out.set_end(o);
    }

    uint32_t* encode_unknown(const Window& window, const Window::Miss& miss, const Match* known, uint32_t* o) const {
        const uint8_t* p = window.base + window.bounds[miss.piece];
        const uint32_t length = window.bounds[miss.piece + 1] - window.bounds[miss.piece];
        if (length > LONGEST_KEY) {
            if (window.is_whole(miss.piece)) {
                const uint32_t id = long_words_.find(p, length);
                if (id != NONE) return *o = id, o + 1;
            }
            return matcher_.encode(p, length, o, known);
        }
        const size_t cached = cache_.find(miss.key, miss.hash, o);
        if (cached) return o + cached;
        uint32_t* end = matcher_.encode(p, length, o, known);
        cache_.insert(miss.key, miss.hash, o, static_cast<size_t>(end - o));
        return end;
    }

    const WordTable& words_;
    const LongWordTable& long_words_;
    const Matcher& matcher_;
    WordCache& cache_;
    KeyMasks masks_;
};

}  // namespace lopt
