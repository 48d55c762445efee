// Divides a growing text where a pre-token ends among characters that are normalized together. NFC turns `a` U+0301 U+0323 into
// U+1EA1 U+0301, for example, and Qwen's pattern ends a pre-token between these two. No position of the raw text is there. So
// the text is divided after those characters, and the marks that follow the pre-token are kept as they are in the normalized
// text. Normalizing them again does not change them, and the text after them begins apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "growing/growing.hpp"
#include "text/characters.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace lopt {

struct KeptMarks {
    size_t first;   // index of the first of the characters that are normalized together
    size_t after;   // index of the character after them; 0 if the text cannot be divided there
    size_t before;  // how many of their normalized characters the pre-token takes
    std::string marks;
};

// `at`: where the first normalized character after the pre-token comes from, in text[from, to). `end`: where the pre-token ends
// in the normalized stretch [begin, stretch_end).
template <class Core>
KeptMarks kept_marks(const Core& core, const Characters& text, size_t from, size_t to, size_t at, const uint8_t* begin, const uint8_t* end,
                     const uint8_t* stretch_end) {
    constexpr size_t MOST_TOGETHER = 32;
    const auto& segmenter = core.segmenter();
    const auto begins_apart = [&](size_t i) { return !is_surrogate(text[i]) && core.method().begins_apart(text[i]); };
    size_t first = at, after = at + 1;
    while (first > from && at - first < MOST_TOGETHER && !begins_apart(first)) first--;
    while (after < to && after - at < MOST_TOGETHER && !begins_apart(after)) after++;
    if (after == to || !begins_apart(first) || !begins_apart(after)) return {};
    for (size_t i = first + 1; i < after; i++)
        if (is_surrogate(text[i]) || segmenter.may_begin_token(text[i])) return {};
    const std::string made = segmenter.normalized(utf8_of(text, first, after));
    const auto characters = code_points_of(made);
    const auto is_mark = [&](uint32_t c) { return (core.method().classes().of(c) & class_bit::mark) && !segmenter.may_begin_token(c); };
    if (characters.empty() || is_mark(characters[0]) || !std::all_of(characters.begin() + 1, characters.end(), is_mark)) return {};
    const uint8_t* p = end;
    size_t before = 0;
    for (int length; p > begin && before < characters.size() && (before == 0 || is_mark(decode_character(p, length))); before++) p = character_before(p);
    const auto taken = static_cast<size_t>(end - p);
    if (taken >= made.size() || static_cast<size_t>(stretch_end - p) < made.size() || std::memcmp(p, made.data(), made.size()) != 0) return {};
    return {first, after, before, made.substr(taken)};
}

}  // namespace lopt
