// A fixed-size array for tables that are probed at random.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lopt {

// Tables of a megabyte and more lie in 2 MB pages where the system grants them: with 4 KB pages nearly every random
// probe costs a TLB miss on top of the cache miss.
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

    T& operator[](size_t i) { return data_.get()[i]; }
    const T& operator[](size_t i) const { return data_.get()[i]; }
    const T* data() const { return data_.get(); }
    size_t size() const { return size_; }
    size_t bytes() const { return size_ * sizeof(T); }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    static constexpr size_t HUGE_PAGE = size_t{2} << 20;

    void allocate(size_t count) {
        const size_t wanted = count * sizeof(T);
        const size_t alignment = wanted >= HUGE_PAGE / 2 ? HUGE_PAGE : 64;
        const size_t bytes = (wanted + alignment) / alignment * alignment;
        data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        if (alignment == HUGE_PAGE) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
        size_ = count;
    }

    std::unique_ptr<T, Free> data_;
    size_t size_ = 0;
};

inline size_t power_of_two_at_least(size_t n) {
    size_t power = 1;
    while (power < n) power *= 2;
    return power;
}

}  // namespace lopt
