// Memory for reused buffers: large buffers return to the system as soon as they are freed.
//
// Each thread's heap keeps up to 64 MB of freed memory, so blocks of more than a megabyte are mapped separately.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lopt {

#if defined(__linux__)
inline bool is_mapped(size_t bytes) { return bytes >= size_t{1} << 20; }
#else
inline bool is_mapped(size_t) { return false; }
#endif

inline void free_memory(void* memory, size_t bytes) {
#if defined(__linux__)
    if (is_mapped(bytes)) {
        munmap(memory, bytes);
        return;
    }
#endif
    std::free(memory);
}

// Returns `to` bytes that start with the first `from` bytes of the old block (null if `from` is 0). Throws
// std::bad_alloc.
inline void* move_memory(void* memory, size_t from, size_t to) {
#if defined(__linux__)
    if (is_mapped(to)) {
        void* moved = MAP_FAILED;
        if (is_mapped(from)) moved = mremap(memory, from, to, MREMAP_MAYMOVE);
        else moved = mmap(nullptr, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (moved == MAP_FAILED) throw std::bad_alloc();
        if (from && !is_mapped(from)) {
            std::memcpy(moved, memory, from);
            std::free(memory);
        }
        return moved;
    }
#endif
    void* const moved = std::realloc(memory, to);
    if (!moved) throw std::bad_alloc();
    return moved;
}

template <class T>
struct BufferMemory {
    using value_type = T;
    BufferMemory() = default;
    template <class U>
    BufferMemory(const BufferMemory<U>&) {}

    T* allocate(size_t count) { return static_cast<T*>(move_memory(nullptr, 0, count * sizeof(T))); }
    void deallocate(T* memory, size_t count) { free_memory(memory, count * sizeof(T)); }
    bool operator==(const BufferMemory&) const = default;
};
template <class T>
using Buffer = std::vector<T, BufferMemory<T>>;

// Frees the buffer if its capacity exceeds `bytes`; returns the size that it still occupies.
template <class Vector>
size_t keep_at_most(size_t bytes, Vector& buffer) {
    if (buffer.capacity() * sizeof buffer[0] > bytes) Vector().swap(buffer);
    return buffer.capacity() * sizeof buffer[0];
}

}  // namespace lopt
