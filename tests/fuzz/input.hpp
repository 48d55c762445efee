// What libFuzzer gives, as a text and some choices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "text/characters.hpp"
#include "text/utf8.hpp"

// Ends the process, so that libFuzzer keeps the input.
#define CHECK(condition) ((condition) ? void() : ::lopt::fuzz::fail(#condition, __FILE__, __LINE__))

namespace lopt::fuzz {

inline const char* current_tokenizer = "none";

[[noreturn]] inline void fail(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: not true: %s; tokenizer: %s\n", file, line, condition, current_tokenizer);
    std::abort();
}

// A string as Python stores it: in the narrowest units, without a byte to spare after it.
class PythonText {
  public:
    explicit PythonText(const std::vector<uint32_t>& code_points) : length_(code_points.size()) {
        uint32_t most = 0;
        for (const uint32_t c : code_points) most = std::max(most, c);
        unit_bytes_ = most < 0x100 ? 1 : most < 0x10000 ? 2 : 4;
        ascii_ = most < 0x80;
        units_.reset(std::malloc(std::max<size_t>(length_ * static_cast<size_t>(unit_bytes_), 1)));
        for (size_t i = 0; i < length_; i++) {
            if (unit_bytes_ == 1) static_cast<uint8_t*>(units_.get())[i] = static_cast<uint8_t>(code_points[i]);
            else if (unit_bytes_ == 2) static_cast<uint16_t*>(units_.get())[i] = static_cast<uint16_t>(code_points[i]);
            else static_cast<uint32_t*>(units_.get())[i] = code_points[i];
        }
    }
    Characters characters() const { return {units_.get(), length_, unit_bytes_, ascii_}; }
    size_t length() const { return length_; }

  private:
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<void, Free> units_;
    size_t length_;
    int unit_bytes_;
    bool ascii_;
};

// Choices are read from the end, and the rest is the text: mutations of one leave the other alone.
class Input {
  public:
    Input(const uint8_t* data, size_t size) : begin_(data), end_(data + size) {}

    uint8_t byte() { return begin_ < end_ ? *--end_ : uint8_t{0}; }
    size_t below(size_t limit) { return byte() % limit; }
    bool flag() { return byte() & 1; }
    size_t number() { return static_cast<size_t>(byte()) << 8 | byte(); }
    bool empty() const { return begin_ == end_; }

    // All that is left, as UTF-8. A byte that is not stands for the character of that number, and one from 0xF8 on repeats
    // what stands before it: long words and runs in a short input. Not more than a few characters for each byte, so that short
    // inputs, of which many are tried, are short texts.
    std::vector<uint32_t> text(size_t most = MOST) {
        std::vector<uint32_t> out;
        most = std::min(most, static_cast<size_t>(end_ - begin_) * 4);
        const uint8_t* p = begin_;
        while (p < end_ && out.size() < most) {
            const int length = character_bytes(*p);
            if (*p >= 0xF8) {
                repeat(*p++, out);
            } else if (*p < 0x80 || !is_character(p, length)) {
                out.push_back(*p++);
            } else {
                int read;
                out.push_back(std::min<uint32_t>(decode_character(p, read), 0x10FFFF));
                p += length;
            }
        }
        out.resize(std::min(out.size(), most));
        end_ = begin_;
        return out;
    }

    static constexpr size_t MOST = 1200;  // characters

  private:
    bool is_character(const uint8_t* p, int length) const {
        if (*p < 0xC2 || end_ - p < length) return false;
        for (int i = 1; i < length; i++)
            if (!is_continuation(p[i])) return false;
        return true;
    }
    static void repeat(uint8_t sign, std::vector<uint32_t>& out) {
        constexpr size_t TIMES[] = {2, 14, 62, 63, 64, 200, 600};
        if (out.empty()) return;
        const size_t length = sign == 0xFF ? std::min<size_t>(out.size(), 8) : 1, times = sign == 0xFF ? 70 : TIMES[sign - 0xF8];
        for (size_t i = 0; i < length * times && out.size() < MOST; i++) {
            const uint32_t c = out[out.size() - length];
            out.push_back(c);
        }
    }

    const uint8_t *begin_, *end_;
};

}  // namespace lopt::fuzz
