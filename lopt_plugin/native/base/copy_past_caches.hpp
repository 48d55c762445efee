// Copies to memory that this processor will not read soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lopt {

inline void copy_past_caches(uint8_t* to, const uint8_t* from, size_t size) {
#if defined(__SSE2__)
    // The lines at both ends are written in two ways, which is slow.
    constexpr size_t LEAST = 4096;
    if (size < LEAST) {
        std::memcpy(to, from, size);
        return;
    }
    size_t i = -reinterpret_cast<uintptr_t>(to) % 64;
    std::memcpy(to, from, i);
    for (; i + 64 <= size; i += 64)
        for (size_t k = i; k < i + 64; k += 16)
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
    _mm_sfence();  // other threads must see it once they see that the work is done
    std::memcpy(to + i, from + i, size - i);
#else
    std::memcpy(to, from, size);
#endif
}

}  // namespace lopt
