// Detects AVX-512, for which some loops have a second version; checked once per process.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
// An attribute for functions that use AVX-512. The instructions that compress bytes need Ice Lake or Zen 4.
#define LOPT_AVX512 gnu::target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")
#endif

namespace lopt {

// LOPT_CPU=v2 disables AVX-512, so that the other loops can be tested on any processor.
inline bool has_avx512() {
#if defined(LOPT_AVX512)
    static const bool found = [] {
        const char* const wanted = std::getenv("LOPT_CPU");
        if (wanted && std::string_view(wanted) == "v2") return false;
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
               __builtin_cpu_supports("avx512vbmi2");
    }();
    return found;
#else
    return false;
#endif
}

}  // namespace lopt
