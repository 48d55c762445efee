// Reads the values of a compiled file in order. Never reads outside the file, whatever it contains.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "text/invalid_utf8.hpp"

namespace lopt {

struct InvalidFileError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A number has four bytes, little endian. Bytes and texts are preceded by their length, and rows by their number. Results
// point into the file.
class FileReader {
    static_assert(std::endian::native == std::endian::little);

  public:
    explicit FileReader(std::string_view file) : rest_(file) {}

    std::string_view take(size_t size) {
        if (size > rest_.size()) throw InvalidFileError("the compiled file is damaged: it ends too early");
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    uint32_t number() {
        uint32_t value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    bool flag() {
        const uint32_t value = number();
        if (value > 1) throw InvalidFileError("the compiled file is damaged: a flag is neither 0 nor 1");
        return value;
    }
    std::string_view bytes() { return take(number()); }
    // Must be valid UTF-8.
    std::string_view text() {
        const std::string_view taken = bytes();
        if (!is_utf8(taken)) throw InvalidFileError("the compiled file is damaged: a text is not UTF-8");
        return taken;
    }
    template <class Element>
    std::vector<Element> array() {
        const std::string_view taken = bytes();
        if (taken.size() % sizeof(Element)) throw InvalidFileError("the compiled file is damaged: an array has half an element");
        std::vector<Element> elements(taken.size() / sizeof(Element));
        if (!elements.empty()) std::memcpy(elements.data(), taken.data(), taken.size());
        return elements;
    }
    // Calls read() for each row; a row contains at least one number.
    template <class Read>
    void each(Read&& read) {
        for (uint32_t left = number(); left > 0; left--) read();
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

}  // namespace lopt
