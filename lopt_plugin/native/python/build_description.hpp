// How the core was built.
#pragma once

#include <string>

#include "base/processor.hpp"
#include "text/ascii_masks.hpp"

namespace lopt {

// The compiler, the processor, and the vectors in use here, such as "g++ 12.2.0 for x86-64 with AVX-512".
inline std::string build_description() {
#if defined(__clang__)
    const std::string compiler = "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
                                 std::to_string(__clang_patchlevel__);
#elif defined(__GNUC__)
    const std::string compiler = "g++ " __VERSION__;
#else
    const std::string compiler = "an unknown compiler";
#endif
#if defined(__x86_64__)
    const std::string processor = "x86-64";
#elif defined(__aarch64__)
    const std::string processor = "arm64";
#else
    const std::string processor = "an unknown processor";
#endif
    return compiler + " for " + processor + " with " + (has_avx512() ? "AVX-512" : VECTORS);
}

}  // namespace lopt
