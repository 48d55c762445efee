// Of texts and arrays of ids: hashes that are found at the speed of memory, and comparison, whatever the width of units.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "hash.hpp"

namespace lopt {

// Polynomials modulo 2^16 in 32 lanes, which vectors of any width compute side by side. The same for the same numbers in
// units of any width. Far from collision-free: what has the same hash is to be compared.
template <class Unit>
uint64_t content_hash(const Unit* s, size_t n) {
    constexpr size_t LANES = 32;
    constexpr uint16_t FACTOR = 0x9E3B;  // 3 modulo 4: lanes tell what changes places
    const auto fold = [](Unit unit) {
        if constexpr (sizeof(Unit) == 4) return static_cast<uint16_t>(unit ^ (unit >> 16) * 0x9E37u);
        else return static_cast<uint16_t>(unit);
    };
    std::array<uint16_t, LANES> lanes;
    for (size_t j = 0; j < LANES; j++) lanes[j] = static_cast<uint16_t>(j);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) lanes[j] = static_cast<uint16_t>(lanes[j] * FACTOR + fold(s[i + j]));
    for (size_t j = 0; j < LANES && i < n; i++, j++) lanes[j] = static_cast<uint16_t>(lanes[j] * FACTOR + fold(s[i]));
    std::array<uint8_t, sizeof lanes> bytes;
    std::memcpy(bytes.data(), lanes.data(), sizeof lanes);
    return hash_bytes(bytes.data(), bytes.size()) ^ mix(n);
}

template <class A, class B>
bool same_units(const A* a, const B* b, size_t n) {
    if constexpr (sizeof(A) == sizeof(B)) {
        return std::memcmp(a, b, n * sizeof(A)) == 0;
    } else {
        constexpr size_t BLOCK = 256;
        size_t i = 0;
        for (; i + BLOCK <= n; i += BLOCK) {
            uint32_t different = 0;
            for (size_t j = 0; j < BLOCK; j++) different |= static_cast<uint32_t>(a[i + j]) ^ static_cast<uint32_t>(b[i + j]);
            if (different) return false;
        }
        for (; i < n; i++)
            if (static_cast<uint32_t>(a[i]) != static_cast<uint32_t>(b[i])) return false;
        return true;
    }
}

}  // namespace lopt
