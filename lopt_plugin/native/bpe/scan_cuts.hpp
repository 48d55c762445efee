// Splits a text that has no split pattern into pieces at the vocabulary's own cuts.
//
// Whether a position is a cut depends only on the two characters that meet there, so two scans agree on every cut that
// both reach, wherever they started. One exception: a run of spaces may be a piece of its own (separate_spaces.hpp). It
// begins at a cut and contains none, so a scan that starts inside such a run can differ only at the end of that run.
// Every piece yields at least one id, so cutting finely never makes more pieces than ids.
#pragma once

#include <array>
#include <cstdint>

#include "bpe/cuts.hpp"
#include "bpe/unknown_characters.hpp"
#include "text/ascii_masks.hpp"

namespace lopt {

class CutScanner {
  public:
    static constexpr const char* name = "vocabulary_cuts";
    static constexpr const char* name_before_spaces = "vocabulary_cuts_and_spaces";

    // `before_spaces`: the text is split before every space, whatever the vocabulary says.
    // `separate_spaces`: a run of two to this many spaces is a piece.
    CutScanner(const Cuts& cuts, const UnknownCharacters& unknown, bool before_spaces, size_t separate_spaces)
        : cuts_(cuts), unknown_(unknown), before_spaces_(before_spaces), fuses_(unknown.fuses()),
          separate_spaces_(before_spaces ? 0 : static_cast<int>(separate_spaces)) {
        for (unsigned left = 0; left < 0x80; left++)
            for (unsigned right = 0; right < 0x80; right++)
                ascii_[right << 7 | left] = cuts_ascii(static_cast<uint8_t>(left), static_cast<uint8_t>(right));
        summarize();
    }
    CutScanner(const CutScanner&) = delete;
    CutScanner& operator=(const CutScanner&) = delete;

    // The end of the piece that starts at p < end.
    const uint8_t* next(const uint8_t* p, const uint8_t* end) const {
        if (*p == ' ' && separate_spaces_) {
            const uint8_t* q = p + 1;
            while (q < end && *q == ' ') q++;
            if (q < end && q - p >= 2 && q - p <= separate_spaces_) return q;
        }
        return first_cut(p, end);
    }
    // The first cut after p, judged without looking before p.
    const uint8_t* first_cut(const uint8_t* p, const uint8_t* end) const {
        int length;
        uint32_t left = decode_character(p, length);
        for (p += length; p < end; p += length) {
            const uint32_t right = decode_character(p, length);
            if (between(left, right)) return p;
            left = right;
        }
        return p;
    }

    // The starts of pieces after p among the 64 readable bytes at p, where p is a start itself. `text` marks the bytes
    // that belong to the text.
    uint64_t starts(const uint8_t* p, uint64_t text) const {
        const AsciiMasks m = AsciiMasks::of(p);
        uint64_t found = starts_in_ascii(p, m);
        if (m.high & text) found |= starts_beyond_ascii(p, m.high, text);
        if (separate_spaces_) found |= ends_of_separate_spaces(m.space, found | 1);
        return found & text & ~uint64_t{1};
    }

    // Is the position between these two characters a cut?
    bool between(uint32_t left, uint32_t right) const {
        if ((left | right) < 0x80) return ascii_[right << 7 | left] != 0;
        return beyond_ascii(left, right);
    }

  private:
    // Classes of ASCII characters. For most pairs of classes, either all positions are cuts or none are.
    enum : unsigned { lower, upper, digit, space, other, CLASSES };
    static unsigned class_of(unsigned c) {
        return c >= 'a' && c <= 'z' ? lower : c >= 'A' && c <= 'Z' ? upper : c >= '0' && c <= '9' ? digit : c == ' ' ? space : other;
    }

    bool cuts_ascii(uint8_t left, uint8_t right) const {
        if (before_spaces_ && right == ' ') return true;
        if (fuses_ && unknown_.are_fused(left, right)) return false;
        // Cuts inside words are ignored, except before a capital: they are rare, and every letter would have to be
        // checked. A space belongs to the word that follows it.
        const unsigned a = class_of(left), b = class_of(right);
        const bool in_word = (a <= upper && b <= upper && !(a == lower && b == upper)) || (a == space && b <= upper);
        return !in_word && cuts_.between_ascii(left, right);
    }
    void summarize() {
        for (unsigned a = 0; a < CLASSES; a++)
            for (unsigned b = 0; b < CLASSES; b++) {
                bool all = true, any = false;
                for (unsigned left = 0; left < 0x80; left++)
                    for (unsigned right = 0; right < 0x80; right++)
                        if (class_of(left) == a && class_of(right) == b) {
                            all &= ascii_[right << 7 | left] != 0;
                            any |= ascii_[right << 7 | left] != 0;
                        }
                always_[b][a] = all ? ~uint64_t{0} : 0;
                mixed_[b][a] = any && !all ? ~uint64_t{0} : 0;
                has_mixed_[b] |= any && !all;
            }
    }

    bool beyond_ascii(uint32_t left, uint32_t right) const {
        if (fuses_ && unknown_.are_fused(left, right)) return false;
        return cuts_.between_characters(left, right) | (before_spaces_ & (right == ' '));
    }

    // Starts between two ASCII characters.
    [[gnu::always_inline]] uint64_t starts_in_ascii(const uint8_t* p, const AsciiMasks& m) const {
        const uint64_t of_class[CLASSES] = {m.letter & ~m.upper, m.upper, m.digit, m.space, ~(m.letter | m.digit | m.space | m.high)};
        uint64_t found = 0, open = 0;
        for (unsigned b = 0; b < CLASSES; b++) {
            uint64_t always = 0;
            for (unsigned a = 0; a < CLASSES; a++) always |= of_class[a] & always_[b][a];
            found |= always << 1 & of_class[b];
            if (!has_mixed_[b]) continue;
            uint64_t mixed = 0;
            for (unsigned a = 0; a < CLASSES; a++) mixed |= of_class[a] & mixed_[b][a];
            open |= mixed << 1 & of_class[b];
        }
        for (; open; open &= open - 1) {
            const int at = __builtin_ctzll(open);
            found |= uint64_t{ascii_[static_cast<size_t>(p[at]) << 7 | p[at - 1]]} << at;
        }
        return found;
    }

    // The ends of the runs of spaces that begin at a cut and are pieces of their own.
    uint64_t ends_of_separate_spaces(uint64_t spaces, uint64_t cuts) const {
        uint64_t ends = spaces << 1 & spaces << 2 & ~spaces, found = 0;
        for (; ends; ends &= ends - 1) {
            const int end = __builtin_ctzll(ends);
            const uint64_t others = ~spaces & ((uint64_t{1} << end) - 1);
            const int begin = others ? 64 - __builtin_clzll(others) : 0;
            const bool separate = (cuts >> begin & 1) & (end - begin <= separate_spaces_);
            found |= uint64_t{separate} << end;
        }
        return found;
    }

    // Starts next to a character that is not ASCII.
    [[gnu::noinline]] uint64_t starts_beyond_ascii(const uint8_t* p, uint64_t high, uint64_t text) const {
        uint64_t open = (high | high << 1) & ~continuation_bytes(p) & text & ~uint64_t{1}, found = 0;
        int length;
        uint32_t last = decode_character(p, length);  // the last non-ASCII character before the position
        for (; open; open &= open - 1) {
            const int at = __builtin_ctzll(open);
            const uint32_t right = decode_character(p + at, length), left = p[at - 1] < 0x80 ? p[at - 1] : last;
            found |= uint64_t{beyond_ascii(left, right)} << at;
            last = right < 0x80 ? last : right;
        }
        return found;
    }

    const Cuts& cuts_;
    const UnknownCharacters& unknown_;
    bool before_spaces_, fuses_;
    int separate_spaces_;
    // Indexed by the class of the right and then the left character: all bits set, or none.
    std::array<std::array<uint64_t, CLASSES>, CLASSES> always_{}, mixed_{};
    std::array<bool, CLASSES> has_mixed_{};
    std::array<uint8_t, 0x80 * 0x80> ascii_{};
};

}  // namespace lopt
