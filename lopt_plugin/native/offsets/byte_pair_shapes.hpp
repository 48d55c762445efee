// How many bytes of a text each id of a BPE model stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"

namespace lopt {

class BytePairShapes {
  public:
    struct WhiteSpace {
        uint16_t leading, trailing;
    };
    // Of an id, in one place. MANY spaces: `white_space_of` knows how many.
    struct Shape {
        uint16_t bytes;
        uint8_t leading, trailing;
    };
    static constexpr uint8_t MANY = UINT8_MAX;

    // unknown: outlives this. knows_white_space: names are made of the stand-ins of bytes, so that the spaces among the bytes
    // are those of the name.
    BytePairShapes(const Vocabulary& vocabulary, const UnknownCharacters& unknown, bool knows_white_space)
        : unknown_(unknown), bytes_(size_t{vocabulary.max_id()} + 1, 0), shapes_(knows_white_space ? bytes_.size() : 0, Shape{0, 0, 0}) {
        for (const auto& [name, id] : vocabulary.entries()) {
            std::string_view bytes = name;
            const bool ends_word = vocabulary.ends_words() && static_cast<uint8_t>(bytes.back()) == END_OF_WORD;
            if (ends_word) bytes.remove_suffix(1);
            if (bytes.size() > UINT16_MAX) continue;  // left at 0, which is no length
            bytes_[id] = static_cast<uint16_t>(bytes.size());
            if (!knows_white_space) continue;
            const size_t leading = std::min(bytes.find_first_not_of(' '), bytes.size());
            const size_t trailing = ends_word ? 0 : bytes.size() - (bytes.find_last_not_of(' ') + 1);
            shapes_[id].leading = static_cast<uint8_t>(std::min<size_t>(leading, MANY));
            shapes_[id].trailing = static_cast<uint8_t>(std::min<size_t>(trailing, MANY));
            if (leading < MANY && trailing < MANY) many_.erase(id);
            else many_[id] = {static_cast<uint16_t>(leading), static_cast<uint16_t>(trailing)};
        }
        const uint32_t id = unknown_.unknown_id();
        if (id < bytes_.size()) std::swap(unknown_entry_, bytes_[id]);
        for (size_t i = 0; i < shapes_.size(); i++) shapes_[i].bytes = bytes_[i];
        for (size_t byte = 0; byte < 256; byte++) {
            dropped_[byte] = vocabulary.drops_bytes() && vocabulary.byte_id(static_cast<uint8_t>(byte)) == NONE;
            any_dropped_ |= dropped_[byte];
        }
    }
    BytePairShapes(const BytePairShapes&) = delete;
    BytePairShapes& operator=(const BytePairShapes&) = delete;

    // 0 for an id that is no entry, and for the one that stands for unknown characters.
    uint16_t bytes_of(uint32_t id) const { return id < bytes_.size() ? bytes_[id] : uint16_t{0}; }
    // The same with the spaces of the name. Only where `knows_white_space`.
    Shape shape_of(uint32_t id) const { return id < shapes_.size() ? shapes_[id] : Shape{0, 0, 0}; }
    // Asks for what they are going to read.
    void fetch_bytes(uint32_t id) const { __builtin_prefetch(bytes_.data() + id); }
    void fetch_shape(uint32_t id) const { __builtin_prefetch(shapes_.data() + id); }
    // The same as `bytes_of` for an id of 0 bytes that stands at p, in a text that ends at `end`; 0 where it cannot stand there.
    size_t bytes_at(uint32_t id, const uint8_t* p, const uint8_t* end) const {
        if (id != unknown_.unknown_id()) return 0;
        const size_t unknown = unknown_.unknown_bytes(p, end);
        return unknown ? unknown : unknown_entry_;
    }
    bool knows_white_space() const { return !shapes_.empty(); }
    WhiteSpace white_space_of(uint32_t id) const {
        const Shape shape = shape_of(id);
        if (shape.leading < MANY && shape.trailing < MANY) return {shape.leading, shape.trailing};
        return many_.at(id);
    }
    // Bytes that are dropped stand in no token.
    bool drops_bytes() const { return any_dropped_; }
    bool holds_dropped(const uint8_t* p, const uint8_t* end) const {
        return any_dropped_ && std::any_of(p, end, [this](uint8_t byte) { return dropped_[byte]; });
    }
    size_t count_kept(const uint8_t* p, const uint8_t* end) const {
        return static_cast<size_t>(std::count_if(p, end, [this](uint8_t byte) { return !dropped_[byte]; }));
    }
    size_t bytes() const { return bytes_.size() * sizeof bytes_[0] + shapes_.size() * sizeof shapes_[0]; }

  private:
    const UnknownCharacters& unknown_;
    std::vector<uint16_t> bytes_;
    std::vector<Shape> shapes_;  // empty: names do not show spaces
    std::unordered_map<uint32_t, WhiteSpace> many_;
    uint16_t unknown_entry_ = 0;  // the bytes of the entry that is also the unknown token
    std::array<bool, 256> dropped_{};
    bool any_dropped_ = false;
};

}  // namespace lopt
