// Parts of a text as its added tokens divide it.
#pragma once

#include <cstdint>

namespace lopt {

// An added token, or a stretch between added tokens (`token` is NONE, bpe/vocabulary.hpp).
struct Segment {
    const uint8_t *begin, *end;
    uint32_t token;
};

}  // namespace lopt
