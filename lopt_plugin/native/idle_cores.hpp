// Whether other threads would find a core for themselves.
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

// Of so many cores, those that nothing runs on, as a line of /proc/loadavg has it: its fourth field is what can run now,
// with who asks, "/", and all there is. SIZE_MAX if it cannot be read from it.
inline size_t idle_cores(std::string_view load, size_t cores) {
    for (int field = 0; field < 3; field++) {
        const size_t blank = load.find(' ');
        if (blank == load.npos) return SIZE_MAX;
        load.remove_prefix(blank + 1);
    }
    size_t running = 0, digits = 0;
    while (digits < load.size() && digits < 9 && load[digits] >= '0' && load[digits] <= '9') running = running * 10 + static_cast<size_t>(load[digits++] - '0');
    // Who asks runs: a system that says otherwise does not count.
    if (running == 0 || digits == load.size() || load[digits] != '/') return SIZE_MAX;
    return cores > running ? cores - running : 0;
}

// The same of this system now, which takes some microseconds; SIZE_MAX where it is not known, or where the process may
// not run on all cores.
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

// How many of `threads`, with the caller, work on a text of so many characters. Of two that share a core with something else,
// one does as much as it takes away: moved tables and caches, and a part that the other waits for. Of many, half at least are
// worth it: a busy core is shared, and what is busy on a large machine is not known to stay so. With a long text there is time
// for it to end.
inline size_t threads_worth(size_t threads, size_t characters) {
    constexpr size_t LONG = size_t{4} << 20;
    if (threads < 2 || characters >= LONG) return threads;
    const size_t idle = idle_cores();
    return idle < threads ? std::max(idle + 1, threads / 2) : threads;
}

}  // namespace lopt
