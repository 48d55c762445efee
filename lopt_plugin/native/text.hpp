// A part of a buffer of UTF-8.
#pragma once

#include <cstdint>

namespace lopt {

// With how far behind its end the buffer may be read.
struct Text {
    const uint8_t *begin, *end, *readable_end;
};

}  // namespace lopt
