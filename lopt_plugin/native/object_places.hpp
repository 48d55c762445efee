// Where objects lie, in 32 bits each: a list of known objects is written from half the memory that it takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lopt {

// Objects lie in two regions of memory: the interpreter has those of small numbers from its beginning, the others were
// made later. A place is the distance from the beginning of the region, in units, and which region that is.
class ObjectPlaces {
  public:
    // addresses: of the objects of all ids from 0 to count - 1, which outlive this.
    ObjectPlaces(const void* const* addresses, size_t count) : addresses_(addresses) {
        const auto lowest = [&](auto&& counts) {
            uint64_t found = UINT64_MAX;
            for (size_t id = 0; id < count; id++)
                if (counts(address(id))) found = std::min(found, address(id));
            return found;
        };
        const uint64_t last = count ? address(count - 1) : 0;
        const auto is_near = [last](uint64_t at) { return (at < last ? last - at : at - last) < REGION / 2; };
        regions_[0] = lowest(is_near);
        regions_[1] = lowest([&](uint64_t at) { return !is_near(at); });
        known_ = true;
        for (size_t id = 0; id < count; id++) {
            const uint64_t distance = address(id) - regions_[!is_near(address(id))];
            known_ &= distance < REGION && distance % UNIT == 0;
        }
    }
    // Whether there is a place for each object; `of` and `write` are not to be called otherwise.
    bool known() const { return known_; }
    uint32_t of(uint32_t id) const {
        const uint64_t near = address(id) - regions_[0];
        if (near < REGION) return static_cast<uint32_t>(near / UNIT);
        return FAR | static_cast<uint32_t>((address(id) - regions_[1]) / UNIT);
    }
    // Writes the addresses of objects at these places to `out`; returns the sum of the places.
    uint64_t write(const uint32_t* places, size_t count, const void** __restrict out) const {
        uint64_t sum = 0;
        size_t i = 0;
#if defined(__SSE2__)
        const __m128i zero = _mm_setzero_si128(), low_bits = _mm_set1_epi32(~static_cast<int>(FAR));
        const __m128i near = _mm_set1_epi64x(static_cast<long long>(regions_[0]));
        const __m128i to_far = _mm_set1_epi64x(static_cast<long long>(regions_[1] - regions_[0]));
        __m128i sums = zero;
        const auto put = [&](__m128i distances, __m128i is_far, size_t at) {
            const __m128i region = _mm_add_epi64(near, _mm_and_si128(to_far, is_far));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), _mm_add_epi64(region, _mm_slli_epi64(distances, UNIT_BITS)));
        };
        for (; i + 4 <= count; i += 4) {
            const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(places + i));
            const __m128i distances = _mm_and_si128(four, low_bits), is_far = _mm_srai_epi32(four, 31);
            put(_mm_unpacklo_epi32(distances, zero), _mm_unpacklo_epi32(is_far, is_far), i);
            put(_mm_unpackhi_epi32(distances, zero), _mm_unpackhi_epi32(is_far, is_far), i + 2);
            sums = _mm_add_epi64(sums, _mm_add_epi64(_mm_unpacklo_epi32(four, zero), _mm_unpackhi_epi32(four, zero)));
        }
        sum = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))));
#endif
        for (; i < count; i++) {
            const uint32_t place = places[i];
            out[i] = reinterpret_cast<const void*>(regions_[place >> 31] + uint64_t{place & ~FAR} * UNIT);
            sum += place;
        }
        return sum;
    }

  private:
    static constexpr uint32_t FAR = uint32_t{1} << 31;
    static constexpr int UNIT_BITS = 3;
    static constexpr uint64_t UNIT = uint64_t{1} << UNIT_BITS, REGION = uint64_t{FAR} * UNIT;  // bytes

    uint64_t address(size_t id) const { return reinterpret_cast<uintptr_t>(addresses_[id]); }

    const void* const* addresses_;
    uint64_t regions_[2];
    bool known_ = false;
};

}  // namespace lopt
