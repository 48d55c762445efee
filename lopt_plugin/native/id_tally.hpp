// How often each id is among many. A list of these ids refers to each of their objects once for every time; adding that up
// by object, and in the order of ids, costs less than one at a time wherever they stand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "content_hash.hpp"

namespace lopt {

class IdTally {
  public:
    // ids: below 2^20.
    IdTally(const uint32_t* ids, size_t count) {
        std::vector<uint32_t> sorted(ids, ids + count);
        std::sort(sorted.begin(), sorted.end());
        for (size_t i = 0; i < count;) {
            size_t end = i + 1;
            while (end < count && sorted[end] == sorted[i] && end - i < MOST) end++;
            entries_.push_back(sorted[i] << COUNT_BITS | static_cast<uint32_t>(end - i));
            i = end;
        }
        entries_.shrink_to_fit();
        checksum_ = checksum();
    }
    size_t size() const { return entries_.size(); }
    uint32_t id(size_t i) const { return entries_[i] >> COUNT_BITS; }
    uint32_t count(size_t i) const { return entries_[i] & MOST; }
    // Whether the memory is still what it was: from a wrong number of references a process does not recover.
    bool intact() const { return checksum() == checksum_; }

  private:
    static constexpr uint32_t COUNT_BITS = 12, MOST = (1u << COUNT_BITS) - 1;  // more are several entries

    uint64_t checksum() const {
        return content_hash(reinterpret_cast<const uint16_t*>(entries_.data()), 2 * entries_.size());
    }
    std::vector<uint32_t> entries_;
    uint64_t checksum_;
};

}  // namespace lopt
