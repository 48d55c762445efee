// Loops over independent elements on a few threads, while the tables are built.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lopt {

// Calls work(begin, end) for parts of [0, count) that cover it, side by side; the first exception is thrown again.
template <class Work>
void parallel_for(size_t count, Work&& work) {
    constexpr size_t MOST_THREADS = 4, LEAST_PART = 4096;
    const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
    const size_t parts = std::max<size_t>(1, std::min({cores, MOST_THREADS, count / LEAST_PART}));
    std::mutex mutex;
    std::exception_ptr error;
    const auto run = [&](size_t part) {
        try {
            work(count * part / parts, count * (part + 1) / parts);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    size_t own = 1;
    for (size_t part = 1; part < parts; part++) {
        try {
            threads.emplace_back(run, part);
        } catch (const std::system_error&) {  // no more threads to be had: the caller does that part too
            break;
        }
        own++;
    }
    run(0);
    for (size_t part = own; part < parts; part++) run(part);
    for (auto& thread : threads) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace lopt
