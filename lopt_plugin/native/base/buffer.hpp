// Memory for reused buffers: large buffers return to the system as soon as they are freed.
//
// Each thread's heap keeps up to 64 MB of freed memory, so blocks of more than a megabyte are mapped separately.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "base/mapped_memory.hpp"

namespace lopt {

inline void free_memory(void* memory, size_t bytes) { is_mapped(bytes) ? unmap_memory(memory, bytes) : std::free(memory); }

// Returns `to` bytes, at least as many as before, that start with the first `from` bytes of the old block (null if `from` is
// 0). Throws std::bad_alloc.
inline void* move_memory(void* memory, size_t from, size_t to) {
    void* const moved = !is_mapped(to) ? std::realloc(memory, to) : is_mapped(from) ? map_more(memory, from, to) : map_memory(to);
    if (!moved) throw std::bad_alloc();
    if (is_mapped(to) && !is_mapped(from) && from) {
        std::memcpy(moved, memory, from);
        std::free(memory);
    }
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
