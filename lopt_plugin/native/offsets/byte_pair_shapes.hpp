// The number of bytes of text that each id of a BPE model covers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"

namespace lopt {

class BytePairShapes {
  public:
    // Number of bytes of an id (0 if unknown), and of leading and trailing spaces among them.
    struct alignas(8) Shape {
        uint16_t bytes = 0, leading = 0, trailing = 0;
    };

    // `unknown` must outlive this object. knows_white_space: names consist of stand-ins for bytes, so the spaces of the
    // text are the spaces of the name.
    BytePairShapes(const Vocabulary& vocabulary, const UnknownCharacters& unknown, bool knows_white_space)
        : unknown_(unknown), knows_white_space_(knows_white_space), shapes_(size_t{vocabulary.max_id()} + 1) {
        for (const auto& [name, id] : vocabulary.entries()) {
            std::string_view bytes = name;
            const bool ends_word = vocabulary.ends_words() && static_cast<uint8_t>(bytes.back()) == END_OF_WORD;
            if (ends_word) bytes.remove_suffix(1);
            if (bytes.size() > UINT16_MAX) continue;
            const size_t leading = std::min(bytes.find_first_not_of(' '), bytes.size());
            const size_t trailing = ends_word ? 0 : bytes.size() - (bytes.find_last_not_of(' ') + 1);
            shapes_[id] = {static_cast<uint16_t>(bytes.size()), static_cast<uint16_t>(leading), static_cast<uint16_t>(trailing)};
        }
        const uint32_t id = unknown_.unknown_id();
        if (id < shapes_.size()) unknown_entry_ = std::exchange(shapes_[id].bytes, uint16_t{0});
        for (size_t byte = 0; byte < 256; byte++) {
            dropped_[byte] = vocabulary.drops_bytes() && vocabulary.byte_id(static_cast<uint8_t>(byte)) == NONE;
            any_dropped_ |= dropped_[byte];
        }
    }
    BytePairShapes(const BytePairShapes&) = delete;
    BytePairShapes& operator=(const BytePairShapes&) = delete;

    // An empty shape for an id that is not an entry, and for the unknown token.
    Shape shape_of(uint32_t id) const { return id < shapes_.size() ? shapes_[id] : Shape{}; }
    // Prefetches the shape of an id.
    void fetch(uint32_t id) const { __builtin_prefetch(shapes_.data() + id); }
    // The number of bytes that the unknown token covers at p, in a text that ends at `end`; 0 if this is not that token.
    size_t bytes_at(uint32_t id, const uint8_t* p, const uint8_t* end) const {
        if (id != unknown_.unknown_id()) return 0;
        const size_t unknown = unknown_.unknown_bytes(p, end);
        return unknown ? unknown : unknown_entry_;
    }
    bool knows_white_space() const { return knows_white_space_; }
    // Does the text contain dropped bytes, which no token covers?
    bool holds_dropped(const uint8_t* p, const uint8_t* end) const {
        return any_dropped_ && std::any_of(p, end, [this](uint8_t byte) { return dropped_[byte]; });
    }
    size_t bytes() const { return shapes_.size() * sizeof shapes_[0]; }

  private:
    const UnknownCharacters& unknown_;
    bool knows_white_space_;
    std::vector<Shape> shapes_;
    uint16_t unknown_entry_ = 0;  // length of the entry that is also the unknown token, in bytes
    std::array<bool, 256> dropped_{};
    bool any_dropped_ = false;
};

}  // namespace lopt
