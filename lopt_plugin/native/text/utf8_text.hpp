// The text of a call as UTF-8, from the characters of a Python string or from bytes that should be UTF-8.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/needs_reference.hpp"
#include "base/thread_pool.hpp"
#include "text/characters.hpp"
#include "text/invalid_utf8.hpp"
#include "text/text.hpp"
#include "text/transcode.hpp"

namespace lopt {

struct LoneSurrogateError : NeedsReference {
    LoneSurrogateError() : NeedsReference("the text holds a lone surrogate") {}
};

// Returns space for `bytes` bytes in the buffer, plus READABLE_AFTER.
inline uint8_t* room_for(size_t bytes, Buffer<uint8_t>& buffer) {
    if (buffer.size() < bytes + READABLE_AFTER) {
        buffer.clear();
        buffer.resize(bytes + READABLE_AFTER);
    }
    return buffer.data();
}

// Writes UTF-8 to `buffer`, in parallel if the text is long; see to_utf8.
template <class Unit>
Text transcoded(const Unit* s, size_t n, const uint8_t* page_marks, size_t threads, ThreadPool& pool, Buffer<uint8_t>& buffer, bool& marked) {
    constexpr size_t PART = 256 << 10;
    if (threads < 2 || n < 2 * PART) {
        uint8_t* out = room_for(most_utf8_bytes<Unit>(n), buffer);
        const Transcoded done = transcode(s, n, out, page_marks);
        if (done.lone_surrogate) throw LoneSurrogateError();
        marked = done.marks != 0;
        return {out, out + done.bytes, out + done.bytes + READABLE_AFTER};
    }
    const size_t parts = (n + PART - 1) / PART;
    std::vector<size_t> start(parts + 1, 0);
    const auto part_length = [&](size_t i) { return std::min(PART, n - i * PART); };
    pool.run(parts, threads, [&](size_t i) { start[i + 1] = utf8_length(s + i * PART, part_length(i)); });
    for (size_t i = 0; i < parts; i++) start[i + 1] += start[i];
    uint8_t* out = room_for(start[parts], buffer);
    std::vector<Transcoded> done(parts);
    pool.run(parts, threads, [&](size_t i) { done[i] = transcode(s + i * PART, part_length(i), out + start[i], page_marks); });
    for (const auto& part : done) {
        if (part.lone_surrogate) throw LoneSurrogateError();
        marked |= part.marks != 0;
    }
    return {out, out + start[parts], out + start[parts] + READABLE_AFTER};
}

// Returns the text itself if it is ASCII, else its UTF-8 in `buffer`. Sets `marked` if it contains characters of pages
// that `page_marks` (see Method, core.hpp) marks. Throws LoneSurrogateError.
inline Text to_utf8(const Characters& text, const uint8_t* page_marks, size_t threads, ThreadPool& pool, Buffer<uint8_t>& buffer, bool& marked) {
    if (text.ascii) {
        const auto* data = static_cast<const uint8_t*>(text.data);
        return {data, data + text.length, data + text.length};
    }
    return visit_units(text, [&](const auto* s) { return transcoded(s, text.length, page_marks, threads, pool, buffer, marked); });
}

struct InvalidUtf8Error : std::invalid_argument {
    InvalidUtf8Error() : std::invalid_argument("the text is not valid UTF-8") {}
};

// The same for bytes, which are copied unless they are ASCII. Throws InvalidUtf8Error.
inline Text to_utf8(std::string_view bytes, const uint8_t* page_marks, Buffer<uint8_t>& buffer, bool& ascii, bool& marked) {
    ascii = true;
    const bool valid = visit_beyond_ascii(bytes, [&](uint32_t c) {
        ascii = false;
        marked |= page_marks[c >> 4] != 0;
    });
    if (!valid) throw InvalidUtf8Error();
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    if (ascii) return {data, data + bytes.size(), data + bytes.size()};
    uint8_t* const out = room_for(bytes.size(), buffer);
    std::memcpy(out, data, bytes.size());
    return {out, out + bytes.size(), out + bytes.size() + READABLE_AFTER};
}

}  // namespace lopt
