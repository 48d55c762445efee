// Parts of a buffer of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/needs_reference.hpp"
#include "base/none.hpp"

namespace lopt {

// `readable_end`: the end of the readable memory, at or after the end of the text.
struct Text {
    const uint8_t *begin, *end, *readable_end;
};

// The bytes [begin, end) of a text.
struct Span {
    const uint8_t *begin, *end;
};

// An added token, or a stretch between added tokens (`token` is NONE).
struct Segment {
    const uint8_t *begin, *end;
    uint32_t token;
};

// Number of readable bytes after the end of each buffer that the core owns.
inline constexpr size_t READABLE_AFTER = 64;

// Positions in a text are stored in 32 bits, signed or unsigned.
inline void check_length(size_t bytes) {
    if (bytes > INT32_MAX) throw NeedsReference("texts of more than 2^31 - 1 bytes are left to Hugging Face");
}

}  // namespace lopt
