// UTF-8 encoding and decoding. Decoding requires valid input unless a function says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lopt {

inline bool is_surrogate(uint32_t c) { return (c & ~uint32_t{0x7FF}) == 0xD800; }
inline bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }
// Can the byte occur in a text?
inline bool in_utf8(size_t byte) { return byte != 0xC0 && byte != 0xC1 && byte <= 0xF4; }
inline size_t bytes_of_character(uint32_t c) { return size_t{1} + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000); }
// The length in bytes of a character with this first byte.
inline int character_bytes(uint8_t first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

// The character whose first byte is at p.
[[gnu::always_inline]] inline uint32_t decode_character(const uint8_t* p, int& length) {
    const uint32_t first = p[0];
    if (first < 0x80) {
        length = 1;
        return first;
    }
    if (first < 0xE0) {
        length = 2;
        return (first & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    }
    if (first < 0xF0) {
        length = 3;
        return (first & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    length = 4;
    return (first & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

// Writes a character; encodes a lone surrogate the same way. Returns the end.
[[gnu::always_inline]] inline uint8_t* encode_character(uint32_t c, uint8_t* out) {
    if (c < 0x80) {
        out[0] = static_cast<uint8_t>(c);
        return out + 1;
    }
    if (c < 0x800) {
        out[0] = static_cast<uint8_t>(0xC0 | c >> 6);
        out[1] = static_cast<uint8_t>(0x80 | (c & 63));
        return out + 2;
    }
    if (c < 0x10000) {
        out[0] = static_cast<uint8_t>(0xE0 | c >> 12);
        out[1] = static_cast<uint8_t>(0x80 | (c >> 6 & 63));
        out[2] = static_cast<uint8_t>(0x80 | (c & 63));
        return out + 3;
    }
    out[0] = static_cast<uint8_t>(0xF0 | c >> 18);
    out[1] = static_cast<uint8_t>(0x80 | (c >> 12 & 63));
    out[2] = static_cast<uint8_t>(0x80 | (c >> 6 & 63));
    out[3] = static_cast<uint8_t>(0x80 | (c & 63));
    return out + 4;
}
// The bytes [p, end).
inline std::string_view text_between(const uint8_t* p, const uint8_t* end) {
    return {reinterpret_cast<const char*>(p), static_cast<size_t>(end - p)};
}
inline void append_character(uint32_t c, std::string& out) {
    uint8_t bytes[4];
    out += text_between(bytes, encode_character(c, bytes));
}

// Three-byte characters: Chinese, Japanese, Korean, Indic scripts, Thai and others.
inline bool begins_three_bytes(const uint8_t* p) { return (*p & 0xF0) == 0xE0; }
// Are three arbitrary bytes such a character?
inline bool are_three_bytes(const uint8_t* p) { return begins_three_bytes(p) && is_continuation(p[1]) && is_continuation(p[2]); }
inline uint32_t decode_three_bytes(const uint8_t* p) { return ((uint32_t{p[0]} << 12) + (uint32_t{p[1]} << 6) + p[2]) - ((0xE0u << 12) + (0x80u << 6) + 0x80u); }
inline uint8_t first_of_three_bytes(uint32_t c) { return static_cast<uint8_t>(0xE0 | c >> 12); }
inline uint8_t last_of_three_bytes(uint32_t c) { return static_cast<uint8_t>(0x80 | (c & 63)); }

// The first byte of the character that contains p, or that ends before p.
inline const uint8_t* character_start(const uint8_t* p) {
    while (is_continuation(*p)) p--;
    return p;
}
inline const uint8_t* character_before(const uint8_t* p) { return character_start(p - 1); }

// Of a text that is not empty.
inline uint32_t first_character(std::string_view text) {
    int length;
    return decode_character(reinterpret_cast<const uint8_t*>(text.data()), length);
}
inline uint32_t last_character(std::string_view text) {
    int length;
    return decode_character(character_before(reinterpret_cast<const uint8_t*>(text.data()) + text.size()), length);
}

inline size_t count_characters(const uint8_t* p, const uint8_t* end) {
    constexpr ptrdiff_t BLOCK = 192;  // few enough to count the characters in one byte
    size_t count = 0;
    for (; end - p >= BLOCK; p += BLOCK) {
        uint8_t in_block = 0;
        for (ptrdiff_t i = 0; i < BLOCK; i++) in_block = static_cast<uint8_t>(in_block + !is_continuation(p[i]));
        count += in_block;
    }
    for (; p < end; p++) count += !is_continuation(*p);
    return count;
}
// The same for a text of at most 2^31 - 1 bytes of whole characters. `ascii`: they are ASCII.
inline int32_t characters_between(const uint8_t* p, const uint8_t* end, bool ascii) {
    return static_cast<int32_t>(ascii || end - p <= 1 ? end - p : static_cast<ptrdiff_t>(count_characters(p, end)));
}
inline size_t characters_in(std::string_view text) {
    const auto* p = reinterpret_cast<const uint8_t*>(text.data());
    return count_characters(p, p + text.size());
}

inline std::vector<uint32_t> code_points_of(std::string_view text) {
    std::vector<uint32_t> code_points;
    const auto* p = reinterpret_cast<const uint8_t*>(text.data());
    int length;
    for (const auto* const end = p + text.size(); p < end; p += length) code_points.push_back(decode_character(p, length));
    return code_points;
}

}  // namespace lopt
