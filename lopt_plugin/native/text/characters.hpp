// A string as Python stores it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lopt {

// `length` units of 1, 2 or 4 bytes; each is one character.
struct Characters {
    const void* data;
    size_t length;
    int unit_bytes;
    bool ascii;

    uint32_t operator[](size_t i) const {
        if (unit_bytes == 1) return static_cast<const uint8_t*>(data)[i];
        if (unit_bytes == 2) return static_cast<const uint16_t*>(data)[i];
        return static_cast<const uint32_t*>(data)[i];
    }
    // The characters [from, to).
    Characters part(size_t from, size_t to) const {
        return {static_cast<const uint8_t*>(data) + from * static_cast<size_t>(unit_bytes), to - from, unit_bytes, ascii};
    }
};

// Calls visit(units), a pointer to units of the text's width.
template <class Visit>
decltype(auto) visit_units(const Characters& text, Visit&& visit) {
    if (text.unit_bytes == 1) return visit(static_cast<const uint8_t*>(text.data));
    if (text.unit_bytes == 2) return visit(static_cast<const uint16_t*>(text.data));
    return visit(static_cast<const uint32_t*>(text.data));
}

}  // namespace lopt
