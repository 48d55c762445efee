// Tells memory that has decayed: a sum of words in lanes, found at the speed of memory. Any single wrong bit changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "hash.hpp"

namespace lopt {

// Of memory that comes in blocks; the last one may be filled up with zeros.
class Checksum {
  public:
    using Words = uint64_t __attribute__((vector_size(16)));
    static constexpr size_t BLOCK = 4 * sizeof(Words);

    void add(const uint8_t* block) {
        a_ += words(block);
        b_ += words(block + sizeof(Words));
        c_ += words(block + 2 * sizeof(Words));
        d_ += words(block + 3 * sizeof(Words));
    }
    uint64_t value() const {
        uint64_t all = 0;
        for (const Words& sum : {a_, b_, c_, d_}) all = mix(mix(all ^ sum[0]) ^ sum[1]);
        return all;
    }

  private:
    static Words words(const uint8_t* at) {
        Words read;
        std::memcpy(&read, at, sizeof read);
        return read;
    }
    // Spelled out: compilers keep an array of sums in memory, which takes three times as long.
    Words a_{1, 2}, b_{3, 4}, c_{5, 6}, d_{7, 8};
};

// Of memory that is copied at the same time, if `to` is not null.
inline uint64_t checksum(const void* from, size_t bytes, void* to = nullptr) {
    constexpr size_t BLOCK = Checksum::BLOCK;
    Checksum sum;
    const auto* p = static_cast<const uint8_t*>(from);
    auto* out = static_cast<uint8_t*>(to);
    size_t i = 0;
    if (out) {
        for (; i + BLOCK <= bytes; i += BLOCK) {
            sum.add(p + i);
            std::memcpy(out + i, p + i, BLOCK);
        }
    } else {
        for (; i + BLOCK <= bytes; i += BLOCK) sum.add(p + i);
    }
    if (i < bytes) {
        uint8_t rest[BLOCK] = {};
        std::memcpy(rest, p + i, bytes - i);
        sum.add(rest);
        if (out) std::memcpy(out + i, p + i, bytes - i);
    }
    return sum.value();
}

// Copies memory of a known checksum; whether it was intact.
inline bool copy_checked(void* to, const void* from, size_t bytes, uint64_t expected) {
    return checksum(from, bytes, to) == expected;
}

}  // namespace lopt
