// Loops that are compiled twice: for the vectors that every processor has, and for wider ones.
#pragma once

namespace lopt {

// LOPT_WIDER_VECTORS marks the second version, which is called only where `has_wider_vectors()`.
#if defined(__x86_64__) && defined(__GNUC__)
#define LOPT_WIDER_VECTORS [[gnu::target("avx2")]]
inline bool has_wider_vectors() { return __builtin_cpu_supports("avx2"); }
#else
#define LOPT_WIDER_VECTORS
inline bool has_wider_vectors() { return false; }
#endif

}  // namespace lopt
