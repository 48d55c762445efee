// Memory that the system maps, in pages of 2 MB where it provides them.
//
// Random probes of 4 KB pages nearly always miss the TLB, and each page costs two microseconds when it is first written.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lopt {

inline constexpr size_t HUGE_PAGE = size_t{2} << 20;

#if defined(__linux__)
// Should a block of this size be mapped? Memory from the heap may have been used before, and would keep its small pages.
inline bool is_mapped(size_t bytes) { return bytes >= HUGE_PAGE / 2; }
#else
inline bool is_mapped(size_t) { return false; }
#endif
// What a block of this size takes up at most.
inline size_t block_bytes(size_t bytes) { return is_mapped(bytes) ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes; }

#if defined(__linux__)
// Null if there is none.
inline void* map_memory(size_t bytes) {
    const size_t size = block_bytes(bytes);
    void* const mapped = mmap(nullptr, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<uint8_t*>(mapped);
    const size_t before = (HUGE_PAGE - reinterpret_cast<uintptr_t>(begin) % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(begin, before);
    if (before < HUGE_PAGE) munmap(begin + before + size, HUGE_PAGE - before);
    madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
}
inline void unmap_memory(void* memory, size_t bytes) { munmap(memory, block_bytes(bytes)); }
// Enlarges what is mapped. Null if there is no more memory; the old block is then unchanged.
inline void* map_more(void* memory, size_t from, size_t to) {
    if (block_bytes(from) == block_bytes(to)) return memory;
    void* const moved = map_memory(to);
    if (!moved || mremap(memory, block_bytes(from), block_bytes(to), MREMAP_MAYMOVE | MREMAP_FIXED, moved) == MAP_FAILED) return nullptr;
    return moved;
}
#else
inline void* map_memory(size_t) { return nullptr; }
inline void unmap_memory(void*, size_t) {}
inline void* map_more(void*, size_t, size_t) { return nullptr; }
#endif

}  // namespace lopt
