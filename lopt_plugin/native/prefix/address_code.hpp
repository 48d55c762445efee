// Addresses in four bytes each. They are read by the million, and half the bytes take half the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/wider_vectors.hpp"

namespace lopt {

// Of addresses that are multiples of eight: eights of bytes above the lowest one where they lie within 32 GB. Elsewhere they
// may lie in two stretches of 16 GB (what Python makes at its start and what it makes later can be far apart): a negative
// code counts down from the end of the highest one.
class AddressCode {
  public:
    AddressCode() = default;
    AddressCode(const void* const* addresses, size_t count) {
        if (count == 0) return;
        uint64_t least = number(addresses[0]), most = least;
        for (size_t i = 1; i < count; i++) {
            least = std::min(least, number(addresses[i]));
            most = std::max(most, number(addresses[i]));
        }
        bases_ = {least, most + UNIT};
        is_one_ = (most - least) / UNIT <= std::numeric_limits<uint32_t>::max();
        known_ = true;
        for (size_t i = 0; i < count; i++) known_ = known_ && decode(code(addresses[i])) == number(addresses[i]);
    }

    // Whether all addresses have a code.
    bool known() const { return known_; }
    uint32_t code(const void* address) const {
        const uint64_t up = (number(address) - bases_.low) / UNIT;
        if (is_one_ || up <= uint64_t{std::numeric_limits<int32_t>::max()}) return static_cast<uint32_t>(up);
        return uint32_t{0} - static_cast<uint32_t>((bases_.high - number(address)) / UNIT);
    }

    // Writes the addresses of `count` codes.
    void write(const uint32_t* codes, size_t count, const void** out) const {
        is_one_ ? write_fast<true>(bases_, codes, count, out) : write_fast<false>(bases_, codes, count, out);
    }
    // Whether these are the addresses of the codes.
    bool same(const uint32_t* codes, size_t count, const void* const* addresses) const {
        return is_one_ ? same_fast<true>(bases_, codes, count, addresses) : same_fast<false>(bases_, codes, count, addresses);
    }

  private:
    static constexpr uint64_t UNIT = 8;
    struct Bases {
        uint64_t low = 0, high = 0;
    };

    static uint64_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }
    template <bool ONE>
    [[gnu::always_inline]] static inline uint64_t decode(const Bases& bases, uint32_t code) {
        if constexpr (ONE) return bases.low + code * UNIT;
        const auto eights = static_cast<int64_t>(static_cast<int32_t>(code));
        return (eights < 0 ? bases.high : bases.low) + static_cast<uint64_t>(eights) * UNIT;
    }
    uint64_t decode(uint32_t code) const { return is_one_ ? decode<true>(bases_, code) : decode<false>(bases_, code); }

    template <bool ONE>
    [[gnu::always_inline]] static inline void write(Bases bases, const uint32_t* __restrict codes, size_t count, const void** __restrict out) {
        for (size_t i = 0; i < count; i++) out[i] = reinterpret_cast<const void*>(static_cast<uintptr_t>(decode<ONE>(bases, codes[i])));
    }
    template <bool ONE>
    LOPT_WIDER_VECTORS static void write_wider(Bases bases, const uint32_t* codes, size_t count, const void** out) {
        write<ONE>(bases, codes, count, out);
    }
    template <bool ONE>
    static void write_fast(Bases bases, const uint32_t* codes, size_t count, const void** out) {
        has_wider_vectors() ? write_wider<ONE>(bases, codes, count, out) : write<ONE>(bases, codes, count, out);
    }
    template <bool ONE>
    [[gnu::always_inline]] static inline bool same(Bases bases, const uint32_t* codes, size_t count, const void* const* addresses) {
        constexpr size_t TOGETHER = 256;
        for (size_t begin = 0; begin < count; begin += TOGETHER) {
            const size_t end = std::min(begin + TOGETHER, count);
            uint64_t differences = 0;
            for (size_t i = begin; i < end; i++) differences |= number(addresses[i]) ^ decode<ONE>(bases, codes[i]);
            if (differences) return false;
        }
        return true;
    }
    template <bool ONE>
    LOPT_WIDER_VECTORS static bool same_wider(Bases bases, const uint32_t* codes, size_t count, const void* const* addresses) {
        return same<ONE>(bases, codes, count, addresses);
    }
    template <bool ONE>
    static bool same_fast(Bases bases, const uint32_t* codes, size_t count, const void* const* addresses) {
        return has_wider_vectors() ? same_wider<ONE>(bases, codes, count, addresses) : same<ONE>(bases, codes, count, addresses);
    }

    Bases bases_;
    bool is_one_ = false, known_ = false;
};

}  // namespace lopt
