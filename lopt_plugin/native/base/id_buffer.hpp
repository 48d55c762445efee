// A growing array of ids without the zeroing of std::vector.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace lopt {

// `count`, or somewhat more where it is large: memory that one result leaves then fits the next that is a little longer.
// Fresh memory costs more than writing to it, and memory that is not touched costs nothing.
inline size_t roomy(size_t count) {
    if (count < (size_t{1} << 14)) return count;
    const size_t step = std::bit_floor(count) / 4;
    return (count + step - 1) / step * step;
}

class IdBuffer {
  public:
    // Room for `count` more ids after the end; what is written there counts after `set_end`.
    uint32_t* reserve(size_t count) {
        if (capacity_ - size_ < count) grow(count);
        return data_.get() + size_;
    }
    void set_end(const uint32_t* end) { size_ = static_cast<size_t>(end - data_.get()); }
    void push(uint32_t id) {
        *reserve(1) = id;
        size_++;
    }
    void append(const uint32_t* ids, size_t count) {
        uint32_t* out = reserve(count);
        for (size_t i = 0; i < count; i++) out[i] = ids[i];
        size_ += count;
    }
    void clear() { size_ = 0; }
    // Frees the memory that one large text needed.
    void release_above(size_t count) {
        if (capacity_ <= count) return;
        data_.reset();
        capacity_ = size_ = 0;
    }
    const uint32_t* data() const { return data_.get(); }
    size_t size() const { return size_; }
    size_t capacity_bytes() const { return capacity_ * sizeof(uint32_t); }

  private:
    struct Free {
        void operator()(uint32_t* p) const { std::free(p); }
    };
    void grow(size_t count) {
        const size_t wanted = size_ + count, larger = capacity_ * 2;
        const size_t capacity = (wanted > larger ? wanted : larger) + 1024;
        auto* data = static_cast<uint32_t*>(std::realloc(data_.get(), capacity * sizeof(uint32_t)));
        if (!data) throw std::bad_alloc();
        (void)data_.release();
        data_.reset(data);
        capacity_ = capacity;
    }

    std::unique_ptr<uint32_t, Free> data_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace lopt
