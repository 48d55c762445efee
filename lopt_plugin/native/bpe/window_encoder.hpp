// Encodes pre-tokens one window at a time: most need one probe, recent ones come from the word cache, new ones need BPE.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/id_buffer.hpp"
#include "bpe/matcher.hpp"
#include "bpe/short_words.hpp"
#include "bpe/window.hpp"
#include "bpe/word_cache.hpp"
#include "bpe/words.hpp"

namespace lopt {

class WindowEncoder {
  public:
    WindowEncoder(const WordTable& words, const LongWordTable& long_words, const MergeTable& merges, const Matcher& matcher, WordCache& cache,
                LongWordCache& long_cache)
        : words_(words), long_words_(long_words), short_words_(merges), merged_long_words_(merges), matcher_(matcher), cache_(cache), long_cache_(long_cache),
          no_word_(words.prefetch(WordTable::NO_WORD)) {}

    // Appends the ids of the window's pieces. May read bytes up to `readable_end`.
    void resolve(Window& window, const uint8_t* readable_end, IdBuffer& out) const {
        const uint32_t missing = probe(window, readable_end);
        const uint32_t fresh = probe_cache(window, missing);
        if (fresh) encode_fresh(window, fresh);
        emit(window, missing, out);
    }

  private:
    // Looks every piece up in the table. Collects the misses and returns their number.
    uint32_t probe(Window& window, const uint8_t* readable_end) const {
        window.resolved[window.resolved_count] = {window.count, window.ready_count};
        uint32_t missing = 0, resolved = 0;
        const auto known = [&](WordKey* keys, uint32_t first, uint32_t last) {
            for (; window.resolved[resolved].piece < last; resolved++) {
                const uint32_t k = window.resolved[resolved].piece;
                keys[k - first] = WordTable::NO_WORD;
                window.ids[k] = no_word_;
            }
        };
        const auto elsewhere = [&](uint32_t k, WordKey key) {
            Window::Miss& miss = window.misses[missing];
            miss = {key, key.hash(), k, 0};
            cache_.prefetch(miss.hash);
            missing += (window.ids[k] = words_.find(key, miss.hash)) >= WHOLE_ONLY;
        };
        words_.look_up(window, readable_end, window.ids, known, elsewhere);
        return missing;
    }

    // Looks the misses up in the cache. Collects the fresh ones and returns their number.
    uint32_t probe_cache(Window& window, uint32_t missing) const {
        uint32_t count = 0;
        for (uint32_t m = 0; m < missing; m++) {
            Window::Miss& miss = window.misses[m];
            miss.count = static_cast<uint32_t>(cache_.find(miss.key, miss.hash, window.found[m]));
            window.fresh[count] = m;
            count += miss.count == 0;
        }
        return count;
    }
    // Finds the ids of fresh misses: most of them side by side, the rest one by one.
    void encode_fresh(Window& window, uint32_t fresh) const {
        size_t count = 0, long_count = 0;
        window.recent.fill(0);
        for (uint32_t f = 0; f < fresh; f++) {
            Window::Miss& miss = window.misses[window.fresh[f]];
            window.known[f] = nullptr;
            const uint32_t length = window.length(miss.piece);
            if (length > LONGEST_KEY) {
                miss.hash = LongWordKey::hash(window.begin(miss.piece), std::min<size_t>(length, LongWordKey::LONGEST));
                long_cache_.prefetch(miss.hash);
            }
            if (length > LONGEST_KEY || !matcher_.knows_all_bytes()) continue;
            uint16_t& recent = window.recent[miss.hash >> 56];
            if (recent < f && window.known[recent] && window.misses[window.fresh[recent]].key == miss.key) {
                window.known[f] = window.known[recent];
                continue;
            }
            recent = static_cast<uint16_t>(f);
            window.known[f] = &add_word(window.words[count++], window, miss);
        }
        short_words_.encode(window.words, count);
        for (uint32_t f = 0; f < fresh; f++) {
            const uint32_t m = window.fresh[f];
            Window::Miss& miss = window.misses[m];
            if (window.length(miss.piece) <= LONGEST_KEY) {
                miss.count = encode(window, miss, window.known[f], window.found[m]);
                continue;
            }
            miss.count = Window::UNBOUNDED;
            if (long_count == Window::MOST_LONG_WORDS || !may_merge_long(window, miss)) continue;
            add_word(window.long_words[long_count], window, miss);
            miss.count = Window::MERGED + static_cast<uint32_t>(long_count++);
        }
        merged_long_words_.encode(window.long_words, long_count);
    }
    template <class Word>
    static Word& add_word(Word& word, const Window& window, const Window::Miss& miss) {
        word.p = window.begin(miss.piece);
        word.length = window.length(miss.piece);
        return word;
    }
    bool may_merge_long(const Window& window, const Window::Miss& miss) const {
        const uint8_t* p = window.begin(miss.piece);
        const uint32_t length = window.length(miss.piece);
        if (length > Window::LONG_WORD || !matcher_.knows_all_bytes()) return false;
        uint32_t ids[LongWordCache::MAX_IDS];
        return whole_id(window, miss.piece) == NONE && !long_cache_.find({p, length}, miss.hash, ids);
    }
    // The id of a long piece that is a whole pre-token and an entry; otherwise NONE.
    uint32_t whole_id(const Window& window, uint32_t piece) const {
        return window.is_whole(piece) ? long_words_.find(window.begin(piece), window.length(piece)) : NONE;
    }

    // Writes the ids of a fresh miss of at most LONGEST_KEY bytes to `found`; returns their number.
    uint32_t encode(const Window& window, const Window::Miss& miss, const ShortWords<LONGEST_KEY>::Word* known, uint32_t* found) const {
        const uint8_t* p = window.begin(miss.piece);
        const uint32_t length = window.length(miss.piece);
        const uint32_t id = window.ids[miss.piece];
        if (id != NONE && window.is_whole(miss.piece)) return *found = id & ~WHOLE_ONLY, 1;
        uint32_t count;
        if (const uint32_t* const bytes = matcher_.unknown_character(p, length, found)) {
            count = static_cast<uint32_t>(bytes - found);
        } else if (known) {
            std::memcpy(found, known->ids.data(), sizeof known->ids);  // copies a fixed size, like copy_some
            count = static_cast<uint32_t>(matcher_.with_unknown(found, found + known->count) - found);
        } else {
            count = static_cast<uint32_t>(cache_.find(miss.key, miss.hash, found));  // it may have been cached since this window began
            if (count) return count;
            count = static_cast<uint32_t>(matcher_.encode(p, length, found) - found);
        }
        // An entry that only matches whole pre-tokens is never cached: no cached word is in the table.
        if (id == NONE) cache_.insert(miss.key, miss.hash, found, count);
        return count;
    }

    void emit(const Window& window, uint32_t missing, IdBuffer& out) const {
        uint32_t* o = out.reserve(window.bounds[window.count] + Window::COPIED);
        uint32_t piece = 0, m = 0;
        for (uint32_t s = 0;; s++) {
            const Window::Resolved& resolved = window.resolved[s];
            for (;;) {
                const uint32_t next_miss = m < missing ? window.misses[m].piece : window.count;
                const uint32_t stop = std::min(next_miss, resolved.piece);
                copy_all(window.ids + piece, stop - piece, o);
                o += stop - piece;
                piece = stop;
                if (stop == resolved.piece) break;
                const uint32_t count = window.misses[m++].count;
                piece++;
                if (count >= Window::MERGED) {
                    o = encode_long(window, window.misses[m - 1], o);
                    continue;
                }
                copy_some(window.found[m - 1], o);
                o += count;
            }
            if (s == window.resolved_count) break;
            const uint32_t count = window.resolved[s + 1].first - resolved.first;
            copy_all(window.ready + resolved.first, count, o);
            o += count;
            piece++;
        }
        out.set_end(o);
    }
    static_assert(sizeof(ShortWords<LONGEST_KEY>::Word::ids) <= sizeof(uint32_t[Window::COPIED]));
    static void copy_some(const uint32_t* from, uint32_t* to) { std::memcpy(to, from, Window::COPIED * sizeof *to); }
    static void copy_all(const uint32_t* from, uint32_t count, uint32_t* to) {
        copy_some(from, to);
        for (uint32_t n = Window::COPIED; n < count; n += Window::COPIED) copy_some(from + n, to + n);
    }

    // Writes the ids of a piece longer than LONGEST_KEY bytes to o, which needs room for one per byte; returns their end.
    uint32_t* encode_long(const Window& window, const Window::Miss& miss, uint32_t* o) const {
        const uint8_t* p = window.begin(miss.piece);
        const uint32_t length = window.length(miss.piece);
        if (miss.count == Window::UNBOUNDED) {
            const uint32_t id = whole_id(window, miss.piece);
            if (id != NONE) return *o = id, o + 1;
            if (length > LongWordKey::LONGEST) return matcher_.encode(p, length, o);
        }
        const LongWordKey key(p, length);
        if (const size_t cached = long_cache_.find(key, miss.hash, o)) return o + cached;
        uint32_t* end;
        if (miss.count == Window::UNBOUNDED) {
            end = matcher_.encode(p, length, o);
        } else {
            const auto& word = window.long_words[miss.count - Window::MERGED];
            std::copy_n(word.ids.data(), word.count, o);
            end = matcher_.with_unknown(o, o + word.count);
        }
        long_cache_.insert(key, miss.hash, o, static_cast<size_t>(end - o));
        return end;
    }
    static_assert(LongWordCache::MAX_IDS <= Window::COPIED && WordCache::MAX_IDS <= Window::COPIED, "what a look-up overwrites");

    const WordTable& words_;
    const LongWordTable& long_words_;
    ShortWords<LONGEST_KEY> short_words_;
    ShortWords<Window::LONG_WORD> merged_long_words_;
    const Matcher& matcher_;
    WordCache& cache_;
    LongWordCache& long_cache_;
    uint32_t no_word_;
};

}  // namespace lopt
