// Bytes that may not be UTF-8. As text, each maximal prefix of an incomplete character becomes U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "text/utf8.hpp"

namespace lopt {

inline constexpr std::string_view REPLACEMENT_CHARACTER = "\xEF\xBF\xBD";

// What the bytes at a position begin with: a whole character, bytes that cannot start a character, or an incomplete
// character at the end of the text.
enum class Beginning : uint8_t { whole, broken, unfinished };
struct FirstBytes {
    Beginning kind;
    uint8_t length;
};

// Requires p < end.
inline FirstBytes first_bytes(const uint8_t* p, const uint8_t* end) {
    const uint8_t first = *p;
    if (first < 0x80) return {Beginning::whole, 1};
    if (is_continuation(first) || !in_utf8(first)) return {Beginning::broken, 1};
    // The second byte excludes overlong forms, surrogates and code points above U+10FFFF.
    uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    const auto length = static_cast<uint8_t>(character_bytes(first));
    for (uint8_t i = 1; i < length; i++) {
        if (p + i == end) return {Beginning::unfinished, i};
        if (p[i] < least || p[i] > most) return {Beginning::broken, i};
        least = 0x80;
        most = 0xBF;
    }
    return {Beginning::whole, length};
}

// The end of the ASCII at p, as far as whole groups of eight bytes reach.
inline const uint8_t* skip_ascii(const uint8_t* p, const uint8_t* end) {
    while (end - p >= 8 && !(load64(p) & 0x8080808080808080u)) p += 8;
    return p;
}

// Calls visit(c) for each non-ASCII character. Returns false if the bytes are not UTF-8, possibly after some calls.
template <class Visit>
bool visit_beyond_ascii(std::string_view bytes, Visit&& visit) {
    const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
    const auto* const end = p + bytes.size();
    while ((p = skip_ascii(p, end)) < end) {
        const FirstBytes found = first_bytes(p, end);
        if (found.kind != Beginning::whole) return false;
        int length;
        if (*p >= 0x80) visit(decode_character(p, length));
        p += found.length;
    }
    return true;
}
inline bool is_utf8(std::string_view bytes) {
    return visit_beyond_ascii(bytes, [](uint32_t) {});
}

// Appends the text of the bytes up to an unfinished character at their end; returns the number of bytes consumed.
inline size_t append_repaired(std::string_view bytes, std::string& out) {
    const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
    const auto* const end = p + bytes.size();
    const auto* copied = p;
    const auto copy = [&out, &copied](const uint8_t* to) { out.append(copied, to); };
    while ((p = skip_ascii(p, end)) < end) {
        const FirstBytes found = first_bytes(p, end);
        if (found.kind != Beginning::whole) {
            copy(p);
            if (found.kind == Beginning::unfinished) return found.length;
            out += REPLACEMENT_CHARACTER;
            copied = p + found.length;
        }
        p += found.length;
    }
    copy(end);
    return 0;
}

}  // namespace lopt
