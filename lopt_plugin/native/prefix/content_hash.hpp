// Hashing and comparing texts at memory speed, whatever the width of their units.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/hash.hpp"
#include "text/characters.hpp"

namespace lopt {

// Polynomials modulo 2^16 in 32 lanes, which vectors of any width compute in parallel. Equal characters give equal
// hashes, whatever the width of their units. Collisions are easy to construct, so texts with equal hashes must be
// compared. But without the secret, nobody can choose texts that have different hashes and still fall into one bucket of
// a table.
template <class Unit>
uint64_t content_hash(const Unit* s, size_t n, uint64_t secret) {
    constexpr size_t LANES = 32;
    constexpr uint16_t FACTOR = 0x9E3B;  // 3 modulo 4: lanes detect swapped units
    const auto fold = [](Unit unit) {
        if constexpr (sizeof(Unit) == 4) return static_cast<uint16_t>(unit ^ (unit >> 16) * 0x9E37u);
        else return static_cast<uint16_t>(unit);
    };
    // An int cannot hold every product of two 16-bit numbers.
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

// The length of the common prefix of two texts, found at memory speed.
inline size_t characters_in_common(const Characters& a, const Characters& b) {
    const size_t shorter = std::min(a.length, b.length);
    if (a.data == b.data) return shorter;
    if (a.unit_bytes == b.unit_bytes && std::memcmp(a.data, b.data, shorter * static_cast<size_t>(a.unit_bytes)) == 0) return shorter;
    return visit_units(a, [&](const auto* x) {
        return visit_units(b, [&](const auto* y) {
            using Wider = std::conditional_t<(sizeof *x > sizeof *y), std::decay_t<decltype(*x)>, std::decay_t<decltype(*y)>>;
            constexpr size_t TOGETHER = 128;
            size_t i = 0;
            for (; i + TOGETHER <= shorter; i += TOGETHER) {
                Wider differences = 0;
                for (size_t j = i; j < i + TOGETHER; j++) differences = static_cast<Wider>(differences | (x[j] ^ y[j]));
                if (differences) break;
            }
            while (i < shorter && x[i] == y[i]) i++;
            return i;
        });
    });
}

}  // namespace lopt
