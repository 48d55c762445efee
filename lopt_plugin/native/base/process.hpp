// The process id, without a system call per use.
#pragma once

#include <atomic>

#include <pthread.h>
#include <unistd.h>

namespace lopt {

inline pid_t process_number() {
    static std::atomic<pid_t> number{0};  // 0: unknown, for example in a newly forked child
    static const int registered = pthread_atfork(nullptr, nullptr, [] { number.store(0, std::memory_order_relaxed); });
    pid_t known = registered == 0 ? number.load(std::memory_order_relaxed) : 0;
    if (known == 0) number.store(known = getpid(), std::memory_order_relaxed);
    return known;
}

}  // namespace lopt
