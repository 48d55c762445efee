// A growing array of ids without the zeroing of std::vector.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <utility>

#include "base/buffer.hpp"

namespace lopt {

// `count`, or somewhat more if it is large, so that the memory of one result also fits the next, slightly longer one.
// Fresh memory costs more than writing to it, and untouched memory costs nothing.
inline size_t roomy(size_t count) {
    if (count < (size_t{1} << 14)) return count;
    const size_t step = std::bit_floor(count) / 4;
    return (count + step - 1) / step * step;
}

class IdBuffer {
  public:
    IdBuffer() = default;
    IdBuffer(IdBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
    IdBuffer& operator=(IdBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~IdBuffer() { free_memory(data_, capacity_ * sizeof(uint32_t)); }

    // Returns room for `count` more ids after the end; `set_end` then adds them.
    uint32_t* reserve(size_t count) {
        if (capacity_ - size_ < count) grow(count);
        return data_ + size_;
    }
    void set_end(const uint32_t* end) {
        assert(data_ <= end && end <= data_ + capacity_);
        size_ = static_cast<size_t>(end - data_);
    }
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
    // Frees the memory if it is larger than `bytes`; returns the size that remains.
    size_t keep_at_most(size_t bytes) {
        if (capacity_ * sizeof(uint32_t) > bytes) *this = IdBuffer();
        return capacity_bytes();
    }
    bool is_much_larger_than_its_ids() const { return capacity_ > 4 * size_ + 4096; }
    const uint32_t* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity_bytes() const { return block_bytes(capacity_ * sizeof(uint32_t)); }

  private:
    void grow(size_t count) {
        const size_t wanted = size_ + count, larger = capacity_ * 2;
        const size_t capacity = (wanted > larger ? wanted : larger) + 1024;
        data_ = static_cast<uint32_t*>(move_memory(data_, capacity_ * sizeof(uint32_t), capacity * sizeof(uint32_t)));
        capacity_ = capacity;
    }

    uint32_t* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace lopt
