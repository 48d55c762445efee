// Loops over independent elements on a few threads, and groups of elements for threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/thread_pool.hpp"

namespace lopt {

// Divides `count` elements into groups of neighbours, each just large enough to have the size `enough` together, but for the
// last. Returns the first element of each group, and `count`.
template <class SizeOf>
std::vector<size_t> groups_of(size_t count, size_t enough, SizeOf&& size_of) {
    std::vector<size_t> firsts{0};
    for (size_t i = 0, size = 0; i < count; i++) {
        size += size_of(i);
        if (size < enough && i + 1 < count) continue;
        firsts.push_back(i + 1);
        size = 0;
    }
    return firsts;
}

// For tables: calls work(begin, end) in parallel for ranges that cover [0, count); rethrows the first exception.
template <class Work>
void parallel_for(size_t count, Work&& work) {
    constexpr size_t MOST_THREADS = 4, LEAST_PART = 4096;
    const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
    const size_t parts = std::max<size_t>(1, std::min({cores, MOST_THREADS, count / LEAST_PART}));
    ThreadPool().run(parts, parts, [&](size_t part) { work(count * part / parts, count * (part + 1) / parts); });
}

}  // namespace lopt
