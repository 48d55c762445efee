// Of texts: hashes that are found at the speed of memory, and comparison, whatever the width of units.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "checksum.hpp"
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

// Whether two texts are the same, and the second one has that checksum: in one pass, which takes the time of reading them.
template <class A, class B>
bool same_units(const A* a, const B* b, size_t n, uint64_t checksum_of_b) {
    using Wider = std::conditional_t<(sizeof(A) > sizeof(B)), A, B>;
    constexpr size_t BLOCK = Checksum::BLOCK / sizeof(B);
    Checksum sum;
    const auto differences = [&](size_t i, size_t count) {
        Wider all = 0;
        for (size_t j = 0; j < count; j++) all = static_cast<Wider>(all | (static_cast<Wider>(a[i + j]) ^ static_cast<Wider>(b[i + j])));
        return all;
    };
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        if (differences(i, BLOCK)) return false;
        sum.add(reinterpret_cast<const uint8_t*>(b + i));
    }
    if (i < n) {
        if (differences(i, n - i)) return false;
        uint8_t rest[Checksum::BLOCK] = {};
        std::memcpy(rest, b + i, (n - i) * sizeof(B));
        sum.add(rest);
    }
    return sum.value() == checksum_of_b;
}

}  // namespace lopt
