// Hashes short keys and byte strings. A hash only chooses a slot; equality is always decided by the full key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace lopt {

inline constexpr uint64_t HASH_A = 0x9E3779B97F4A7C15u;
inline constexpr uint64_t HASH_B = 0xD6E8FEB86659FD93u;
inline constexpr uint64_t HASH_C = 0xE7037ED1A0B428DBu;

inline uint64_t load64(const uint8_t* p) {
    uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Only the high bits are well mixed, so tables use these as indexes.
inline uint64_t hash_words(uint64_t low, uint64_t high) {
    const uint64_t sum = low * HASH_A + high;
    return (sum ^ sum >> 32) * HASH_C;
}

// For tables filled from users' texts, with a secret: without it, nobody can choose keys that have the same hash.
inline uint64_t hash_bytes(const uint8_t* p, size_t n, uint64_t secret = 0) {
    const uint64_t factor = HASH_B ^ secret, add = HASH_A ^ secret;
    uint64_t h = n * HASH_A ^ secret;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) h = fold_multiply(load64(p + i) ^ h, factor) ^ add;
    uint64_t tail = 0;
    if (i < n) std::memcpy(&tail, p + i, n - i);
    return fold_multiply(tail ^ h, HASH_C ^ secret);
}
inline uint64_t new_secret() {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
}

inline uint64_t mix(uint64_t key) {
    key *= HASH_A;
    return key ^ (key >> 32);
}

}  // namespace lopt
