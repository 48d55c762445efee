// Loops over independent elements on a few threads; used to build tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/thread_pool.hpp"

namespace lopt {

// Calls work(begin, end) in parallel for ranges that cover [0, count); rethrows the first exception.
template <class Work>
void parallel_for(size_t count, Work&& work) {
    constexpr size_t MOST_THREADS = 4, LEAST_PART = 4096;
    const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
    const size_t parts = std::max<size_t>(1, std::min({cores, MOST_THREADS, count / LEAST_PART}));
    ThreadPool().run(parts, parts, [&](size_t part) { work(count * part / parts, count * (part + 1) / parts); });
}

}  // namespace lopt
