// Exact cuts inside pre-tokens, derived from the vocabulary: where no entry can span a position, BPE cannot either.
//
// Every token, and every intermediate product of a merge, is a vocabulary entry. A position between characters a and b is a
// cut if no entry contains a and b side by side, and if no entry that begins or ends inside a character could span it. For
// such an entry, the test uses the character it contains whole, if any, and one byte of the other. BPE encodes the two
// sides of a cut independently. Chinese clauses rarely repeat, but their pieces of one to three characters do.
#pragma once

#include <array>
#include <vector>

#include "base/hash.hpp"
#include "base/table.hpp"
#include "bpe/vocabulary.hpp"
#include "text/utf8.hpp"

namespace lopt {

// A position inside an entry where a character begins. A neighbour that the entry contains only in part has NONE as its
// code point; only its byte at the position is known.
struct InnerPlace {
    uint32_t left, right;
    uint8_t last_byte, first_byte;
    bool is_whole() const { return left != NONE && right != NONE; }
};

// Calls visit(InnerPlace) for each such position.
template <class Visit>
void visit_inner_places(std::string_view entry, Visit visit) {
    // The code point of n bytes; NONE if they are not exactly one character.
    const auto code_point = [](const uint8_t* p, size_t n) {
        int length;
        if (is_continuation(p[0]) || n != static_cast<size_t>(character_bytes(p[0]))) return NONE;
        return decode_character(p, length);
    };
    const uint8_t* p = reinterpret_cast<const uint8_t*>(entry.data());
    const size_t size = entry.size();
    for (size_t start = 0, i = 1; i < size; i++) {
        if (is_continuation(p[i])) continue;
        size_t end = i + 1;
        while (end < size && is_continuation(p[end])) end++;
        visit(InnerPlace{code_point(p + start, i - start), code_point(p + i, end - i), p[i - 1], p[i]});
        start = i;
    }
}

class Cuts {
  public:
    // `none`: there are no cuts. (If bytes are dropped, a token may span characters that are not adjacent in the text.)
    Cuts(const std::vector<Entry>& entries, bool none)
        : pairs_(PAIR_BITS / 64, none ? ~uint64_t{0} : 0), open_(OPEN_BITS / 64, 0), left_open_(OPEN_BITS / 64, 0), right_open_(OPEN_BITS / 64, 0) {
        has_neighbours_.fill(none);
        for (const auto& entry : entries)
            visit_inner_places(entry.bytes, [this](const InnerPlace& place) {
                if (place.is_whole()) return set_pair(place.left, place.right);
                for (const uint32_t c : {place.left, place.right}) note_neighbour(c);
                open_places_.push_back(place);
                if (place.left != NONE) set(left_open_, open_bit(place.left, place.first_byte));
                else if (place.right != NONE) set(right_open_, open_bit(place.right, place.last_byte));
                else set(open_, size_t{place.last_byte} << 8 | place.first_byte);
            });
    }

    // Is the position between these characters a cut? Takes their code points and the two bytes that meet there. Pairs are
    // hashed to bits: a collision only hides a cut, which is always safe.
    bool between(uint32_t left, uint32_t right, uint8_t last_byte, uint8_t first_byte) const {
        return !(get(pairs_, pair_bit(left, right)) | is_open(left, right, last_byte, first_byte));
    }
    // Could an entry that contains only part of one of these characters span the position between them?
    bool is_open(uint32_t left, uint32_t right, uint8_t last_byte, uint8_t first_byte) const {
        return get(left_open_, open_bit(left, first_byte)) | get(right_open_, open_bit(right, last_byte)) |
               get(open_, size_t{last_byte} << 8 | first_byte);
    }
    // Does no entry contain this ASCII character next to another character?
    bool stands_alone(uint8_t character) const { return !has_neighbours_[character]; }
    // The positions inside entries that have an incomplete character on either side.
    const std::vector<InnerPlace>& open_places() const { return open_places_; }
    // `between` for two ASCII characters if no entry ends inside a character: decided by the pair alone, exactly.
    bool between_ascii(uint8_t left, uint8_t right) const { return !(ascii_[left][right >> 6] >> (right & 63) & 1); }
    // The same for any two characters.
    bool between_characters(uint32_t left, uint32_t right) const { return !get(pairs_, pair_bit(left, right)); }
    size_t bytes() const { return pairs_.bytes() + open_.bytes() + left_open_.bytes() + right_open_.bytes() + sizeof ascii_; }

  private:
    static constexpr size_t PAIR_BITS = size_t{1} << 20, OPEN_BITS = size_t{1} << 16;
    void set_pair(uint32_t left, uint32_t right) {
        set(pairs_, pair_bit(left, right));
        if (left != right)
            for (const uint32_t c : {left, right}) note_neighbour(c);
        if (left < 0x80 && right < 0x80) ascii_[left][right >> 6] |= uint64_t{1} << (right & 63);
    }
    void note_neighbour(uint32_t character) {
        if (character < 0x80) has_neighbours_[character] = true;
    }
    static size_t pair_bit(uint32_t left, uint32_t right) {
        return ((static_cast<uint64_t>(left) << 21 | right) * HASH_A) >> (64 - 20);
    }
    // Hashes a whole character and the one known byte of its neighbour.
    static size_t open_bit(uint32_t character, uint8_t byte) {
        return ((static_cast<uint64_t>(character) << 8 | byte) * HASH_A) >> (64 - 16);
    }
    static void set(Table<uint64_t>& bits, size_t i) { bits[i >> 6] |= uint64_t{1} << (i & 63); }
    static bool get(const Table<uint64_t>& bits, size_t i) { return bits[i >> 6] >> (i & 63) & 1; }

    Table<uint64_t> pairs_, open_, left_open_, right_open_;
    std::vector<InnerPlace> open_places_;
    std::array<std::array<uint64_t, 2>, 0x80> ascii_{};
    std::array<bool, 0x80> has_neighbours_{};
};

}  // namespace lopt
