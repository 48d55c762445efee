// The offsets of one text, and the NumPy array that owns them.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "python/python_arguments.hpp"
#include "text/alignment.hpp"

namespace lopt {

// Offsets of ids [first, last) of a text.
struct OffsetArray {
    struct Free {
        void operator()(Offset* p) const { std::free(p); }
    };

    OffsetArray() = default;
    OffsetArray(size_t first_id, size_t last_id) : data(static_cast<Offset*>(std::malloc(last_id * sizeof(Offset) + 1))), first(first_id), last(last_id) {
        if (!data) throw std::bad_alloc();
    }
    size_t count() const { return last - first; }

    std::unique_ptr<Offset[], Free> data;
    size_t first = 0, last = 0;
};

inline nb::ndarray<nb::numpy, int32_t, nb::ndim<2>> array_of_offsets(OffsetArray offsets) {
    Offset* data = offsets.data.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(data + offsets.first, {offsets.last - offsets.first, 2}, owner);
}

}  // namespace lopt
