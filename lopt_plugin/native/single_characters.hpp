// Characters of three bytes that are pieces by themselves, straight to ids.
//
// A vocabulary of few entries knows Chinese by its characters: nearly every place is a cut, and nearly every piece one
// character. Their ids stand in a table by code point, so that a run of them needs no keys, hashes and probes.
#pragma once

#include <cstdint>
#include <vector>

#include "model.hpp"
#include "scan_cuts.hpp"
#include "unknown_characters.hpp"

namespace lopt {

class SingleCharacters {
  public:
    static constexpr int WORTH_WHILE = 8;  // characters in a run

    SingleCharacters(const CutScanner& scanner, const Model& model)
        : scanner_(scanner), unknown_(model.unknown_characters()), ids_(0x10000 - FIRST) {
        for (uint32_t c = FIRST; c < 0x10000; c++) {
            const uint8_t p[3] = {static_cast<uint8_t>(0xE0 | c >> 12), static_cast<uint8_t>(0x80 | (c >> 6 & 63)), static_cast<uint8_t>(0x80 | (c & 63))};
            ids_[c - FIRST] = model.word_id({reinterpret_cast<const char*>(p), 3});
        }
    }

    // Does a run that is worth while begin at p, the start of a piece?
    bool begins(const uint8_t* p, const uint8_t* end) const {
        if (end - p < 3 * (WORTH_WHILE + 1) || !is_character(p)) return false;
        uint32_t character = decode(p);
        for (int k = 0; k < WORTH_WHILE; k++) {
            p += 3;
            if (!is_character(p)) return false;
            const uint32_t next = decode(p);
            if (!scanner_.between(character, next)) return false;
            character = next;
        }
        return true;
    }
    // Writes the ids of the run at p, as far as its pieces start in [p, stop) and not more than `most` characters; returns
    // its end and moves `out`, which has room for three ids a character.
    const uint8_t* encode(const uint8_t* p, const uint8_t* stop, const uint8_t* end, size_t most, uint32_t*& out) const {
        uint32_t* o = out;
        uint32_t character = decode(p);
        for (size_t k = 0; k < most; k++) {
            const uint8_t* const after = p + 3;
            bool is_next = false;
            uint32_t next = 0;
            if (after < end) {
                is_next = is_character(after);
                int length;
                next = is_next ? decode(after) : decode_character(after, length);
                if (!scanner_.between(character, next)) break;
            }
            const uint32_t id = ids_[character - FIRST];
            unknown_.bytes_of(p, 3, o);
            o[0] = id == NONE ? o[0] : id;
            o += id == NONE ? 3 : 1;
            p = after;
            character = next;
            if (!is_next || p >= stop) break;
        }
        out = o;
        return p;
    }
    size_t bytes() const { return ids_.size() * sizeof(uint32_t); }

  private:
    static constexpr uint32_t FIRST = 0x800;
    static bool is_character(const uint8_t* p) { return (*p & 0xF0) == 0xE0; }
    static uint32_t decode(const uint8_t* p) { return (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u); }

    const CutScanner& scanner_;
    const UnknownCharacters& unknown_;
    std::vector<uint32_t> ids_;
};

}  // namespace lopt
