// How many bytes of a text each id of a BPE model stands for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "unknown_characters.hpp"
#include "vocabulary.hpp"

namespace lopt {

class BytePairShapes {
  public:
    struct Blanks {
        uint16_t in_front, behind;
    };

    // unknown: outlives this. tells_blanks: names are made of the stand-ins of bytes, so that the blanks among the bytes
    // are those of the name.
    BytePairShapes(const Vocabulary& vocabulary, const UnknownCharacters& unknown, bool tells_blanks)
        : unknown_(unknown), bytes_(size_t{vocabulary.max_id()} + 1, 0), blanks_(tells_blanks ? bytes_.size() : 0, Blanks{0, 0}) {
        for (const auto& [name, id] : vocabulary.entries()) {
            std::string_view bytes = name;
            const bool ends_word = vocabulary.ends_words() && static_cast<uint8_t>(bytes.back()) == END_OF_WORD;
            if (ends_word) bytes.remove_suffix(1);
            if (bytes.size() > UINT16_MAX) continue;  // left at 0, which is no length
            bytes_[id] = static_cast<uint16_t>(bytes.size());
            if (!tells_blanks) continue;
            const size_t in_front = std::min(bytes.find_first_not_of(' '), bytes.size());
            const size_t behind = ends_word ? 0 : bytes.size() - (bytes.find_last_not_of(' ') + 1);
            blanks_[id] = {static_cast<uint16_t>(in_front), static_cast<uint16_t>(behind)};
        }
        const uint32_t id = unknown_.unknown_id();
        if (id < bytes_.size()) std::swap(unknown_entry_, bytes_[id]);
        for (size_t byte = 0; byte < 256; byte++) {
            dropped_[byte] = vocabulary.drops_bytes() && vocabulary.byte_id(static_cast<uint8_t>(byte)) == NONE;
            any_dropped_ |= dropped_[byte];
        }
    }
    BytePairShapes(const BytePairShapes&) = delete;
    BytePairShapes& operator=(const BytePairShapes&) = delete;

    // 0 for an id that is no entry, and for the one that stands for unknown characters.
    size_t bytes_of(uint32_t id) const { return id < bytes_.size() ? bytes_[id] : 0; }
    // The same for an id of 0 bytes that stands at p, in a text that ends at `end`; 0 where it cannot stand there.
    size_t bytes_at(uint32_t id, const uint8_t* p, const uint8_t* end) const {
        if (id != unknown_.unknown_id()) return 0;
        const size_t unknown = unknown_.unknown_bytes(p, end);
        return unknown ? unknown : unknown_entry_;
    }
    bool tells_blanks() const { return !blanks_.empty(); }
    Blanks blanks_of(uint32_t id) const { return id < blanks_.size() ? blanks_[id] : Blanks{0, 0}; }
    // Bytes that are dropped stand in no token.
    bool drops_bytes() const { return any_dropped_; }
    bool holds_dropped(const uint8_t* p, const uint8_t* end) const {
        return any_dropped_ && std::any_of(p, end, [this](uint8_t byte) { return dropped_[byte]; });
    }
    size_t count_kept(const uint8_t* p, const uint8_t* end) const {
        return static_cast<size_t>(std::count_if(p, end, [this](uint8_t byte) { return !dropped_[byte]; }));
    }
    size_t bytes() const { return bytes_.size() * sizeof bytes_[0] + blanks_.size() * sizeof blanks_[0]; }

  private:
    const UnknownCharacters& unknown_;
    std::vector<uint16_t> bytes_;
    std::vector<Blanks> blanks_;
    uint16_t unknown_entry_ = 0;  // the bytes of the entry that is also the unknown token
    std::array<bool, 256> dropped_{};
    bool any_dropped_ = false;
};

}  // namespace lopt
