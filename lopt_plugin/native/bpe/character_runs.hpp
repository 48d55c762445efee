// Encodes runs of three-byte characters (Chinese, Japanese, Hangul, Thai, ...), and the ASCII between them, without keys.
//
// Cuts divide a run into pieces, most of one or two characters. A piece of one character has the ids of that character. A
// longer one is easy if all of these hold: it has only three-byte characters; every character is one token; no entry that
// begins or ends inside a character can span a position inside the piece; and of the merges of two tokens of whole characters
// that come up, each is known: it is the last in the derivation of the token that it makes, and ranks rise in that derivation.
// Other pieces are hard, and left to the window.
//
// Theorem: BPE merges an easy piece as if it began with whole characters, the lowest rank first, the leftmost first. Proof:
// every token that BPE makes of the piece is a part of a character, or consists of whole characters. What happens inside a
// character does not depend on its neighbours. Consider the first merge of tokens of whole characters that the theorem
// demands, and that is not BPE's next one of that kind. BPE could apply another one, of a higher rank or further to the
// right, only while one of the two tokens is a character that is not whole yet. But then BPE finds a merge inside that
// character. It leads to the token that the known merge makes, so its rank is lower, and BPE applies it first.
//
// The ids of tokens are in the order of the ranks that make them, or else the merge is not called known. If no entry has three
// consecutive characters of a piece, only pairs are merged, and each rules out those that share a character with it. Other
// pieces are merged step by step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/hash.hpp"
#include "base/table.hpp"
#include "bpe/compatibility.hpp"
#include "bpe/cuts.hpp"
#include "bpe/merges.hpp"
#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"
#include "text/ascii_masks.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Consecutive characters of a text, from one or more pre-tokens. Bit i of a mask stands for character i, or for the
// position between characters i and i + 1.
struct CharacterRun {
    static constexpr uint32_t MOST = 64;   // characters
    static constexpr uint32_t LENGTH = 3;  // bytes of a character that is not ASCII

    const uint8_t* begin;
    uint32_t count = 0;
    // Positions that an entry containing both neighbours may span. A piece is a maximal sequence of joined characters.
    uint64_t joined;
    // Positions that an entry containing only part of a neighbour may span. `find` adds those where one can to `joined`.
    uint64_t may_be_open;
    uint64_t several;   // characters that are not one token
    uint64_t ascii;
    uint64_t words;     // characters of pieces that are whole pre-tokens, where this matters
    // Set by `CharacterRuns::find`:
    uint64_t without_id;    // characters that have no place in the ids, because their tokens have longer ones
    uint64_t hard;          // characters of pieces that are not easy
    uint32_t ids[MOST];     // id of each character, or the index of its ids if it has several; then of each token
    uint32_t orders[MOST];  // of each joined character and the next one
    uint32_t code_points[MOST];
    uint8_t offsets[MOST + 1];  // of each character in bytes, and of the end
    alignas(16) uint8_t first_bytes[MOST];
    alignas(16) uint8_t flags[MOST] = {};  // see CharacterRuns
    static_assert(MOST * LENGTH <= UINT8_MAX);

    void start(const uint8_t* at) {
        begin = at;
        count = offsets[0] = 0;
        joined = may_be_open = several = ascii = words = 0;
        std::memset(first_bytes, 0x80, sizeof first_bytes);  // what comes after the run has no class
    }
    // Where character i begins.
    const uint8_t* at(uint32_t i) const { return begin + offsets[i]; }
    const uint8_t* end() const { return at(count); }
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
        if (shortest != NONE) {
            uint32_t first = 0;
            for (uint64_t left = starts; left; left &= left - 1) {
                note_word(first, lowest(left), shortest);
                first = lowest(left);
            }
        }
        keep(MOST - 1 - static_cast<uint32_t>(__builtin_clzll(starts)));
    }
    // Notes that [first, last) is a pre-token, if it is one piece of at least `shortest` characters, or two if some are ASCII.
    void note_word(uint32_t first, uint32_t last, uint32_t shortest) {
        const uint64_t word = characters(last) & ~characters(first);
        if (last - first < (ascii & word ? 2 : shortest) || ~(joined | may_be_open) & places(last) & word) return;
        words |= word;
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
        ascii &= characters(n);
    }
};

class CharacterRuns {
  public:
    static constexpr uint32_t IDS_EACH = 3;  // a character has at most one id per byte

    // `token_of(text)`: the id if BPE encodes the text as one entry, otherwise NONE.
    // `whole_only`: the entries that only match whole pre-tokens.
    template <class TokenOf>
    CharacterRuns(const std::vector<Entry>& entries, const std::vector<Entry>& whole_only, const MergeTable& merges, const Compatibility& compatibility,
                  const Cuts& cuts, const UnknownCharacters& unknown, TokenOf token_of)
        : merges_(merges), cuts_(cuts), characters_(CODE_POINTS, 0), triples_(TRIPLE_BITS / 64, 0) {
        for (const auto& entry : whole_only) {
            const size_t count = is_whole(entry) ? entry.bytes.size() / CharacterRun::LENGTH : CharacterRun::MOST;
            shortest_word_ = std::min(shortest_word_, static_cast<uint32_t>(count));
        }
        for (uint32_t c = 0; c < CODE_POINTS; c == 0x7F ? c = 0x800 : c++) {
            uint8_t p[4];
            const auto length = static_cast<size_t>(encode_character(c, p) - p);
            const uint32_t id = token_of({reinterpret_cast<const char*>(p), length});
            characters_[c] = id != NONE ? id : several_ids(p, length, unknown);
        }
        for (const InnerPlace& place : cuts.open_places()) note_open(place);
        for (const auto& entry : entries) {
            const uint8_t* p = reinterpret_cast<const uint8_t*>(entry.bytes.data());
            for (size_t i = 0; i + 9 <= entry.bytes.size(); i++)
                if (are_characters(p + i, 3)) set_triple(decode_three_bytes(p + i), decode_three_bytes(p + i + 3), decode_three_bytes(p + i + 6));
        }
        note_orders(entries, compatibility);
    }

    // The fewest three-byte characters of a pre-token for which it matters that it is one; NONE if it never matters.
    uint32_t shortest_word() const { return shortest_word_; }

    // Reads the three-byte characters at p, and up to `most_ascii` ASCII characters in a row, up to the first other character,
    // to `end`, or until the run is full.
    template <uint32_t most_ascii>
    [[gnu::always_inline]] void read(CharacterRun& run, const uint8_t* p, const uint8_t* end) const {
        run.start(p);
        uint32_t n = 0, ascii_in_row = 0;
        for (; n < CharacterRun::MOST && p < end; n++) {
            const uint8_t first = *p;
            uint32_t c;
            if (begins_three_bytes(p)) {
                c = decode_three_bytes(p);
                p += CharacterRun::LENGTH;
                ascii_in_row = 0;
            } else if (first < 0x80 && ascii_in_row < most_ascii) {
                c = first;
                p++;
                ascii_in_row++;
            } else {
                break;
            }
            const uint32_t entry = characters_[c];
            run.code_points[n] = c;
            run.first_bytes[n] = first;
            run.offsets[n + 1] = static_cast<uint8_t>(p - run.begin);
            run.ids[n] = entry & ID;
            run.flags[n] = static_cast<uint8_t>(entry >> FLAGS_SHIFT);
        }
        if (n == 0) return;
        uint64_t joined = 0;
        for (uint32_t i = n - 1; i > 0; i--) joined = joined << 1 | !cuts_.between_characters(run.code_points[i - 1], run.code_points[i]);
        const uint64_t all = CharacterRun::characters(n), places = CharacterRun::places(n);
        run.count = n;
        run.joined = joined;
        run.ascii = ~bytes_with_bit<7>(run.first_bytes) & all;
        run.several = bytes_with_bit<SEVERAL_BIT>(run.flags) & all;
        run.may_be_open = may_be_open(run) & places;
    }

    // Finds the tokens of a run. The end of the run must be a cut.
    void find(CharacterRun& run) const {
        run.joined |= run.may_be_open & run.words;
        uint64_t hard = (run.several | run.ascii) & (run.joined | run.joined << 1);
        for (uint64_t left = run.may_be_open & ~run.words; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            if (!is_open(run, i)) continue;
            run.joined |= CharacterRun::bit(i);
            hard |= CharacterRun::bit(i);
        }
        const uint64_t joined = run.joined;
        uint64_t longer = 0;  // pieces of which an entry may have three characters
        for (uint64_t left = joined & joined >> 1 & ~hard; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            const uint32_t* c = run.code_points + i;
            longer |= static_cast<uint64_t>(get_triple(c[0], c[1], c[2])) << i;
        }
        run.hard = whole_pieces(hard, joined) | run.words;
        run.without_id = 0;
        uint64_t pairs = 0, hard_pairs = 0;
        for (uint64_t left = joined & ~run.hard; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            run.orders[i] = order(run.ids[i], run.ids[i + 1]);
            pairs |= static_cast<uint64_t>(run.orders[i] < HARD) << i;
            hard_pairs |= static_cast<uint64_t>(run.orders[i] == HARD) << i;
        }
        if (hard_pairs) [[unlikely]] run.hard |= whole_pieces(hard_pairs, joined);
        longer = whole_pieces(longer & ~run.hard, joined);
        for (uint64_t left = longer; left;) {
            const unsigned first = CharacterRun::lowest(left), last = first + run.piece(first);
            left &= ~CharacterRun::characters(last);
            merge_piece(run, first, last);
        }
        const uint64_t merged = chosen(pairs & ~(run.hard | longer), run.orders);
        for (uint64_t left = merged; left; left &= left - 1) {
            const unsigned i = CharacterRun::lowest(left);
            run.ids[i] = run.orders[i];
        }
        run.without_id |= merged << 1;
    }

    // Writes the ids of characters [first, last), none of which may be special; returns the end of the output.
    static uint32_t* write(const CharacterRun& run, uint32_t first, uint32_t last, uint32_t* out) {
        for (uint32_t i = first; i < last; i++) {
            *out = run.ids[i];
            out += 1 - (run.without_id >> i & 1);
        }
        return out;
    }
    // Writes the ids of a character that has several of them.
    uint32_t* write_several(const CharacterRun& run, uint32_t i, uint32_t* out) const {
        const uint32_t* const ids = several_.data() + run.ids[i];
        for (uint32_t k = 0; k < IDS_EACH; k++) out[k] = ids[k];
        return out + ids[IDS_EACH];
    }

    size_t bytes() const { return (characters_.size() + several_.size()) * sizeof(uint32_t) + orders_.bytes() + triples_.bytes(); }

  private:
    static constexpr uint32_t CODE_POINTS = 0x10000;
    // A character's entry: its id, or the index of its ids, and flags in the highest byte.
    static constexpr unsigned FLAGS_SHIFT = 24, SEVERAL_BIT = 7;
    static constexpr uint32_t SEVERAL = 1u << (FLAGS_SHIFT + SEVERAL_BIT);
    // An entry may contain part of the neighbour on that side. On the right, there is a bit for each group of first bytes.
    static constexpr unsigned OPEN_RIGHT_BIT = 3, OPEN_LEFT_BIT = 2;
    static constexpr unsigned GROUP_BIT = 2;  // bits 2 and 3 of a first byte are its group
    static constexpr uint32_t ID = (1u << (FLAGS_SHIFT + OPEN_LEFT_BIT)) - 1;
    static_assert(ID >= CODE_POINTS * (IDS_EACH + 1) && ID > MAX_ID);

    // The order of two tokens: the id of the one that they make if that merge is known, HARD if not, NO_TOKEN if there is none.
    static constexpr unsigned ID_BITS = 20;
    static constexpr uint32_t HARD = (1u << ID_BITS) - 1, NO_TOKEN = NONE;
    static_assert(MAX_ID < HARD);
    static constexpr uint64_t NO_ORDER = ~uint64_t{0};
    static constexpr size_t TRIPLE_BITS = size_t{1} << 18;

    static bool are_characters(const uint8_t* p, size_t count) {
        for (const uint8_t* q = p; q < p + 3 * count; q += 3)
            if (!are_three_bytes(q)) return false;
        return true;
    }
    // Does the entry consist of three-byte characters?
    static bool is_whole(const Entry& entry) {
        const size_t count = entry.bytes.size() / CharacterRun::LENGTH;
        return count * CharacterRun::LENGTH == entry.bytes.size() && are_characters(reinterpret_cast<const uint8_t*>(entry.bytes.data()), count);
    }

    static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << ID_BITS | right; }
    size_t place(uint64_t key) const { return (key * HASH_A) >> shift_; }
    uint32_t order(uint32_t left, uint32_t right) const {
        const uint64_t key = key_of(left, right);
        for (size_t i = place(key);; i = (i + 1) & (orders_.size() - 1)) {
            if (orders_[i] >> ID_BITS == key) return orders_[i] & HARD;
            if (orders_[i] == NO_ORDER) return NO_TOKEN;
        }
    }
    static size_t triple_bit(uint32_t a, uint32_t b, uint32_t c) {
        return ((uint64_t{a} << 32 | uint64_t{b} << 16 | c) * HASH_A) >> (64 - 18);
    }
    void set_triple(uint32_t a, uint32_t b, uint32_t c) { triples_[triple_bit(a, b, c) >> 6] |= uint64_t{1} << (triple_bit(a, b, c) & 63); }
    bool get_triple(uint32_t a, uint32_t b, uint32_t c) const { return triples_[triple_bit(a, b, c) >> 6] >> (triple_bit(a, b, c) & 63) & 1; }

    uint32_t several_ids(const uint8_t* p, size_t length, const UnknownCharacters& unknown) {
        uint32_t ids[IDS_EACH + 1] = {};
        const size_t count = merge_by_rank(merges_, p, length, ids);
        ids[IDS_EACH] = static_cast<uint32_t>(unknown.replace(ids, ids + count) - ids);
        several_.insert(several_.end(), ids, ids + IDS_EACH + 1);
        return SEVERAL | static_cast<uint32_t>(several_.size() - IDS_EACH - 1);
    }
    void note_open(const InnerPlace& place) {
        if (place.right != NONE && place.right < CODE_POINTS) characters_[place.right] |= 1u << (FLAGS_SHIFT + OPEN_LEFT_BIT);
        if (place.right != NONE || (place.first_byte & 0xF0) != 0xE0) return;
        const uint32_t open_right = 1u << (FLAGS_SHIFT + OPEN_RIGHT_BIT + (place.first_byte >> GROUP_BIT & 3));
        if (place.left != NONE && place.left < CODE_POINTS) characters_[place.left] |= open_right;
        if (place.left != NONE) return;
        for (uint32_t c = 0x800; c < CODE_POINTS; c++)
            if (last_of_three_bytes(c) == place.last_byte) characters_[c] |= open_right;
    }
    // See CharacterRun::may_be_open.
    static uint64_t may_be_open(const CharacterRun& run) {
        const uint64_t low = bytes_with_bit<GROUP_BIT>(run.first_bytes) >> 1, high = bytes_with_bit<GROUP_BIT + 1>(run.first_bytes) >> 1;
        return bytes_with_bit<OPEN_LEFT_BIT>(run.flags) >> 1 | (bytes_with_bit<OPEN_RIGHT_BIT>(run.flags) & ~high & ~low) |
               (bytes_with_bit<OPEN_RIGHT_BIT + 1>(run.flags) & ~high & low) | (bytes_with_bit<OPEN_RIGHT_BIT + 2>(run.flags) & high & ~low) |
               (bytes_with_bit<OPEN_RIGHT_BIT + 3>(run.flags) & high & low);
    }

    bool is_open(const CharacterRun& run, unsigned i) const {
        const uint32_t left = run.code_points[i], right = run.code_points[i + 1];
        return cuts_.is_open(left, right, left < 0x80 ? static_cast<uint8_t>(left) : last_of_three_bytes(left),
                             right < 0x80 ? static_cast<uint8_t>(right) : first_of_three_bytes(right));
    }
    // Notes the merges of two tokens of whole characters.
    void note_orders(const std::vector<Entry>& entries, const Compatibility& compatibility) {
        uint32_t max_id = 0;
        for (const auto& entry : entries) max_id = std::max(max_id, entry.id);
        std::vector<uint8_t> whole(max_id + 1, 0);
        for (const auto& entry : entries) whole[entry.id] = is_whole(entry);
        std::vector<uint64_t> found;
        const auto pairs = merges_.pairs();
        for (uint32_t rank = 0, last = 0; rank < pairs.size(); rank++) {
            const auto [left, right] = pairs[rank];
            if (left == NONE || !whole[left] || !whole[right]) continue;
            const uint32_t id = merges_.product(rank);
            const bool known = id > last && compatibility.makes(left, right, id);
            found.push_back(key_of(left, right) << ID_BITS | (known ? id : HARD));
            last = std::max(last, id);
        }
        orders_.assign(std::bit_ceil(3 * found.size() + 2), NO_ORDER);
        shift_ = shift_to_index(orders_.size());
        for (const uint64_t each : found) {
            size_t i = place(each >> ID_BITS);
            while (orders_[i] != NO_ORDER) i = (i + 1) & (orders_.size() - 1);
            orders_[i] = each;
        }
    }
    // Merges the characters of a piece by rank, or calls it hard.
    void merge_piece(CharacterRun& run, uint32_t first, uint32_t last) const {
        uint32_t *const ids = run.ids + first, *const orders = run.orders + first;
        uint32_t count = last - first;
        bool is_hard = false;
        const auto set_order = [&](uint32_t i) {
            orders[i] = order(ids[i], ids[i + 1]);
            is_hard |= orders[i] == HARD;
        };
        while (count > 1 && !is_hard) {
            const auto at = static_cast<uint32_t>(std::min_element(orders, orders + count - 1) - orders);
            if (orders[at] == NO_TOKEN) break;
            ids[at] = orders[at];
            count--;
            std::copy(ids + at + 2, ids + count + 1, ids + at + 1);
            std::copy(orders + at + 1, orders + count, orders + at);
            if (at + 1 < count) set_order(at);
            if (at > 0) set_order(at - 1);
        }
        const uint64_t piece = CharacterRun::characters(last) & ~CharacterRun::characters(first);
        if (is_hard) run.hard |= piece;
        else run.without_id |= piece & ~CharacterRun::characters(first + count);
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
    Table<uint64_t> orders_;  // two ids and their order each
    Table<uint64_t> triples_;
    unsigned shift_ = 0;
};

}  // namespace lopt
