// A set of code points, one bit each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/hash.hpp"
#include "base/table.hpp"
#include "text/byte_class.hpp"
#include "text/utf8.hpp"

namespace lopt {

class CharacterSet {
  public:
    explicit CharacterSet(const std::vector<uint32_t>& members) : rows_(0x110000 / 64, 0), bits_(1, 0), members_(members) {
        for (const uint32_t c : members) {
            if (c >= 0x110000) throw std::invalid_argument("a member of a character set is no code point");
            uint8_t utf8[4];
            encode_character(c, utf8);
            begins_[utf8[0]] = true;
            if (c >= ' ' && c < 0x7F) any_visible_ = true;
            uint16_t& row = rows_[c / 64];
            if (row == 0) {
                row = static_cast<uint16_t>(bits_.size());  // at most 17,408 rows
                bits_.push_back(0);
            }
            bits_[row] |= uint64_t{1} << (c & 63);
        }
    }
    bool holds(uint32_t code_point) const { return bits_[rows_[code_point / 64]] >> (code_point & 63) & 1; }
    // The only member, if it is the only one and ASCII; otherwise 0x80.
    uint8_t only_ascii() const { return members_.size() == 1 && members_[0] < 0x80 ? static_cast<uint8_t>(members_[0]) : 0x80; }
    bool holds_ascii() const { return std::find(begins_.begin(), begins_.begin() + 0x80, true) != begins_.begin() + 0x80; }
    // Marks each page of 16 code points that contains a non-ASCII member.
    void mark_pages(Table<uint8_t>& marks) const {
        for (const uint32_t c : members_)
            if (c >= 0x80) marks[c >> 4] = 1;
    }
    // The first member in [p, end), or `end`.
    const uint8_t* next(const uint8_t* p, const uint8_t* end) const {
        while (true) {
            while (!any_visible_ && end - p >= 8 && are_visible(load64(p))) p += 8;
            p = first_byte_in(begins_, p, end);
            if (p >= end) return end;
            for (int length; p < end && begins_[*p]; p += length)
                if (holds(decode_character(p, length))) return p;
        }
    }

  private:
    // Are all eight bytes between the space and the tilde?
    static bool are_visible(uint64_t bytes) {
        constexpr uint64_t ONES = 0x0101010101010101u;
        return !((bytes | (bytes + ONES) | (bytes - ' ' * ONES)) & 0x80 * ONES);
    }

    std::vector<uint16_t> rows_;
    std::vector<uint64_t> bits_;
    std::array<bool, 256> begins_{};  // whether any member begins with this byte
    bool any_visible_ = false;  // whether any member is between the space and the tilde
    std::vector<uint32_t> members_;
};

}  // namespace lopt
