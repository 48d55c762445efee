// A part of a text.
#pragma once

#include <cstdint>

namespace lopt {

// The bytes [begin, end) of a text.
struct Span {
    const uint8_t *begin, *end;
};

}  // namespace lopt
