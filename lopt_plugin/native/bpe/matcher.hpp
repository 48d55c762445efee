// BPE of an unseen word without merging: longest match, a test of each new neighbour, the next shorter match.
#pragma once

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "bpe/compatibility.hpp"
#include "bpe/merges.hpp"
#include "bpe/trie.hpp"
#include "bpe/unknown_characters.hpp"
#include "text/utf8.hpp"

namespace lopt {

class Matcher {
  public:
    // `usable` false (an entry is too long to be described): every word is merged by rank.
    // `drops_bytes`: bytes that are no entries are taken out of a word first.
    Matcher(const MergeTable& merges, const Compatibility& compatibility, const Trie& trie, const std::vector<Entry>& sorted,
            bool usable, bool drops_bytes, const UnknownCharacters& unknown)
        : merges_(merges), compatibility_(compatibility), trie_(trie), usable_(usable), drops_bytes_(drops_bytes), unknown_(unknown) {
        index_characters(sorted);
    }

    // The ids of a character of several bytes that is a piece by itself and no entry; null where it is anything else.
    uint32_t* unknown_character(const uint8_t* p, uint32_t length, uint32_t* out) const {
        return *p >= 0xC0 && unknown_.become_bytes() ? unknown_.bytes_of(p, length, out) : nullptr;
    }

    bool usable() const { return usable_; }
    bool knows_all_bytes() const { return !drops_bytes_; }

    // BPE of p[0, length), 0 < length. Returns the end of the output; `out` has room for one id per byte.
    uint32_t* encode(const uint8_t* p, uint32_t length, uint32_t* out) const {
        if (!drops_bytes_) return with_unknown(out, encode_all(p, length, out));
        std::vector<uint8_t> kept;
        std::copy_if(p, p + length, std::back_inserter(kept), [this](uint8_t byte) { return merges_.byte_id(byte) != NONE; });
        return kept.empty() ? out : encode_all(kept.data(), static_cast<uint32_t>(kept.size()), out);
    }

    // Ids that merges gave to whole characters, as the tokenizer gives them; returns their new end.
    uint32_t* with_unknown(uint32_t* begin, uint32_t* end) const { return unknown_.replace(begin, end); }

    size_t bytes() const { return first_.size() * sizeof(CharacterStep) + next_.bytes() + filter_.bytes(); }

  private:
    uint32_t* encode_all(const uint8_t* p, uint32_t length, uint32_t* out) const {
        if (!usable_) return out + merge_by_rank(merges_, p, length, out);
        // Ends proven not to be boundaries of the encoding: each is given up once, which keeps the search linear.
        uint64_t dead_small[4] = {0, 0, 0, 0};
        std::vector<uint64_t> dead_large;
        uint64_t* dead = dead_small;
        if (length >= 256) {
            dead_large.assign(length / 64 + 1, 0);
            dead = dead_large.data();
        }
        const uint8_t* end = p + length;
        uint32_t count = 0, position = 0, size = 0, token = longest(p, end, size);
        for (;;) {
            if (token & IRREGULAR) return out + merge_by_rank(merges_, p, length, out);
            const uint32_t stop = position + size;
            const bool open = !(dead[stop >> 6] >> (stop & 63) & 1);
            if (open && (count == 0 || compatibility_.compatible(merges_, out[count - 1], token))) {
                out[count++] = token;
                position = stop;
                if (position == length) return out + count;
                token = longest(p + position, end, size);
                continue;
            }
            const uint32_t shorter = compatibility_.shorter(token);
            if (shorter != Compatibility::NO_SHORTER) {
                token = compatibility_.irregular(shorter) ? shorter | IRREGULAR : shorter;
                size = compatibility_.length(shorter);
                continue;
            }
            if (count == 0) return out + merge_by_rank(merges_, p, length, out);  // cannot be: the theorem gives one answer
            dead[position >> 6] |= uint64_t{1} << (position & 63);
            token = out[--count];
            size = compatibility_.length(token);
            position -= size;  // the token's end is dead now, so its turn goes to a shorter one
        }
    }

    // Characters of three bytes (CJK, Indic, Thai, Hangul, ...) are walked as a whole: one table for the first, a hash
    // table with a bit filter for those after it. MIXED marks a node below which an entry ends inside a character;
    // there, and where the character is no token itself, the walk goes on by bytes.
    struct CharacterStep {
        uint32_t base, token;
    };
    struct CharacterSlot {
        uint32_t from, code_point, base, token;
    };
    static constexpr uint32_t MIXED = 1u << 31;
    static constexpr uint64_t FILTER_BITS = uint64_t{1} << 20;

    static uint64_t character_hash(uint32_t from, uint32_t code_point) { return mix(static_cast<uint64_t>(from) << 16 | code_point); }
    static bool three_bytes(const uint8_t* p, const uint8_t* end) {
        return end - p >= 3 && are_three_bytes(p);
    }

    // The longest entry that p[0, end) begins with, perhaps with IRREGULAR; the first byte is an entry.
    uint32_t longest(const uint8_t* p, const uint8_t* end, uint32_t& length) const {
        uint32_t base = Trie::ROOT, best = NONE;
        const uint8_t* q = p;
        if (three_bytes(q, end)) {
            const CharacterStep first = first_[decode_three_bytes(q)];
            if (first.token != NONE) {
                best = first.token;
                base = first.base;
                q += 3;
                length = 3;
                while (!(base & MIXED)) {
                    if (q >= end) return best;
                    if (!three_bytes(q, end)) break;
                    const uint32_t code_point = decode_three_bytes(q);
                    const uint64_t hash = character_hash(base, code_point), bit = hash >> 24 & (FILTER_BITS - 1);
                    if (!(filter_[bit >> 6] >> (bit & 63) & 1)) return best;
                    size_t i = hash & next_mask_;
                    while (next_[i].from != base || next_[i].code_point != code_point) {
                        if (next_[i].from == NONE) return best;
                        i = (i + 1) & next_mask_;
                    }
                    q += 3;
                    base = next_[i].base;
                    if (next_[i].token != NONE) {
                        best = next_[i].token;
                        length = static_cast<uint32_t>(q - p);
                    }
                }
                base &= ~MIXED;
            }
        }
        while (q < end) {
            const Trie::Unit unit = trie_[base ^ *q];
            if (!unit.is(*q)) break;
            q++;
            if (unit.token != NONE) {
                best = unit.token;
                length = static_cast<uint32_t>(q - p);
            }
            base = unit.base();
        }
        return best;
    }
    void index_characters(const std::vector<Entry>& sorted) {
        first_.assign(1 << 16, {NONE, NONE});
        filter_.assign(FILTER_BITS / 64, 0);
        std::unordered_map<uint64_t, CharacterStep> next;
        std::vector<uint32_t> mixed;
        for (const auto& entry : sorted) {
            const uint8_t* q = reinterpret_cast<const uint8_t*>(entry.bytes.data());
            const uint8_t* end = q + entry.bytes.size();
            const uint8_t* start = q;
            uint32_t base = Trie::ROOT;
            while (three_bytes(q, end)) {
                const uint32_t from = base, code_point = decode_three_bytes(q);
                uint32_t token = NONE;
                for (int k = 0; k < 3; k++) {
                    const Trie::Unit& unit = trie_[base ^ *q++];
                    base = unit.base();
                    token = unit.token;
                }
                if (from == Trie::ROOT) first_[code_point] = {base, token};
                else next[static_cast<uint64_t>(from) << 16 | code_point] = {base, token};
                if (base == Trie::NO_CHILDREN) break;
            }
            if (q > start && q < end && end - q < 3 && *q >= 0xE0) mixed.push_back(base);
        }
        std::sort(mixed.begin(), mixed.end());
        const auto mark = [&](CharacterStep& step) {
            if (std::binary_search(mixed.begin(), mixed.end(), step.base)) step.base |= MIXED;
        };
        for (auto& step : first_)
            if (step.base != NONE) mark(step);
        next_.assign(power_of_two_at_least(2 * next.size() + 2), {NONE, 0, 0, 0});
        next_mask_ = next_.size() - 1;
        for (auto& [key, step] : next) {
            mark(step);
            const uint32_t from = static_cast<uint32_t>(key >> 16), code_point = static_cast<uint32_t>(key & 0xFFFF);
            const uint64_t hash = character_hash(from, code_point), bit = hash >> 24 & (FILTER_BITS - 1);
            filter_[bit >> 6] |= uint64_t{1} << (bit & 63);
            size_t i = hash & next_mask_;
            while (next_[i].from != NONE) i = (i + 1) & next_mask_;
            next_[i] = {from, code_point, step.base, step.token};
        }
    }

    const MergeTable& merges_;
    const Compatibility& compatibility_;
    const Trie& trie_;
    bool usable_, drops_bytes_;
    const UnknownCharacters& unknown_;
    std::vector<CharacterStep> first_;
    Table<CharacterSlot> next_;
    Table<uint64_t> filter_;
    size_t next_mask_ = 0;
};

}  // namespace lopt
