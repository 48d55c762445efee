// Pipelines that spell blanks as U+2581 and put one in front of a text. Here both are blanks: what the text spells as
// the sign itself becomes one, and nothing else must be changed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lopt {

inline constexpr uint32_t SIGN_OF_BLANK = 0x2581;

enum class PrependScheme { never, first, always };

struct BlankSigns {
    bool in_normalizer;           // before added tokens are looked for in the normalized text
    bool normalizer_prepends;     // each stretch that is normalized gets a blank
    PrependScheme before_blankless;  // behind the added tokens: which stretches get a blank if they begin with none
};

// One mark for every 16 code points, set where a blank's sign may be.
inline std::vector<uint8_t> blank_sign_page_marks() {
    std::vector<uint8_t> marks(0x110000 >> 4, 0);
    marks[SIGN_OF_BLANK >> 4] = 1;
    return marks;
}

// The first sign in [p, end), or end.
inline const uint8_t* find_blank_sign(const uint8_t* p, const uint8_t* end) {
    while (end - p >= 3) {
        p = static_cast<const uint8_t*>(std::memchr(p, 0xE2, static_cast<size_t>(end - p - 2)));
        if (!p) return end;
        if (p[1] == 0x96 && p[2] == 0x81) return p;
        p++;
    }
    return end;
}

// Appends [p, end) with a blank for every sign.
inline void append_with_blanks(const uint8_t* p, const uint8_t* end, std::string& out) {
    while (p < end) {
        const uint8_t* const sign = find_blank_sign(p, end);
        out.append(p, sign);
        if (sign < end) out.push_back(' ');
        p = sign < end ? sign + 3 : end;
    }
}

}  // namespace lopt
