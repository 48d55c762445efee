// A part of a buffer of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lopt {

// With how far behind its end the buffer may be read.
struct Text {
    const uint8_t *begin, *end, *readable_end;
};

// So many bytes behind the end of a buffer of ours may be read.
inline constexpr size_t READABLE_BEHIND = 64;

}  // namespace lopt
