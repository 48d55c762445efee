// A set of code points, a bit for each.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "text/unicode.hpp"

namespace lopt {

class CharacterSet {
  public:
    explicit CharacterSet(const std::vector<uint32_t>& members) : rows_(0x110000 / 64, 0), bits_(1, 0), members_(members) {
        for (const uint32_t c : members) {
            if (c >= 0x110000) throw std::invalid_argument("a member of a character set is no code point");
            uint16_t& row = rows_[c / 64];
            if (row == 0) {
                row = static_cast<uint16_t>(bits_.size());  // at most 17,408 rows
                bits_.push_back(0);
            }
            bits_[row] |= uint64_t{1} << (c & 63);
        }
    }
    bool holds(uint32_t code_point) const { return bits_[rows_[code_point / 64]] >> (code_point & 63) & 1; }
    // Past the characters of three bytes at p that share their first two bytes with no member.
    const uint8_t* skip_three_bytes(const uint8_t* p, const uint8_t* end) const {
        while (p < end && (*p & 0xF0) == 0xE0 && rows_[block_of_three_bytes(p)] == 0) p += 3;
        return p;
    }
    const std::vector<uint32_t>& members() const { return members_; }

  private:
    std::vector<uint16_t> rows_;
    std::vector<uint64_t> bits_;
    std::vector<uint32_t> members_;
};

}  // namespace lopt
