// The words of a Unigram pipeline: WhitespaceSplit and Metaspace, or Metaspace alone.
//
// A word depends only on its own characters and on where it ends, so two scans that share a boundary agree on all later
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "normalize/character_set.hpp"
#include "normalize/metaspace.hpp"
#include "text/byte_class.hpp"
#include "text/utf8.hpp"

namespace lopt {

enum class WordDivision {
    white_space,  // words are separated by white space, which is dropped, and each U+2581 begins a word
    spaces,       // each space begins a word, and U+2581 counts as a space
    none          // the whole stretch is a word
};

inline WordDivision word_division(std::string_view scanner) {
    if (scanner == "whitespace_split") return WordDivision::white_space;
    if (scanner == "metaspace") return WordDivision::spaces;
    if (scanner == "whole") return WordDivision::none;
    throw std::invalid_argument("unknown scanner " + std::string(scanner));
}

class UnigramWords {
  public:
    // white_space: the characters that WhitespaceSplit drops.
    UnigramWords(WordDivision division, const std::vector<uint32_t>& white_space) : division_(division), white_space_(white_space) {
        kinds_.fill(INSIDE);
        kinds_[SIGN_BEGIN] = ASK;
        if (division == WordDivision::spaces) kinds_[' '] = BEGINS;
        if (division != WordDivision::white_space) return;
        for (const uint32_t c : white_space) {
            uint8_t utf8[4];
            encode_character(c, utf8);
            kinds_[utf8[0]] = c < 0x80 ? BEGINS : ASK;
        }
    }

    WordDivision division() const { return division_; }
    bool drops(uint32_t c) const { return division_ == WordDivision::white_space && white_space_.holds(c); }
    // The first character of [p, end) that is not dropped white space; `end` if there is none.
    const uint8_t* skip_white_space(const uint8_t* p, const uint8_t* end) const {
        if (division_ != WordDivision::white_space) return p;
        for (int length; p < end && kinds_[*p] != INSIDE; p += length)
            if (!white_space_.holds(decode_character(p, length))) break;
        return p;
    }
    // The end of the word that begins at p < end.
    const uint8_t* word_end(const uint8_t* p, const uint8_t* end) const { return next_end(p + character_bytes(*p), end); }
    // The first position in [p, end) at which a word ends; `end` if there is none. The character before p must be part of a word.
    const uint8_t* next_end(const uint8_t* p, const uint8_t* end) const {
        if (division_ == WordDivision::none) return end;
        for (;; p++) {
            p = first_byte_in(kinds_, p, end);
            if (p >= end || kinds_[*p] == BEGINS) return p;
            int length;
            if (begins(decode_character(p, length))) return p;
        }
    }
    // The end of the unit that begins at p < end: a word, or one character of white space.
    const uint8_t* next(const uint8_t* p, const uint8_t* end) const {
        const uint8_t* const after = p + character_bytes(*p);
        return skip_white_space(p, after) == p ? word_end(p, end) : after;
    }
    // Does every scan have a boundary between these characters?
    bool divides(uint32_t left, uint32_t right) const {
        if (division_ == WordDivision::none) return false;
        return begins(right) || (division_ == WordDivision::white_space && white_space_.holds(left));
    }

  private:
    enum Kind : uint8_t { INSIDE, BEGINS, ASK };  // of a byte: inside a word, first byte of a character that ends one, or possibly that
    static constexpr uint8_t SIGN_BEGIN = 0xE2;

    bool begins(uint32_t c) const { return c == METASPACE || (division_ == WordDivision::spaces ? c == ' ' : white_space_.holds(c)); }

    WordDivision division_;
    CharacterSet white_space_;
    std::array<Kind, 256> kinds_;
};

}  // namespace lopt
