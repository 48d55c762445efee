// The character map of a Precompiled normalizer, as SentencePiece writes it: a double-array trie of byte strings, and
// their replacements.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf8.hpp"

namespace lopt {

class Charsmap {
  public:
    // `map`: the trie's size in bytes (32 bits, little endian), the trie, and the replacements, each valid UTF-8
    // terminated by a zero byte. Throws std::invalid_argument for anything else. The other methods throw it if the trie
    // points outside itself.
    explicit Charsmap(std::string_view map) {
        uint32_t size = 0;
        if (map.size() < sizeof size) throw std::invalid_argument("a character map is too short");
        std::memcpy(&size, map.data(), sizeof size);
        map.remove_prefix(sizeof size);
        if (size == 0 || size % sizeof(uint32_t) || size > map.size()) throw std::invalid_argument("a character map has no trie");
        units_.resize(size / sizeof(uint32_t));
        std::memcpy(units_.data(), map.data(), size);
        images_ = map.substr(size);
    }

    // The replacement of the shortest key that is a prefix of the text; nothing if there is none.
    std::optional<std::string_view> image_of(std::string_view text) const {
        std::optional<uint32_t> found;
        walk(text, [&found](uint32_t value) {
            found = value;
            return false;
        });
        if (!found) return {};
        if (*found >= images_.size()) throw std::invalid_argument("a character map points past its images");
        const std::string_view image = std::string_view(images_).substr(*found);
        if (is_continuation(static_cast<uint8_t>(image[0]))) throw std::invalid_argument("a character map points into a character");
        return image.substr(0, image.find('\0'));
    }
    // Can a text of at most `most` bytes that begins like this begin with a key? True if more steps than are left would be needed.
    bool begins_key(std::string_view text, size_t most, size_t& steps) const {
        if (steps == 0) return true;
        steps--;
        bool found = false;
        const bool goes_on = walk(text, [&found](uint32_t) { return !(found = true); });
        if (found || !goes_on || text.size() >= most) return found;
        std::string longer(text);
        longer.push_back(0);
        for (int byte = 1; byte < 256 && !found; byte++) {
            longer.back() = static_cast<char>(byte);
            found = begins_key(longer, most, steps);
        }
        return found;
    }

  private:
    // Calls visit(value) for each key that is a prefix of the text, shortest first, until it returns false. Returns
    // whether the whole text is a prefix of keys, according to the trie's last unit.
    template <class Visit>
    bool walk(std::string_view text, Visit&& visit) const {
        uint32_t node = offset(unit(0));
        for (const char c : text) {
            const auto byte = static_cast<uint8_t>(c);
            if (byte == 0) return false;
            node ^= byte;
            const uint32_t found = unit(node);
            if ((found & (LEAF | 0xFF)) != byte) return false;
            node ^= offset(found);
            if ((found & HAS_LEAF) && !visit(unit(node) & ~LEAF)) return false;
        }
        return true;
    }
    static constexpr uint32_t LEAF = uint32_t{1} << 31, HAS_LEAF = 1 << 8, LARGE_OFFSET = 1 << 9;

    uint32_t unit(uint32_t at) const {
        if (at >= units_.size()) throw std::invalid_argument("a character map points outside its trie");
        return units_[at];
    }
    static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & LARGE_OFFSET) >> 6); }

    std::vector<uint32_t> units_;
    std::string images_;
};

}  // namespace lopt
