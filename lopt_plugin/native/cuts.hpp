// Exact cuts inside pre-tokens, read off the vocabulary: where no entry can reach across, BPE cannot either.
//
// Every token, and every intermediate product of a merge, is a vocabulary entry. If no entry holds the characters a
// and b side by side, and none that begins or ends inside a character could span the place between them (judged by
// the two bytes that meet there), both sides are encoded independently. Chinese clauses fall into pieces of one to
// three characters, which repeat, where clauses do not.
#pragma once

#include <array>
#include <vector>

#include "vocabulary.hpp"

namespace lopt {

class Cuts {
  public:
    // `none`: no place is a cut (where bytes are dropped, tokens may span what the text holds apart).
    Cuts(const std::vector<Entry>& entries, bool none) : pairs_(PAIR_BITS / 64, none ? ~uint64_t{0} : 0), open_(OPEN_BITS / 64, 0) {
        for (const auto& entry : entries) {
            const uint8_t* p = reinterpret_cast<const uint8_t*>(entry.bytes.data());
            const size_t n = entry.bytes.size();
            for (size_t i = 1; i < n; i++) {
                if (inside_character(p[i])) continue;
                size_t start = i - 1;
                while (start > 0 && inside_character(p[start])) start--;
                const bool whole_left = !inside_character(p[start]) && length_of(p[start]) == i - start;
                size_t end = i + 1;
                while (end < n && inside_character(p[end])) end++;
                const bool whole_right = length_of(p[i]) == end - i;
                if (whole_left && whole_right) set_pair(decode(p + start, i - start), decode(p + i, end - i));
                else set(open_, open_bit(p[i - 1], p[i]));
            }
        }
    }

    // Is the place between these neighbours a cut? Characters as code points, and the two bytes that meet.
    // The pairs are hashed to bits: a collision refuses a cut, which is always right.
    bool between(uint32_t left, uint32_t right, uint8_t last_byte, uint8_t first_byte) const {
        return !(get(pairs_, pair_bit(left, right)) | get(open_, open_bit(last_byte, first_byte)));
    }
    // The same for two characters of ASCII where no entry ends inside a character, by the pair alone and exactly.
    bool between_ascii(uint8_t left, uint8_t right) const { return !(ascii_[left][right >> 6] >> (right & 63) & 1); }
    // The same for any two characters.
    bool between_characters(uint32_t left, uint32_t right) const { return !get(pairs_, pair_bit(left, right)); }
    size_t bytes() const { return pairs_.bytes() + open_.bytes() + sizeof ascii_; }

  private:
    static constexpr size_t PAIR_BITS = size_t{1} << 19, OPEN_BITS = size_t{1} << 16;
    static bool inside_character(uint8_t byte) { return (byte & 0xC0) == 0x80; }
    static size_t length_of(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }
    static uint32_t decode(const uint8_t* p, size_t n) {
        uint32_t code_point = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
        for (size_t i = 1; i < n; i++) code_point = code_point << 6 | (p[i] & 63u);
        return code_point;
    }
    void set_pair(uint32_t left, uint32_t right) {
        set(pairs_, pair_bit(left, right));
        if (left < 0x80 && right < 0x80) ascii_[left][right >> 6] |= uint64_t{1} << (right & 63);
    }
    static size_t pair_bit(uint32_t left, uint32_t right) {
        return ((static_cast<uint64_t>(left) << 21 | right) * HASH_A) >> (64 - 19);
    }
    static size_t open_bit(uint8_t left, uint8_t right) { return static_cast<size_t>(left) << 8 | right; }
    static void set(Table<uint64_t>& bits, size_t i) { bits[i >> 6] |= uint64_t{1} << (i & 63); }
    static bool get(const Table<uint64_t>& bits, size_t i) { return bits[i >> 6] >> (i & 63) & 1; }

    Table<uint64_t> pairs_, open_;
    std::array<std::array<uint64_t, 2>, 0x80> ascii_{};
};

}  // namespace lopt
