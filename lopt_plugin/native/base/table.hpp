// A fixed-size array for tables that are probed at random positions.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lopt {

// Tables of a megabyte or more use 2 MB pages if the system provides them: with 4 KB pages, nearly every random probe
// costs a TLB miss in addition to the cache miss.
template <class T>
class Table {
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    Table() = default;
    Table(size_t count, const T& fill) { assign(count, fill); }

    void assign(size_t count, const T& fill) {
        allocate(count);
        for (size_t i = 0; i < count; i++) new (data_.get() + i) T(fill);
    }
    // For element types that cannot be copied (atomics): each element is value-initialised.
    void assign_default(size_t count) {
        allocate(count);
        for (size_t i = 0; i < count; i++) new (data_.get() + i) T();
    }

    T& operator[](size_t i) {
        assert(i < size_);
        return data_.get()[i];
    }
    const T& operator[](size_t i) const {
        assert(i < size_);
        return data_.get()[i];
    }
    const T* data() const { return data_.get(); }
    size_t size() const { return size_; }
    size_t bytes() const { return size_ * sizeof(T); }

  private:
    struct Free {
        size_t mapped = 0;  // bytes; 0: not mapped
        void operator()(T* p) const {
#if defined(__linux__)
            if (mapped) {
                munmap(p, mapped);
                return;
            }
#endif
            std::free(p);
        }
    };
    static constexpr size_t HUGE_PAGE = size_t{2} << 20;

    void allocate(size_t count) {
        const size_t wanted = count * sizeof(T);
        data_ = nullptr;
#if defined(__linux__)
        if (wanted >= HUGE_PAGE / 2) data_ = map((wanted + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
#endif
        if (!data_) data_ = {static_cast<T*>(std::aligned_alloc(64, (wanted + 64) / 64 * 64)), Free{}};
        if (!data_) throw std::bad_alloc();
        size_ = count;
    }

#if defined(__linux__)
    // Memory from the heap may have been used before; it would then keep its small pages.
    static std::unique_ptr<T, Free> map(size_t bytes) {
        void* const mapped = mmap(nullptr, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return nullptr;
        auto* const begin = static_cast<uint8_t*>(mapped);
        const size_t before = (HUGE_PAGE - reinterpret_cast<uintptr_t>(begin) % HUGE_PAGE) % HUGE_PAGE;
        if (before) munmap(begin, before);
        if (before < HUGE_PAGE) munmap(begin + before + bytes, HUGE_PAGE - before);
        madvise(begin + before, bytes, MADV_HUGEPAGE);
        return {reinterpret_cast<T*>(begin + before), Free{bytes}};
    }
#endif

    std::unique_ptr<T, Free> data_;
    size_t size_ = 0;
};

// The shift after which a 64-bit hash is an index into a table of this size, a power of two of at least 2.
inline unsigned shift_to_index(size_t size) { return static_cast<unsigned>(__builtin_clzll(size)) + 1; }

}  // namespace lopt
