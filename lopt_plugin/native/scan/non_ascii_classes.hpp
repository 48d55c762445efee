// The classes of non-ASCII characters in a window, as bit masks like those for ASCII.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "text/ascii_masks.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Limits that the non-ASCII characters of a 64-byte window impose.
struct WindowBounds {
    uint64_t valid = ~uint64_t{0};  // bytes below the first character that the window cannot judge
    uint64_t continuation = 0;      // all bytes of characters except their first bytes

    // All bytes of the characters whose first bytes are in `first`.
    uint64_t whole(uint64_t first) const {
        return first | (((((first << 1) & continuation) + continuation) ^ continuation) & continuation);
    }
    // Removes the lowest of `places`, and everything above it, from `valid`.
    void end_below(uint64_t places) { valid &= (places & (~places + 1)) - 1; }
};

// The class bits of the non-ASCII cells of a window. A cell is a byte or a character; bit i of a mask stands for cell i.
class CellClasses {
  public:
    // The cells with any of these class bits. Only the low eight bits are allowed, without `newline`.
    uint64_t having(uint8_t bits) const { return bytes_having(kinds_, bits) & high_; }
    uint64_t having_extra() const { return having(EXTRA_KIND); }
    const WindowBounds& bounds() const { return bounds_; }

    // The class bits that a cell keeps. extra: one above the low eight.
    static uint8_t kept(uint16_t found, uint16_t extra) {
        return static_cast<uint8_t>((found & 0xFFu & ~uint32_t{EXTRA_KIND}) | ((found & extra) != 0 ? EXTRA_KIND : 0u));
    }

  protected:
    uint64_t high_ = 0;  // the cells that are not ASCII
    WindowBounds bounds_;
    alignas(16) uint8_t kinds_[64 + 4] = {};

  private:
    static constexpr uint8_t EXTRA_KIND = class_bit::newline;  // no non-ASCII character has this class
};

// The classes of the non-ASCII characters among the 64 bytes at p, set on every byte of each character. Stops at the
// first number or white space, which are rare and which no window step judges. The last character is read to its end,
// even past the window.
class NonAsciiClasses : public CellClasses {
  public:
    // high: mask of the non-ASCII bytes. extra: a class bit above the low eight to keep, see having_extra.
    NonAsciiClasses(const ClassTable& table, const uint8_t* p, uint64_t high, uint16_t extra = 0) {
        high_ = high;
        bounds_.continuation = continuation_bytes(p);
        int at = 0, length = 0;
        for (uint64_t firsts = high & ~bounds_.continuation; firsts != 0; firsts &= firsts - 1) {
            at = __builtin_ctzll(firsts);
            const uint16_t found = table.at(p + at, p + 64, length);
            if ((found & (class_bit::number | class_bit::space)) != 0) {
                bounds_.end_below(uint64_t{1} << at);
                return;
            }
            // Always writes four bytes: the next character overwrites any excess, and ASCII is masked out.
            const uint32_t on_all_bytes = kept(found, extra) * 0x01010101u;
            std::memcpy(kinds_ + at, &on_all_bytes, sizeof on_all_bytes);
        }
        if (at + length > 64) bounds_.end_below(uint64_t{1} << at);
    }
};

// The classes of up to 64 consecutive characters, with one cell for each. Numbers and white space are in the same masks as
// those of ASCII.
class CharacterClasses : public CellClasses {
  public:
    // kinds: what is kept of each character below U+10000.
    CharacterClasses(const uint8_t* kinds, const uint32_t* characters, uint32_t count) {
        bounds_.valid = count < 64 ? (uint64_t{1} << count) - 1 : ~uint64_t{0};
        for (uint32_t i = 0; i < count; i++) kinds_[i] = kinds[characters[i]];
    }
    // Adds a character after those, fewer than 64.
    void add(uint32_t count, uint8_t kept) {
        kinds_[count] = kept;
        bounds_.valid |= uint64_t{1} << count;
    }
    // The masks of the characters, whose first bytes are in the 64 bytes at p.
    AsciiMasks masks(const uint8_t* p) {
        AsciiMasks masks = AsciiMasks::of(p);
        high_ = masks.high;
        const uint64_t digit = having(class_bit::number), white = having(class_bit::space);
        masks.digit |= digit;
        masks.white |= white;
        masks.high &= ~(digit | white);
        return masks;
    }
};

// The interface of CellClasses for a window of ASCII.
struct NoNonAscii {
    static constexpr uint64_t having(uint8_t) { return 0; }
    static constexpr uint64_t having_extra() { return 0; }
    static constexpr WindowBounds bounds() { return {}; }
};

// Implements a scanner's `starts_of` and `starts_among` (scanner.hpp) with its starts_in(p, masks, others), where `others` is
// one of the classes above. Only ASCII that follows an apostrophe is read at p.
template <class Scanner, uint16_t extra = 0>
struct WindowScanner {
    [[gnu::always_inline]] static uint64_t starts_of(const ClassTable& table, const uint8_t* p, const AsciiMasks& masks) {
        if (masks.high != 0) return starts_beyond_ascii(table, p, masks);
        return Scanner::starts_in(p, masks, NoNonAscii());
    }
    [[gnu::noinline]] static uint64_t starts_among(CharacterClasses& classes, const uint8_t* first_bytes) {
        const AsciiMasks masks = classes.masks(first_bytes);
        return Scanner::starts_in(first_bytes, masks, classes);
    }
    static uint8_t kept(uint16_t found) { return CellClasses::kept(found, extra); }
    // The `kinds` of CharacterClasses.
    static std::vector<uint8_t> kinds(const ClassTable& table) {
        std::vector<uint8_t> found(0x10000);
        for (uint32_t c = 0; c < found.size(); c++) found[c] = kept(table.of(c));
        return found;
    }

  private:
    // Not inlined, so that the ASCII step stays small.
    [[gnu::noinline]] static uint64_t starts_beyond_ascii(const ClassTable& table, const uint8_t* p, const AsciiMasks& masks) {
        return Scanner::starts_in(p, masks, NonAsciiClasses(table, p, masks.high, extra));
    }
};

}  // namespace lopt
