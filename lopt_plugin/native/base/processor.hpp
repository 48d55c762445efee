// Detects AVX-512, for which some loops have a second version; checked once per process.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
// An attribute for functions that use AVX-512. The instructions that compress bytes need Ice Lake or Zen 4.
#define LOPT_AVX512 gnu::target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")
#endif

namespace lopt {

#if defined(LOPT_AVX512)
// Asks the processor itself: zig's runtime library, which the wheels of `make wheels` are linked with, answers
// __builtin_cpu_supports with no for everything.
inline bool processor_has_avx512() {
    constexpr unsigned OSXSAVE = 1u << 27, POPCNT = 1u << 23, LZCNT = 1u << 5;                                    // ecx of 1, of 0x80000001
    constexpr unsigned BMI1 = 1u << 3, AVX2 = 1u << 5, BMI2 = 1u << 8, F = 1u << 16, BW = 1u << 30, VL = 1u << 31;  // ebx of 7
    constexpr unsigned VBMI = 1u << 1, VBMI2 = 1u << 6;                                                           // ecx of 7
    constexpr unsigned SAVED = 0xE6;  // the system saves all vector and mask registers
    const auto has = [](unsigned word, unsigned wanted) { return (word & wanted) == wanted; };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, OSXSAVE | POPCNT)) return false;
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has(c, LZCNT)) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, BMI1 | AVX2 | BMI2 | F | BW | VL) || !has(c, VBMI | VBMI2)) return false;
    unsigned saved, high;
    asm volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    return has(saved, SAVED);
}
#endif

// LOPT_CPU=v2 disables AVX-512, so that the other loops can be tested on any processor.
inline bool has_avx512() {
#if defined(LOPT_AVX512)
    static const bool found = [] {
        const char* const wanted = std::getenv("LOPT_CPU");
        if (wanted && std::string_view(wanted) == "v2") return false;
        return processor_has_avx512();
    }();
    return found;
#else
    return false;
#endif
}

}  // namespace lopt
