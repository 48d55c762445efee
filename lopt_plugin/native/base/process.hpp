// The process id, without a system call per use, and objects that every process has for itself.
#pragma once

#include <atomic>
#include <memory>

#include <pthread.h>
#include <unistd.h>

namespace lopt {

namespace detail {
inline std::atomic<pid_t> process{0};  // 0: unknown, for example in a newly forked child
// When the library is loaded. A handler that is registered while another thread forks is not called in that child, which would
// take itself for its parent.
inline const bool told_of_forks = pthread_atfork(nullptr, nullptr, [] { process.store(0, std::memory_order_relaxed); }) == 0;
}  // namespace detail

inline pid_t process_number() {
    pid_t known = detail::told_of_forks ? detail::process.load(std::memory_order_relaxed) : 0;
    if (known == 0) detail::process.store(known = getpid(), std::memory_order_relaxed);
    return known;
}

// An object with a lock, made on first use. A forked child makes another one and abandons the parent's, whose lock may never
// be released there, and whose threads do not exist.
template <class T>
class OfProcess {
  public:
    OfProcess() = default;
    ~OfProcess() {
        Made* made = made_.load();
        if (made && made->process == process_number()) delete made;
    }
    OfProcess(const OfProcess&) = delete;
    OfProcess& operator=(const OfProcess&) = delete;

    T& operator*() {
        Made* made = made_.load();
        if (made && made->process == process_number()) return made->object;
        auto fresh = std::make_unique<Made>();
        // If another thread was faster, its object may have been made before this process was forked.
        return made_.compare_exchange_strong(made, fresh.get()) ? fresh.release()->object : **this;
    }

  private:
    struct Made {
        const pid_t process = process_number();
        T object;
    };

    std::atomic<Made*> made_{nullptr};
};

}  // namespace lopt
