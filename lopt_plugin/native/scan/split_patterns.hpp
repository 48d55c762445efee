// The named split patterns, each as a function that returns the end of a match: the straightforward form, for
// refinements.
#pragma once

#include <cstdint>
#include <string_view>

#include "scan/scanner.hpp"
#include "scan/whitespace.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Bits of byte_classes (one entry per byte): properties of the character that represents the byte after ByteLevel.
inline constexpr uint8_t byte_is_numeric = 1u << 0;
inline constexpr uint8_t byte_is_punctuation = 1u << 1;

// A text, and the properties of its characters that patterns need. After ByteLevel, every byte is one character.
struct SplitText {
    const ClassTable& classes;
    const uint8_t* byte_classes;
    bool after_byte_level;
    const uint8_t *begin, *end;

    int length_at(const uint8_t* p) const {
        int length = 1;
        if (!after_byte_level) decode_character(p, length);
        return length;
    }
    bool is_numeric(const uint8_t* p) const { return has(p, class_bit::hf_numeric, byte_is_numeric); }
    bool is_punctuation(const uint8_t* p) const { return has(p, class_bit::hf_punctuation, byte_is_punctuation); }

  private:
    bool has(const uint8_t* p, uint16_t bit, uint8_t byte_bit) const {
        int length;
        return after_byte_level ? (byte_classes[*p] & byte_bit) != 0 : (classes.at(p, end, length) & bit) != 0;
    }
};

// End of the leftmost-first match that begins at p < text.end; nullptr if there is none. No pattern has an empty match.
using MatchEnd = const uint8_t* (*)(const SplitText& text, const uint8_t* p);

struct SplitPattern {
    std::string_view name;
    MatchEnd match_end;
    bool knows_byte_level = false;  // whether match_end takes after_byte_level into account
    bool covers = false;            // whether the matches cover every text
    bool separates_lines = false, separates_capitals = false;  // see scanner.hpp
};

namespace split_pattern {

// Scanners of a single pattern that matches everywhere serve as their own matchers.
template <class Scanner>
const uint8_t* whole_pattern(const SplitText& text, const uint8_t* p) {
    return Scanner::next(text.classes, p, text.end);
}
template <class Scanner>
inline constexpr SplitPattern of_scanner{.name = Scanner::name, .match_end = whole_pattern<Scanner>, .covers = true,
                                         .separates_lines = Scanner::separates_lines, .separates_capitals = Scanner::separates_capitals};

// \p{N}{1,3}
inline const uint8_t* deepseek_numbers(const SplitText& text, const uint8_t* p) {
    const uint8_t* q = text.classes.skip_at_most(3, class_bit::number, p, text.end);
    return q > p ? q : nullptr;
}

// [一-龥぀-ゟ゠-ヿ]+
inline const uint8_t* deepseek_cjk(const SplitText& text, const uint8_t* p) {
    const uint8_t* q = text.classes.skip(class_bit::cjk, p, text.end);
    return q > p ? q : nullptr;
}

// [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
// |\s*[\r\n]+|\s+(?!\S)|\s+
inline const uint8_t* deepseek_main(const SplitText& text, const uint8_t* p) {
    using namespace class_bit;
    const uint8_t* const end = text.end;
    const auto is_ascii_letter = [](uint8_t byte) { return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'); };
    int length;
    const uint16_t first = text.classes.at(p, end, length);

    if (*p < 0x80 && (first & punctuation_or_symbol) != 0) {
        const uint8_t* q = p + 1;
        while (q < end && is_ascii_letter(*q)) q++;
        if (q > p + 1) return q;
    }
    constexpr uint16_t word = letter | mark;
    if ((first & (newline | letter | punctuation_or_symbol)) == 0) {
        const uint8_t* q = text.classes.skip(word, p + length, end);
        if (q > p + length) return q;
    }
    if (const uint8_t* q = text.classes.skip(word, p, end); q > p) return q;

    const uint8_t* const symbols = *p == ' ' ? p + 1 : p;
    if (const uint8_t* q = text.classes.skip(punctuation_or_symbol, symbols, end); q > symbols) {
        return text.classes.skip(newline, q, end);
    }
    return (first & space) != 0 ? whitespace_end(text.classes, p, end) : nullptr;
}

// [0-9][0-9][0-9]; ByteLevel does not change ASCII digits.
inline const uint8_t* three_digits(const SplitText& text, const uint8_t* p) {
    const auto is_digit = [](uint8_t byte) { return byte >= '0' && byte <= '9'; };
    return text.end - p >= 3 && is_digit(p[0]) && is_digit(p[1]) && is_digit(p[2]) ? p + 3 : nullptr;
}

inline const uint8_t* clip(const SplitText& text, const uint8_t* p) {
    return Scanners::Clip::match_end(text.classes, p, text.end);
}

inline const uint8_t* numeric(const SplitText& text, const uint8_t* p) {
    return text.is_numeric(p) ? p + text.length_at(p) : nullptr;
}

inline const uint8_t* punctuation(const SplitText& text, const uint8_t* p) {
    return text.is_punctuation(p) ? p + text.length_at(p) : nullptr;
}

}  // namespace split_pattern

inline constexpr SplitPattern split_patterns[] = {
    split_pattern::of_scanner<Scanners::Gpt2>,
    split_pattern::of_scanner<Scanners::Qwen2>,
    split_pattern::of_scanner<Scanners::Qwen3_5>,
    split_pattern::of_scanner<Scanners::Seed>,
    split_pattern::of_scanner<Scanners::Cl100k>,
    split_pattern::of_scanner<Scanners::O200k>,
    split_pattern::of_scanner<Scanners::Tekken>,
    {"deepseek_numbers", split_pattern::deepseek_numbers},
    {"deepseek_cjk", split_pattern::deepseek_cjk},
    {.name = "deepseek_main", .match_end = split_pattern::deepseek_main, .separates_lines = Scanners::Deepseek::separates_lines},
    {"clip", split_pattern::clip},
    {"three_digits", split_pattern::three_digits, true},
    {"numeric", split_pattern::numeric, true},
    {"punctuation", split_pattern::punctuation, true},
};

}  // namespace lopt
