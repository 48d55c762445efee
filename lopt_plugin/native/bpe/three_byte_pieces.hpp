// Characters of three bytes that are pieces by themselves, straight to ids.
//
// A vocabulary of few entries knows Chinese by its characters: nearly every place is a cut, and nearly every piece one
// character. Their ids stand in a table by code point, so that a run of them needs no keys, hashes and probes.
#pragma once

#include <cstdint>
#include <vector>

#include "bpe/model.hpp"
#include "bpe/scan_cuts.hpp"
#include "bpe/unknown_characters.hpp"
#include "text/utf8.hpp"

namespace lopt {

class ThreeBytePieces {
  public:
    static constexpr int WORTH_WHILE = 8;  // characters in a run

    ThreeBytePieces(const CutScanner& scanner, const Model& model)
        : scanner_(scanner), unknown_(model.unknown_characters()), ids_(0x10000 - FIRST) {
        for (uint32_t c = FIRST; c < 0x10000; c++) {
            uint8_t p[3];
            encode_character(c, p);
            ids_[c - FIRST] = model.word_id({reinterpret_cast<const char*>(p), 3});
        }
    }

    // Does a run that is worth while begin at p, the start of a piece?
    bool begins(const uint8_t* p, const uint8_t* end) const {
        if (end - p < 3 * (WORTH_WHILE + 1) || !begins_three_bytes(p)) return false;
        uint32_t character = decode_three_bytes(p);
        for (int k = 0; k < WORTH_WHILE; k++) {
            p += 3;
            if (!begins_three_bytes(p)) return false;
            const uint32_t next = decode_three_bytes(p);
            if (!scanner_.between(character, next)) return false;
            character = next;
        }
        return true;
    }
    // Writes the ids of the run at p, as far as its pieces start in [p, stop) and not more than `most` characters; returns
    // its end and moves `out`, which has room for three ids a character.
    const uint8_t* encode(const uint8_t* p, const uint8_t* stop, const uint8_t* end, size_t most, uint32_t*& out) const {
        uint32_t* o = out;
        uint32_t character = decode_three_bytes(p);
        for (size_t k = 0; k < most; k++) {
            const uint8_t* const after = p + 3;
            bool is_next = false;
            uint32_t next = 0;
            if (after < end) {
                is_next = begins_three_bytes(after);
                int length;
                next = is_next ? decode_three_bytes(after) : decode_character(after, length);
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

    const CutScanner& scanner_;
    const UnknownCharacters& unknown_;
    std::vector<uint32_t> ids_;
};

}  // namespace lopt
