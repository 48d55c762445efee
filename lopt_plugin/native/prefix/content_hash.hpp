// Hashing and comparing texts at the speed of memory, whatever the width of their units.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/hash.hpp"
#include "base/wider_vectors.hpp"

namespace lopt {

// Polynomials modulo 2^16 in 32 lanes, which vectors of any width compute side by side. The same for the same numbers in
// units of any width. Collisions are easy to make: texts with the same hash have to be compared. But without the secret
// nobody can choose texts whose hashes differ and yet fall into one bucket of a table.
template <class Unit>
uint64_t content_hash(const Unit* s, size_t n, uint64_t secret) {
    constexpr size_t LANES = 32;
    constexpr uint16_t FACTOR = 0x9E3B;  // 3 modulo 4: lanes tell what changes places
    const auto fold = [](Unit unit) {
        if constexpr (sizeof(Unit) == 4) return static_cast<uint16_t>(unit ^ (unit >> 16) * 0x9E37u);
        else return static_cast<uint16_t>(unit);
    };
    // Of two numbers of 16 bits, int does not hold every product.
    const auto stepped = [&](uint16_t lane, Unit unit) { return static_cast<uint16_t>(uint32_t{lane} * FACTOR + fold(unit)); };
    std::array<uint16_t, LANES> lanes;
    for (size_t j = 0; j < LANES; j++) lanes[j] = static_cast<uint16_t>(j);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) lanes[j] = stepped(lanes[j], s[i + j]);
    for (size_t j = 0; j < LANES && i < n; i++, j++) lanes[j] = stepped(lanes[j], s[i]);
    std::array<uint8_t, sizeof lanes> bytes;
    std::memcpy(bytes.data(), lanes.data(), sizeof lanes);
    return hash_bytes(bytes.data(), bytes.size(), secret ^ mix(n));
}

namespace detail {

template <class A, class B>
[[gnu::always_inline]] inline bool same_units(const A* a, const B* b, size_t n) {
    static_assert(sizeof(A) >= sizeof(B));
    constexpr size_t TOGETHER = 128;
    const auto differences = [&](size_t i, size_t count) {
        A all = 0;
        for (size_t j = i; j < i + count; j++) all = static_cast<A>(all | (a[j] ^ b[j]));
        return all;
    };
    size_t i = 0;
    for (; i + TOGETHER <= n; i += TOGETHER)
        if (differences(i, TOGETHER)) return false;
    return i == n || !differences(i, n - i);
}
template <class A, class B>
LOPT_WIDER_VECTORS bool same_units_wider(const A* a, const B* b, size_t n) {
    return same_units(a, b, n);
}

}  // namespace detail

// Whether two texts are the same, in the time that reading them takes.
template <class A, class B>
bool same_units(const A* a, const B* b, size_t n) {
    return has_wider_vectors() ? detail::same_units_wider(a, b, n) : detail::same_units(a, b, n);
}

}  // namespace lopt
