// Tells memory that has decayed: sums that add up, so that those of parts are those of the whole, found at the speed of
// memory. Any single wrong bit changes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lopt {

// The sum of all bytes. What is added to it lies in blocks, or is less than one.
class ByteSum {
  public:
#if defined(__SSE2__)
    static constexpr size_t BLOCK = 16;

    void add_block(const uint8_t* p) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        sums_ = _mm_add_epi64(sums_, _mm_sad_epu8(bytes, _mm_setzero_si128()));
    }
    uint64_t value() const { return rest_ + static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(sums_, _mm_unpackhi_epi64(sums_, sums_)))); }
#else
    static constexpr size_t BLOCK = 16;

    void add_block(const uint8_t* p) { add_rest(p, BLOCK); }
    uint64_t value() const { return rest_; }
#endif
    void add_rest(const uint8_t* p, size_t bytes) {
        for (size_t i = 0; i < bytes; i++) rest_ += p[i];
    }

  private:
#if defined(__SSE2__)
    __m128i sums_ = _mm_setzero_si128();
#endif
    uint64_t rest_ = 0;
};

inline uint64_t byte_sum(const uint8_t* p, size_t bytes) {
    ByteSum sum;
    size_t i = 0;
    for (; i + ByteSum::BLOCK <= bytes; i += ByteSum::BLOCK) sum.add_block(p + i);
    sum.add_rest(p + i, bytes - i);
    return sum.value();
}

// Compiled a second time for wider vectors, where the processor has them.
#if defined(__x86_64__) && defined(__GNUC__)
#define LOPT_WIDER_VECTORS [[gnu::target("avx2")]]
inline bool has_wider_vectors() { return __builtin_cpu_supports("avx2"); }
#else
#define LOPT_WIDER_VECTORS
inline bool has_wider_vectors() { return false; }
#endif

namespace detail {

[[gnu::always_inline]] inline uint64_t copy_and_sum(const uint32_t* __restrict from, size_t count, uint32_t* __restrict to) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += to[i] = from[i];
    return sum;
}
LOPT_WIDER_VECTORS inline uint64_t copy_and_sum_wider(const uint32_t* from, size_t count, uint32_t* to) {
    return copy_and_sum(from, count, to);
}

}  // namespace detail

inline uint64_t number_sum(const uint32_t* from, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += from[i];
    return sum;
}

// Copies them, and returns their sum.
inline uint64_t copy_and_sum(const uint32_t* from, size_t count, uint32_t* to) {
    return has_wider_vectors() ? detail::copy_and_sum_wider(from, count, to) : detail::copy_and_sum(from, count, to);
}

}  // namespace lopt
