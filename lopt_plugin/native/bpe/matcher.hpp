// BPE of a new word without merging: take the longest match, test it against its left neighbour, else try a shorter match.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "bpe/compatibility.hpp"
#include "bpe/merges.hpp"
#include "bpe/trie.hpp"
#include "bpe/unknown_characters.hpp"

namespace lopt {

class Matcher {
  public:
    // `usable` is false if an entry is too long for Compatibility; every word is then merged by rank.
    // `drops_bytes`: bytes without an entry are first removed from a word.
    Matcher(const MergeTable& merges, const Compatibility& compatibility, const Trie& trie, bool usable, bool drops_bytes, const UnknownCharacters& unknown)
        : merges_(merges), compatibility_(compatibility), trie_(trie), usable_(usable), drops_bytes_(drops_bytes), unknown_(unknown) {}

    // The ids of a multi-byte character that is a piece of its own and not an entry; null for any other piece.
    uint32_t* unknown_character(const uint8_t* p, uint32_t length, uint32_t* out) const {
        return *p >= 0xC0 && unknown_.become_bytes() ? unknown_.bytes_of(p, length, out) : nullptr;
    }

    bool usable() const { return usable_; }
    bool knows_all_bytes() const { return !drops_bytes_; }

    // BPE of p[0, length), where length > 0. Returns the end of the output; `out` needs room for one id per byte.
    uint32_t* encode(const uint8_t* p, uint32_t length, uint32_t* out) const {
        if (!drops_bytes_) return with_unknown(out, encode_all(p, length, out));
        std::vector<uint8_t> kept;
        std::copy_if(p, p + length, std::back_inserter(kept), [this](uint8_t byte) { return merges_.byte_id(byte) != NONE; });
        return kept.empty() ? out : encode_all(kept.data(), static_cast<uint32_t>(kept.size()), out);
    }

    // Turns the ids that merges leave of unknown characters into the tokenizer's ids; returns the new end.
    uint32_t* with_unknown(uint32_t* begin, uint32_t* end) const { return unknown_.replace(begin, end); }

  private:
    static constexpr uint32_t LONG = 256;  // bytes

    uint32_t* encode_all(const uint8_t* p, uint32_t length, uint32_t* out) const {
        if (!usable_) return out + merge_by_rank(merges_, p, length, out);
        // Positions that were rejected as boundaries of the encoding. Each is rejected only once, so the search is linear.
        uint64_t dead_small[4] = {0, 0, 0, 0};
        std::vector<uint64_t> dead_large;
        uint64_t* dead = dead_small;
        if (length >= LONG) {
            dead_large.assign(length / 64 + 1, 0);
            dead = dead_large.data();
        }
        const auto is_open = [&dead](uint32_t at) { return !(dead[at >> 6] >> (at & 63) & 1); };
        const uint8_t* end = p + length;
        uint32_t count = 0, position = 0, size = 0, token = longest(p, end, size);
        for (;;) {
            if (token & IRREGULAR) return out + merge_by_rank(merges_, p, length, out);
            const uint32_t stop = position + size;
            if (is_open(stop) && (count == 0 || compatibility_.compatible(merges_, out[count - 1], token))) {
                out[count++] = token;
                position = stop;
                if (position == length) return out + count;
                // In a run of one character, the longest match leads astray again and again, but the last token is most often right.
                const uint32_t ahead = std::max(LONG, size);
                const bool repeats = length - stop >= ahead && std::equal(p + stop, p + stop + ahead, p + stop - size);
                if (!repeats || !is_open(stop + size) || !compatibility_.compatible(merges_, token, token)) token = longest(p + position, end, size);
                continue;
            }
            const uint32_t shorter = compatibility_.shorter(token);
            if (shorter != Compatibility::NO_SHORTER) {
                token = compatibility_.irregular(shorter) ? shorter | IRREGULAR : shorter;
                size = compatibility_.length(shorter);
                continue;
            }
            // By the theorem there is exactly one answer, but a repeated token may have taken the place of a longer one.
            if (count == 0) return out + merge_by_rank(merges_, p, length, out);
            dead[position >> 6] |= uint64_t{1} << (position & 63);
            token = out[--count];
            size = compatibility_.length(token);
            position -= size;  // the end of this token is dead now, so a shorter one is tried
        }
    }

    // The longest entry that is a prefix of [p, end), possibly with IRREGULAR. The first byte must be an entry.
    uint32_t longest(const uint8_t* p, const uint8_t* end, uint32_t& length) const {
        const Trie::Match best = trie_.longest(Trie::ROOT, p, end);
        length = static_cast<uint32_t>(best.end - p);
        return best.token;
    }
    const MergeTable& merges_;
    const Compatibility& compatibility_;
    const Trie& trie_;
    bool usable_, drops_bytes_;
    const UnknownCharacters& unknown_;
};

}  // namespace lopt
