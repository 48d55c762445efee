// The integers 0, 1, 2, ... of this process, contiguous and created once. The address of the object for an id or a
// position can therefore be computed, and a list of them is written without touching, allocating or counting anything.
//
// They live as long as the process, so nobody counts references to them (see cpython_layout.hpp). All tokenizers share
// them.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

#include "python/cpython_layout.hpp"

namespace lopt {

// All members except `write` and `at` hold the interpreter lock.
class SharedIntegers {
  public:
    static constexpr size_t MOST = size_t{1} << 20;

    // Creates the integers below `count`. Returns false if that is impossible; PyLong_FromSize_t must then create
    // integers.
    static bool make(size_t count) {
        if (!cpython::trusted() || count > MOST) return false;
        if (count <= made_) return true;
        if (!memory_) {
            // Only pages that are written take up memory.
            void* const room = mmap(nullptr, MOST * cpython::INTEGER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (room == MAP_FAILED) return false;
            memory_ = static_cast<uint8_t*>(room);
        }
        const size_t last = std::min((count + TOGETHER - 1) / TOGETHER * TOGETHER, MOST);
        cpython::make_integers(memory_, made_, last);
        made_ = last;
        return true;
    }
    // Writes the addresses of `count` integers, which must all exist.
    static void write(const uint32_t* integers, size_t count, PyObject** out) {
        uint8_t* const memory = memory_;
        for (size_t i = 0; i < count; i++) out[i] = reinterpret_cast<PyObject*>(memory + size_t{integers[i]} * cpython::INTEGER_BYTES);
    }
    static PyObject* at(size_t i) { return reinterpret_cast<PyObject*>(memory_ + i * cpython::INTEGER_BYTES); }

  private:
    static constexpr size_t TOGETHER = 4096;

    static inline uint8_t* memory_ = nullptr;
    static inline size_t made_ = 0;
};

}  // namespace lopt
