// A class of bytes, as a table.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace lopt {

// The first byte of [p, end) whose value in the table is not 0; `end` if there is none. Eight bytes at a time: where
// such a byte is found is hard to predict.
template <class Value>
const uint8_t* first_byte_in(const std::array<Value, 256>& table, const uint8_t* p, const uint8_t* end) {
    for (; end - p >= 8; p += 8) {
        unsigned found = 0;
        for (unsigned i = 0; i < 8; i++) found |= static_cast<unsigned>(table[p[i]] != Value{}) << i;
        if (found) return p + std::countr_zero(found);
    }
    while (p < end && table[*p] == Value{}) p++;
    return p;
}

}  // namespace lopt
