// Characters missing from a vocabulary of characters: how BPE leaves them, and what replaces them.
//
// BPE starts from bytes here. A character of the vocabulary is merged from its bytes before anything else. Any other
// character stays split into ids of single bytes and of first bytes of characters, which no later merge knows. An id that
// the tokenizer itself never outputs is a part, and is replaced once the merges are done.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "bpe/vocabulary.hpp"
#include "text/utf8.hpp"

namespace lopt {

class UnknownCharacters {
  public:
    enum class Become {
        none,           // every character is known
        bytes,          // one id for each byte
        unknown,        // the unknown token for each character
        fused_unknown,  // the unknown token for each run of characters
    };
    struct Part {
        bool begins;  // it contains the first byte of a character
        uint32_t count;
        std::array<uint32_t, 3> bytes;  // the ids of its bytes, if characters become bytes
    };

    UnknownCharacters() = default;
    // `byte_ids`: the byte tokens, if characters become bytes. Ids from `first_part` on are `parts`. `known`: the
    // characters that are entries.
    UnknownCharacters(Become become, const std::array<uint32_t, 256>& byte_ids, uint32_t unknown_id, uint32_t first_part, std::vector<Part> parts, const std::vector<uint32_t>& known)
        : become_(become), byte_ids_(byte_ids), unknown_id_(unknown_id), first_part_(first_part), parts_(std::move(parts)) {
        if (become_bytes()) return;
        known_.assign(0x110000 / 64, 0);
        for (const uint32_t c : known) known_[c >> 6] |= uint64_t{1} << (c & 63);
    }

    bool become_bytes() const { return become_ == Become::bytes; }
    // Writes the byte tokens if p[0, length) is one character of two to four bytes; otherwise returns null.
    uint32_t* bytes_of(const uint8_t* p, uint32_t length, uint32_t* out) const {
        if (length < 2 || length != static_cast<uint32_t>(character_bytes(p[0]))) return nullptr;
        for (uint32_t i = 0; i < length; i++) out[i] = byte_ids_[p[i]];
        return out + length;
    }
    // The id of unknown characters; NONE if they become bytes.
    uint32_t unknown_id() const { return become_bytes() ? NONE : unknown_id_; }
    // Length in bytes of the unknown characters at p < end that one unknown token represents; 0 if the character at p is
    // known.
    size_t unknown_bytes(const uint8_t* p, const uint8_t* end) const {
        const uint8_t* q = p;
        for (int length; q < end && !is_known(decode_character(q, length)) && (q == p || fuses());) q += length;
        return static_cast<size_t>(q - p);
    }
    bool is_part(uint32_t id) const { return id >= first_part_; }
    // Becomes one id, or the ids of its bytes, whatever its neighbours are?
    bool becomes_ids_alone(uint32_t id) const { return !is_part(id) || become_bytes(); }
    // The number of such ids.
    uint32_t count_of(uint32_t id) const { return is_part(id) ? parts_[id - first_part_].count : 1; }
    // Do neighbouring characters that are not entries share one unknown token?
    bool fuses() const { return become_ == Become::fused_unknown; }
    bool are_fused(uint32_t left, uint32_t right) const { return !is_known(left) && !is_known(right); }

    // Replaces the parts among the ids of whole characters; returns the new end. There is at most one id per byte. Runs
    // are fused only within one call.
    uint32_t* replace(uint32_t* begin, uint32_t* end) const {
        if (first_part_ == NONE) return end;
        uint32_t* const first = std::find_if(begin, end, [this](uint32_t id) { return is_part(id); });
        return first == end ? end : replace_from(first, end);
    }

  private:
    bool is_known(uint32_t c) const { return known_[c >> 6] >> (c & 63) & 1; }

    [[gnu::noinline]] uint32_t* replace_from(uint32_t* out, const uint32_t* end) const {
        const std::vector<uint32_t> ids(static_cast<const uint32_t*>(out), end);
        bool in_run = false;
        for (const uint32_t id : ids) {
            if (!is_part(id)) {
                *out++ = id;
                in_run = false;
                continue;
            }
            const Part& part = parts_[id - first_part_];
            if (become_bytes()) out = std::copy_n(part.bytes.data(), part.count, out);
            else if (fuses() ? !in_run : part.begins) *out++ = unknown_id_;
            in_run = true;
        }
        return out;
    }

    Become become_ = Become::none;
    std::array<uint32_t, 256> byte_ids_{};
    uint32_t unknown_id_ = NONE, first_part_ = NONE;
    std::vector<Part> parts_;
    std::vector<uint64_t> known_;
};

}  // namespace lopt
