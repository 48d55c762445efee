// Encodes runs of three-byte characters (Chinese, Japanese, Hangul, Thai, ...) without keys, probes or merges.
//
// Cuts mostly leave pieces of one or two characters. A piece is easy if all of these hold: every character is one token; no
// entry that begins or ends inside a character can span a position inside the piece; and no entry contains three
// consecutive characters of the piece. Then every token that BPE can make of the piece is a part of a character, a
// character, or two characters, and two characters are only ever made by merging two whole ones. Such a merge must also
// have a higher rank than every merge inside its two characters; otherwise the piece is not called easy. The merges that
// BPE applies can then be found by a greedy choice: take the merges by rank, the leftmost first among equals, and let each
// merge that is taken rule out the merges that share a character with it. Proof: consider the next merge in this order that
// is not ruled out. BPE could skip it only by first applying a neighbouring merge of a higher rank or further to the right.
// At that moment its own two characters are whole, because BPE always finds a lower-ranked merge inside a character that is
// not whole yet. So the merge itself was possible, and BPE would have applied it first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/table.hpp"
#include "bpe/cuts.hpp"
#include "bpe/merges.hpp"
#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Consecutive characters of a text, from one or more pre-tokens. Bit i of a mask stands for character i, or for the
// position between characters i and i + 1.
struct CharacterRun {
    static constexpr uint32_t MOST = 64;   // characters
    static constexpr uint32_t LENGTH = 3;  // bytes of a character

    const uint8_t* begin;
    uint32_t count = 0;
    // Positions that an entry containing both neighbours may span. A piece is a maximal sequence of joined characters.
    uint64_t joined;
    // Positions that an entry containing only part of a neighbour may span. `find` adds those where one can to `joined`.
    uint64_t may_be_open;
    uint64_t several;   // characters that are not one token
    uint64_t words;     // characters of pieces that are whole pre-tokens, where this matters
    // Set by `CharacterRuns::find`:
    uint64_t chosen;    // characters that form one token with the next one
    uint64_t hard;      // characters of pieces that are not easy
    uint32_t ids[MOST];  // id of each character, or the index of its ids if it has several
    uint32_t code_points[MOST];

    void start(const uint8_t* at) {
        begin = at;
        count = 0;
        joined = may_be_open = several = words = 0;
    }
    const uint8_t* end() const { return begin + count * LENGTH; }
    // Removes the last piece, which continues after the run.
    void drop_last_piece() {
        const uint64_t cuts = ~(joined | may_be_open) & places(count);
        keep(cuts ? MOST - static_cast<uint32_t>(__builtin_clzll(cuts)) : 0);
    }
    // Divides the run into the pre-tokens that start at `starts`, of which the last starts after its last character. Notes
    // those of at least `shortest` characters.
    void divide(uint64_t starts, uint32_t shortest) {
        const uint64_t inside = ~(starts >> 1);
        joined &= inside;
        may_be_open &= inside;
        uint32_t first = 0;
        for (; starts; starts &= starts - 1) {
            const uint32_t next = lowest(starts);
            note_word(first, next, shortest);
            first = next;
        }
        keep(first);
    }
    // Notes that [first, last) is a pre-token, if it is one piece of at least `shortest` characters.
    void note_word(uint32_t first, uint32_t last, uint32_t shortest) {
        if (last - first < shortest || ~(joined | may_be_open) & places(last) & ~characters(first)) return;
        words |= characters(last) & ~characters(first);
    }

    // Characters that need separate treatment: those in hard pieces, and those with several ids.
    uint64_t special() const { return hard | several; }
    // Number of characters in the piece that begins with character i.
    uint32_t piece(uint32_t i) const { return lowest(~(joined >> i)) + 1; }
    // The first character of the mask at or after `from`; `count` if there is none.
    uint32_t next(uint64_t mask, uint32_t from) const {
        const uint64_t left = mask & ~characters(from);
        return left ? lowest(left) : count;
    }

    static uint64_t bit(unsigned i) { return uint64_t{1} << i; }
    // The first n characters, and the positions between them.
    static uint64_t characters(unsigned n) { return n < MOST ? bit(n) - 1 : ~uint64_t{0}; }
    static uint64_t places(unsigned n) { return characters(n) >> 1; }
    static unsigned lowest(uint64_t mask) { return static_cast<unsigned>(__builtin_ctzll(mask)); }

  private:
    // Keeps the first n characters.
    void keep(uint32_t n) {
        count = n;
        joined &= places(n);
        may_be_open &= places(n);
        several &= characters(n);
    }
};

class CharacterRuns {
  public:
    static constexpr uint32_t IDS_EACH = 3;  // a character has at most one id per byte

    // `token_of(text)`: the id if BPE encodes the text as one entry, otherwise NONE.
    // `rises(id)`: do the merge ranks rise throughout the derivation of this token?
    // `whole_only`: the entries that match whole pre-tokens, and that BPE does not reproduce.
    template <class TokenOf, class Rises>
    CharacterRuns(const std::vector<Entry>& entries, const std::vector<Entry>& whole_only, const MergeTable& merges, const Cuts& cuts,
                  const UnknownCharacters& unknown, TokenOf token_of, Rises rises)
        : merges_(merges), cuts_(cuts), characters_(CODE_POINTS, 0), triples_(TRIPLE_BITS / 64, 0) {
        for (const auto& entry : whole_only) {
            const auto* const p = reinterpret_cast<const uint8_t*>(entry.bytes.data());
            const size_t count = entry.bytes.size() / CharacterRun::LENGTH;
            if (count * CharacterRun::LENGTH == entry.bytes.size() && are_characters(p, count)) shortest_word_ = std::min(shortest_word_, static_cast<uint32_t>(count));
        }
        for (uint32_t c = 0x800; c < CODE_POINTS; c++) {
            uint8_t p[3];
            encode_character(c, p);
            const uint32_t id = token_of({reinterpret_cast<const char*>(p), sizeof p});
            characters_[c] = id != NONE ? id : several_ids(p, unknown);
        }
        for (const InnerPlace& place : cuts.open_places()) note_open(place);
        struct MergedPair {
            uint32_t rank, key, id;
        };
        std::vector<MergedPair> pairs;
        for (const auto& entry : entries) {
            const uint8_t* p = reinterpret_cast<const uint8_t*>(entry.bytes.data());
            const size_t size = entry.bytes.size();
            if (std::none_of(p, p + size, [](uint8_t byte) { return byte >= 0xE0; })) continue;
            for (size_t i = 0; i + 9 <= size; i++)
                if (are_characters(p + i, 3)) set_triple(decode_three_bytes(p + i), decode_three_bytes(p + i + 3), decode_three_bytes(p + i + 6));
            if (size != 6 || !are_characters(p, 2)) continue;
            const uint32_t left = decode_three_bytes(p), right = decode_three_bytes(p + 3), id = token_of(entry.bytes);
            const bool is_easy = id != NONE && rises(id) && !((characters_[left] | characters_[right]) & SEVERAL);
            pairs.push_back({is_easy ? merges.rank(characters_[left] & ID, characters_[right] & ID) : NONE, key_of(left, right), id});
        }
        std::sort(pairs.begin(), pairs.end(), [](const MergedPair& a, const MergedPair& b) { return a.rank < b.rank; });
        pairs_.assign(power_of_two_at_least(3 * pairs.size() + 2), {NO_PAIR, NONE});
        shift_ = static_cast<unsigned>(__builtin_clzll(pairs_.size())) + 1;
        uint32_t last = 0;
        for (const MergedPair& pair : pairs) {
            const bool in_order = pair.rank != NONE && pair.id >= last;
            if (in_order) last = pair.id;
            size_t i = place(pair.key);
            while (pairs_[i].key != NO_PAIR) i = (i + 1) & (pairs_.size() - 1);
            pairs_[i] = {pair.key, in_order ? pair.id : HARD};
        }
    }

    // The fewest characters of a pre-token for which it matters that it is one.
    uint32_t shortest_word() const { return shortest_word_; }

    // Reads the three-byte characters at p, up to the first other character, to `end`, or until the run is full. Calls
    // visit(i, first byte) for each character i.
    template <class Visit>
    [[gnu::always_inline]] void read(CharacterRun& run, const uint8_t* p, const uint8_t* end, Visit&& visit) const {
        run.start(p);
        if (p >= end || !begins_three_bytes(p)) return;
        uint32_t n = 0;
        uint64_t joined = 0, may_be_open = 0, several = 0;
        uint32_t left = decode_three_bytes(p), left_entry = characters_[left];
        for (;;) {
            visit(n, p);
            run.code_points[n] = left;
            run.ids[n] = left_entry & ID;
            several |= static_cast<uint64_t>(left_entry >> SEVERAL_SHIFT) << n;
            n++;
            p += CharacterRun::LENGTH;
            if (p >= end || !begins_three_bytes(p) || n == CharacterRun::MOST) break;
            const uint32_t right = decode_three_bytes(p), right_entry = characters_[right];
            joined |= static_cast<uint64_t>(!cuts_.between_characters(left, right)) << (n - 1);
            may_be_open |= static_cast<uint64_t>((left_entry >> open_right_shift(right) | right_entry >> OPEN_LEFT_SHIFT) & 1) << (n - 1);
            left = right;
            left_entry = right_entry;
        }
        run.count = n;
        run.joined = joined;
        run.may_be_open = may_be_open;
        run.several = several;
    }

    // Finds the tokens of a run. The end of the run must be a cut.
    void find(CharacterRun& run) const {
        run.joined |= run.may_be_open & run.words;
        uint64_t hard = run.several & (run.joined | run.joined << 1);
        for (uint64_t left = run.may_be_open & ~run.words; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            if (!is_open(run, i)) continue;
            run.joined |= CharacterRun::bit(i);
            hard |= CharacterRun::bit(i);
        }
        const uint64_t joined = run.joined;
        for (uint64_t left = joined & joined >> 1; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            const uint32_t* c = run.code_points + i;
            hard |= static_cast<uint64_t>(get_triple(c[0], c[1], c[2])) << i;
        }
        run.hard = whole_pieces(hard, joined) | run.words;
        uint32_t orders[CharacterRun::MOST];
        uint64_t pairs = 0, hard_pairs = 0;
        for (uint64_t left = joined & ~run.hard; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            orders[i] = order(run.code_points[i], run.code_points[i + 1]);
            pairs |= static_cast<uint64_t>(orders[i] < HARD) << i;
            hard_pairs |= static_cast<uint64_t>(orders[i] == HARD) << i;
        }
        if (hard_pairs) [[unlikely]] run.hard |= whole_pieces(hard_pairs, joined);
        run.chosen = chosen(pairs & ~run.hard, orders);
        for (uint64_t left = run.chosen; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            run.ids[i] = orders[i];
        }
    }

    // Writes the ids of characters [first, last), none of which may be special; returns the end of the output.
    static uint32_t* write(const CharacterRun& run, uint32_t first, uint32_t last, uint32_t* out) {
        const uint64_t taken = run.chosen << 1;
        for (uint32_t i = first; i < last; i++) {
            *out = run.ids[i];
            out += 1 - (taken >> i & 1);
        }
        return out;
    }
    // Writes the ids of a character that has several of them.
    uint32_t* write_several(const CharacterRun& run, uint32_t i, uint32_t* out) const {
        const uint32_t* const ids = several_.data() + run.ids[i];
        for (uint32_t k = 0; k < IDS_EACH; k++) out[k] = ids[k];
        return out + ids[IDS_EACH];
    }

    size_t bytes() const { return (characters_.size() + several_.size()) * sizeof(uint32_t) + pairs_.bytes() + triples_.bytes(); }

  private:
    static constexpr uint32_t CODE_POINTS = 0x10000;
    // A character's entry: its id, or the index of its ids, and flags.
    static constexpr unsigned SEVERAL_SHIFT = 31;
    static constexpr uint32_t SEVERAL = 1u << SEVERAL_SHIFT;
    // An entry may contain part of the neighbour on that side. On the right, there is a bit for each group of 2^14 code points.
    static constexpr unsigned OPEN_RIGHT_SHIFT = 27, OPEN_LEFT_SHIFT = 26, GROUP_BITS = 14;
    static constexpr uint32_t ID = (1u << OPEN_LEFT_SHIFT) - 1;
    static_assert(ID >= CODE_POINTS * (IDS_EACH + 1) && ID > MAX_ID);

    static constexpr uint32_t HARD = NONE - 1;  // in place of an order
    static constexpr size_t TRIPLE_BITS = size_t{1} << 18;
    struct Pair {
        uint32_t key, order;  // by rank, among all pairs
    };
    static constexpr uint32_t NO_PAIR = 0;  // U+0000 is not a three-byte character

    static bool are_characters(const uint8_t* p, size_t count) {
        for (const uint8_t* q = p; q < p + 3 * count; q += 3)
            if (!are_three_bytes(q)) return false;
        return true;
    }

    static uint32_t key_of(uint32_t left, uint32_t right) { return left << 16 | right; }
    size_t place(uint32_t key) const { return (key * HASH_A) >> shift_; }
    uint32_t order(uint32_t left, uint32_t right) const {
        const uint32_t key = key_of(left, right);
        for (size_t i = place(key);; i = (i + 1) & (pairs_.size() - 1))
            if (pairs_[i].key == key || pairs_[i].key == NO_PAIR) return pairs_[i].order;
    }
    static size_t triple_bit(uint32_t a, uint32_t b, uint32_t c) {
        return ((uint64_t{a} << 32 | uint64_t{b} << 16 | c) * HASH_A) >> (64 - 18);
    }
    void set_triple(uint32_t a, uint32_t b, uint32_t c) { triples_[triple_bit(a, b, c) >> 6] |= uint64_t{1} << (triple_bit(a, b, c) & 63); }
    bool get_triple(uint32_t a, uint32_t b, uint32_t c) const { return triples_[triple_bit(a, b, c) >> 6] >> (triple_bit(a, b, c) & 63) & 1; }

    uint32_t several_ids(const uint8_t* p, const UnknownCharacters& unknown) {
        uint32_t ids[IDS_EACH + 1] = {};
        const size_t count = merge_by_rank(merges_, p, CharacterRun::LENGTH, ids);
        ids[IDS_EACH] = static_cast<uint32_t>(unknown.replace(ids, ids + count) - ids);
        several_.insert(several_.end(), ids, ids + IDS_EACH + 1);
        return SEVERAL | static_cast<uint32_t>(several_.size() - IDS_EACH - 1);
    }
    void note_open(const InnerPlace& place) {
        if (place.right != NONE && place.right < CODE_POINTS) characters_[place.right] |= 1u << OPEN_LEFT_SHIFT;
        if (place.right != NONE || (place.first_byte & 0xF0) != 0xE0) return;
        const uint32_t open_right = 1u << open_right_shift((place.first_byte & 0x0Fu) << 12);
        if (place.left != NONE && place.left < CODE_POINTS) characters_[place.left] |= open_right;
        if (place.left != NONE) return;
        for (uint32_t c = 0x800; c < CODE_POINTS; c++)
            if (last_of_three_bytes(c) == place.last_byte) characters_[c] |= open_right;
    }
    // The bit of a character's entry that stands for the group of the character to its right.
    static unsigned open_right_shift(uint32_t right) { return OPEN_RIGHT_SHIFT + (right >> GROUP_BITS); }

    bool is_open(const CharacterRun& run, unsigned i) const {
        const uint32_t left = run.code_points[i], right = run.code_points[i + 1];
        return cuts_.is_open(left, right, last_of_three_bytes(left), first_of_three_bytes(right));
    }
    // The characters of all pieces that contain a marked one.
    static uint64_t whole_pieces(uint64_t marked, uint64_t joined) {
        for (uint64_t more = marked; more;) {
            more = ((marked & joined) << 1 | (marked >> 1 & joined)) & ~marked;
            marked |= more;
        }
        return marked;
    }

    // The pairs that are merged. A pair that comes before both its neighbours is merged in any case, and rules them out. Then
    // the same holds among the pairs that are left.
    static uint64_t chosen(uint64_t pairs, const uint32_t* orders) {
        uint64_t right_first = 0;  // where pairs i and i + 1 share a character, and the second one comes first
        const uint64_t with_next = pairs & pairs >> 1;
        for (uint64_t left = with_next; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            right_first |= static_cast<uint64_t>(orders[i + 1] < orders[i]) << i;
        }
        uint64_t result = 0;
        while (pairs) {
            const uint64_t later = (right_first & pairs >> 1) | (with_next & ~right_first & pairs) << 1;
            const uint64_t first = pairs & ~later;
            result |= first;
            pairs &= ~(first | first << 1 | first >> 1);
        }
        return result;
    }

    const MergeTable& merges_;
    const Cuts& cuts_;
    std::vector<uint32_t> characters_, several_;
    uint32_t shortest_word_ = NONE;
    Table<Pair> pairs_;
    Table<uint64_t> triples_;
    unsigned shift_ = 0;
};

}  // namespace lopt
