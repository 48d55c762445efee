// A fixed-size array for tables that are probed at random positions.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "base/mapped_memory.hpp"

namespace lopt {

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
        size_t bytes = 0;
        void operator()(T* p) const { is_mapped(bytes) ? unmap_memory(p, bytes) : std::free(p); }
    };

    void allocate(size_t count) {
        const size_t wanted = count * sizeof(T);
        void* const memory = is_mapped(wanted) ? map_memory(wanted) : std::aligned_alloc(64, (wanted + 64) / 64 * 64);
        data_ = {static_cast<T*>(memory), Free{wanted}};
        if (!data_) throw std::bad_alloc();
        size_ = count;
    }

    std::unique_ptr<T, Free> data_;
    size_t size_ = 0;
};

// The shift after which a 64-bit hash is an index into a table of this size, a power of two of at least 2.
inline unsigned shift_to_index(size_t size) { return static_cast<unsigned>(__builtin_clzll(size)) + 1; }

}  // namespace lopt
