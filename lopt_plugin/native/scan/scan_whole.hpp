// No split.
#pragma once

#include <cstdint>

#include "text/unicode.hpp"

namespace lopt {

// The whole text is one pre-token.
struct WholeScanner {
    static constexpr const char* name = "whole";
    static const uint8_t* next(const ClassTable&, const uint8_t*, const uint8_t* end) { return end; }
    static uint64_t starts(const ClassTable&, const uint8_t*) { return 0; }
};

}  // namespace lopt
