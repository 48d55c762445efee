// Copies pre-tokens into one buffer, if text between them is dropped or if each is followed by a byte that the text does
// not contain. A window over the copies is resolved like a window over text.
#pragma once

#include <cstring>

#include "base/buffer.hpp"
#include "bpe/vocabulary.hpp"
#include "bpe/window.hpp"

namespace lopt {

class WordBuffer {
  public:
    // Starts a window at the start of the buffer, with room for `bytes`. Discards the previous contents.
    void start(Window& window, size_t bytes = 0) {
        const size_t wanted = bytes + MARGIN;
        if (memory_.size() < wanted) memory_.resize(wanted > LEAST ? wanted : LEAST);
        window.start(memory_.data());
    }
    // Do `bytes` more bytes, including any that follow the words, fit after the window?
    bool fits(const Window& window, size_t bytes) const { return used(window) + bytes + MARGIN <= memory_.size(); }
    // Copies a word, which must fit, and END_OF_WORD to the end of the window; returns its address. May read text up to
    // `readable_end`.
    const uint8_t* copy(const Window& window, const uint8_t* p, size_t length, const uint8_t* readable_end) {
        uint8_t* to = memory_.data() + used(window);
        if (length <= SHORT && readable_end - p >= static_cast<ptrdiff_t>(SHORT)) std::memcpy(to, p, SHORT);
        else std::memcpy(to, p, length);
        to[length] = END_OF_WORD;
        return to;
    }
    const uint8_t* readable_end() const { return memory_.data() + memory_.size(); }
    size_t keep_at_most(size_t bytes) { return lopt::keep_at_most(bytes, memory_); }

  private:
    size_t used(const Window& window) const { return static_cast<size_t>(window.end() - memory_.data()); }

    static constexpr size_t SHORT = 16, MARGIN = 128, LEAST = 32 << 10;

    Buffer<uint8_t> memory_;
};

}  // namespace lopt
