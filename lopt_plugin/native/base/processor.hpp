// Whether the processor has AVX-512, for which some loops are compiled as well; chosen once a process.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
// For a function that uses them. Those that compress bytes came with Ice Lake and Zen 4.
#define LOPT_AVX512 gnu::target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")
#endif

namespace lopt {

// LOPT_CPU=v2 says no, so that the loops without AVX-512 can be tested where it is there.
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
