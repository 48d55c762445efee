// The characters of UTF-8 text and their classes.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "text/utf8.hpp"

namespace lopt {

// Bits of the class table. Each is a character set of the reference library (derived by character_classes).
namespace class_bit {
inline constexpr uint16_t letter = 1u << 0;                  // \p{L}
inline constexpr uint16_t mark = 1u << 1;                    // \p{M}
inline constexpr uint16_t upper_side = 1u << 2;              // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
inline constexpr uint16_t lower_side = 1u << 3;              // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
inline constexpr uint16_t number = 1u << 4;                  // \p{N}
inline constexpr uint16_t space = 1u << 5;                   // \s, newlines included
inline constexpr uint16_t newline = 1u << 6;                 // [\r\n]
inline constexpr uint16_t punctuation_or_symbol = 1u << 7;   // [\p{P}\p{S}]
inline constexpr uint16_t cjk = 1u << 8;                     // [一-龥぀-ゟ゠-ヿ]; for Kimi \p{Han}, which then is on neither side
inline constexpr uint16_t hf_punctuation = 1u << 9;          // pre_tokenizers.Punctuation
inline constexpr uint16_t hf_numeric = 1u << 10;             // pre_tokenizers.Digits
inline constexpr uint16_t word = 1u << 11;                   // \w as used by AddedToken(single_word=True)
inline constexpr uint16_t strip_space = 1u << 12;            // \s as used by AddedToken(lstrip=True)
inline constexpr uint16_t nfc_changes = 1u << 13;            // NFC(c) != c
inline constexpr uint16_t nfc_follows = 1u << 14;            // may be reordered or composed with an earlier character
inline constexpr uint16_t decomposes = 1u << 15;             // NFD(c) != c
}  // namespace class_bit

// Class bits in a two-stage table: code point / 128 selects a row of 128 cells.
class ClassTable {
  public:
    static constexpr size_t page_count = 0x110000 / 128;

    // pages: page_count block numbers; cells: 128 per block. Throws std::invalid_argument if they do not match.
    ClassTable(const uint16_t* pages, size_t pages_size, const uint16_t* cells, size_t cells_size)
        : rows_(page_count), cells_(cells, cells + cells_size) {
        if (pages_size != page_count) throw std::invalid_argument("class table: 8704 pages expected");
        for (size_t page = 0; page < page_count; page++) {
            const size_t row = size_t{pages[page]} * 128;
            if (row + 128 > cells_size) throw std::invalid_argument("class table: a page points past the cells");
            rows_[page] = static_cast<uint32_t>(row);
        }
        for (uint32_t code_point = 0; code_point < low_.size(); code_point++) low_[code_point] = of(code_point);
        for (uint32_t start = 0; start < three_byte_rows_.size(); start++) {
            three_byte_rows_[start] = rows_[start >> 1] + (start & 1) * 64;
        }
    }

    uint16_t of(uint32_t code_point) const { return cells_[rows_[code_point >> 7] + (code_point & 127)]; }

    // Returns the class of the character at p, and its length in bytes. The text must be valid UTF-8, and p < end. The
    // marker bits of UTF-8 are removed once for all bytes.
    [[gnu::always_inline]] uint16_t at(const uint8_t* p, [[maybe_unused]] const uint8_t* end, int& length) const {
        assert(p < end);
        const size_t first = p[0];
        if (first < 0x80) {
            length = 1;
            return low_[first];
        }
        if (first < 0xE0) {
            length = 2;
            return low_[(first << 6) + p[1] - ((size_t{0xC0} << 6) + 0x80)];
        }
        if (first < 0xF0) {
            length = 3;
            return of_three_bytes(p);
        }
        return of(decode_character(p, length));
    }
    [[gnu::always_inline]] uint16_t of_three_bytes(const uint8_t* p) const {
        return cells_[three_byte_rows_[(size_t{p[0]} << 6) + p[1] - ((size_t{0xE0} << 6) + 0x80)] + size_t{p[2]} - 0x80];
    }

    // The end of the run of characters at p that have any of the bits in `wanted`.
    const uint8_t* skip(uint16_t wanted, const uint8_t* p, const uint8_t* end) const {
        int length;
        while (p < end && (at(p, end, length) & wanted) != 0) p += length;
        return p;
    }

    // The end of the run of characters at p that have none of the bits in `unwanted`.
    const uint8_t* skip_without(uint16_t unwanted, const uint8_t* p, const uint8_t* end) const {
        int length;
        while (p < end && (at(p, end, length) & unwanted) == 0) p += length;
        return p;
    }

    // Like skip, but for at most `count` characters.
    const uint8_t* skip_at_most(int count, uint16_t wanted, const uint8_t* p, const uint8_t* end) const {
        int length;
        for (; count > 0 && p < end && (at(p, end, length) & wanted) != 0; count--) p += length;
        return p;
    }

    size_t memory_bytes() const { return rows_.size() * sizeof(uint32_t) + cells_.size() * sizeof(uint16_t) + sizeof(*this); }

  private:
    std::vector<uint32_t> rows_;
    std::vector<uint16_t> cells_;
    // The same data, laid out for common texts: a direct table for one-byte and two-byte characters, and rows of 64 cells
    // indexed by the first two bytes of three.
    std::array<uint16_t, 0x800> low_;
    std::array<uint32_t, 0x400> three_byte_rows_;
};

}  // namespace lopt
