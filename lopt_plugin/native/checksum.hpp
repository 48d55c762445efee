// Tells memory that has decayed: a sum of words in lanes, found at the speed of memory. Any single wrong bit changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "hash.hpp"

namespace lopt {

// Of memory that is copied at the same time, if `to` is not null.
inline uint64_t checksum(const void* from, size_t bytes, void* to = nullptr) {
    // Spelled out: compilers keep an array of sums in memory, which takes three times as long.
    using Words = uint64_t __attribute__((vector_size(16)));
    constexpr size_t WORDS = sizeof(Words), BLOCK = 4 * WORDS;
    Words a{1, 2}, b{3, 4}, c{5, 6}, d{7, 8};
    const auto words = [](const uint8_t* at) {
        Words read;
        std::memcpy(&read, at, sizeof read);
        return read;
    };
    const auto add = [&](const uint8_t* at) {
        a += words(at);
        b += words(at + WORDS);
        c += words(at + 2 * WORDS);
        d += words(at + 3 * WORDS);
    };
    const auto* p = static_cast<const uint8_t*>(from);
    auto* out = static_cast<uint8_t*>(to);
    size_t i = 0;
    if (out) {
        for (; i + BLOCK <= bytes; i += BLOCK) {
            add(p + i);
            std::memcpy(out + i, p + i, BLOCK);
        }
    } else {
        for (; i + BLOCK <= bytes; i += BLOCK) add(p + i);
    }
    if (i < bytes) {
        uint8_t rest[BLOCK] = {};
        std::memcpy(rest, p + i, bytes - i);
        add(rest);
        if (out) std::memcpy(out + i, p + i, bytes - i);
    }
    uint64_t all = 0;
    for (const Words& sum : {a, b, c, d}) all = mix(mix(all ^ sum[0]) ^ sum[1]);
    return all;
}

// Copies memory of a known checksum; whether it was intact.
inline bool copy_checked(void* to, const void* from, size_t bytes, uint64_t expected) {
    return checksum(from, bytes, to) == expected;
}

}  // namespace lopt
