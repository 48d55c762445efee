// The text of a call as UTF-8, from the characters of a Python string or from bytes that should be UTF-8.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/buffer.hpp"
#include "base/needs_reference.hpp"
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

// Returns the text itself if it is ASCII, else its UTF-8 in `buffer`. Sets `marked` if it contains characters of pages
// that `page_marks` (see Method, core.hpp) marks. Throws LoneSurrogateError.
inline Text to_utf8(const Characters& text, const uint8_t* page_marks, Buffer<uint8_t>& buffer, bool& marked) {
    if (text.ascii) {
        const auto* data = static_cast<const uint8_t*>(text.data);
        return {data, data + text.length, data + text.length};
    }
    return visit_units(text, [&]<class Unit>(const Unit* s) -> Text {
        uint8_t* const out = room_for(most_utf8_bytes<Unit>(text.length), buffer);
        const Transcoded done = transcode(s, text.length, out, page_marks);
        if (done.lone_surrogate) throw LoneSurrogateError();
        marked = done.marks != 0;
        return {out, out + done.bytes, out + done.bytes + READABLE_AFTER};
    });
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
