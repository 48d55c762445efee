// The number of idle cores, and the number of threads that are worth using.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace lopt {

// The number of idle cores among `cores`, according to a line of /proc/loadavg. Its fourth field is the number of
// runnable threads, including the caller, "/", and the number of all threads. SIZE_MAX if the line does not say.
inline size_t idle_cores(std::string_view load, size_t cores) {
    for (int field = 0; field < 3; field++) {
        const size_t space = load.find(' ');
        if (space == load.npos) return SIZE_MAX;
        load.remove_prefix(space + 1);
    }
    size_t running = 0, digits = 0;
    while (digits < load.size() && digits < 9 && load[digits] >= '0' && load[digits] <= '9') running = running * 10 + static_cast<size_t>(load[digits++] - '0');
    // The caller is running, so a line that reports no runnable thread is unreliable.
    if (running == 0 || digits == load.size() || load[digits] != '/') return SIZE_MAX;
    return cores > running ? cores - running : 0;
}

// The number for this system now; takes a few microseconds. SIZE_MAX if unknown, or if the process may not run on all
// cores.
inline size_t idle_cores() {
#if defined(__linux__)
    static const size_t cores = [] {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        if (online < 1 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return size_t{0};
        return CPU_COUNT(&allowed) < online ? size_t{0} : static_cast<size_t>(online);
    }();
    if (cores == 0) return SIZE_MAX;
    const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file < 0) return SIZE_MAX;
    char line[128];
    const ssize_t length = read(file, line, sizeof line);
    close(file);
    return length > 0 ? idle_cores({line, static_cast<size_t>(length)}, cores) : SIZE_MAX;
#else
    return SIZE_MAX;
#endif
}

// How many of `threads`, including the caller, should work on a text of this length. A second thread that shares a core
// gains nothing: it evicts tables and caches, and the first thread waits for its part. Of many threads, at least half are
// used, because on a large machine a busy core may soon be idle, and a long text leaves time to wait for it.
inline size_t threads_worth(size_t threads, size_t characters) {
    constexpr size_t LONG = size_t{4} << 20;
    if (characters >= LONG) return threads;
    const size_t idle = idle_cores();
    return idle < threads ? std::max(idle + 1, threads / 2) : threads;
}

}  // namespace lopt
