// Pipelines that write spaces as U+2581, the metaspace, and prepend one to a text. The core does the reverse: it turns
// each metaspace in the text into a space, and leaves the rest unchanged.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/alignment.hpp"

namespace lopt {

inline constexpr uint32_t METASPACE = 0x2581;

enum class PrependScheme { never, first, always };

inline PrependScheme prepend_scheme(std::string_view name) {
    if (name == "never") return PrependScheme::never;
    if (name == "first") return PrependScheme::first;
    if (name == "always") return PrependScheme::always;
    throw std::invalid_argument("unknown prepend scheme " + std::string(name));
}

struct Metaspace {
    bool in_normalizer;           // before added tokens are searched in the normalized text
    bool normalizer_prepends;     // prepends a space to each stretch that is normalized
    PrependScheme prepend_scheme;  // after the added tokens: which stretches get a space if they do not begin with one
    bool stays = false;            // keeps metaspaces in the text; the encoder treats them as spaces
};

// Marks the page of 16 code points that contains the metaspace.
inline std::vector<uint8_t> metaspace_page_marks() {
    std::vector<uint8_t> marks(0x110000 >> 4, 0);
    marks[METASPACE >> 4] = 1;
    return marks;
}

// The first metaspace in [p, end), or end.
inline const uint8_t* find_metaspace(const uint8_t* p, const uint8_t* end) {
    while (end - p >= 3) {
        p = static_cast<const uint8_t*>(std::memchr(p, 0xE2, static_cast<size_t>(end - p - 2)));
        if (!p) return end;
        if (p[1] == 0x96 && p[2] == 0x81) return p;
        p++;
    }
    return end;
}

// Replaces each metaspace in [p, end) with a space; returns false if there is none. `sources`: see Normalizer::apply.
inline bool spaces_for_metaspaces(const uint8_t* p, const uint8_t* end, std::string& out, Sources* sources) {
    const uint8_t* sign = find_metaspace(p, end);
    if (sign == end) return false;
    if (sources) sources->keep(p, end);
    for (; sign < end; sign = find_metaspace(p, end)) {
        out.append(p, sign).push_back(' ');
        p = sign + 3;
    }
    out.append(p, end);
    return true;
}

}  // namespace lopt
