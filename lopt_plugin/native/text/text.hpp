// A part of a buffer of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lopt {

// `readable_end`: up to where the buffer may be read, at or after the end of the text.
struct Text {
    const uint8_t *begin, *end, *readable_end;
};

// How many bytes may be read after the end of a buffer of the core's own.
inline constexpr size_t READABLE_AFTER = 64;

}  // namespace lopt
