// How often each id occurs in a list. Counting the list's references object by object, in the order of ids, costs less than
// counting them one at a time, wherever the objects lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace lopt {

class IdCounts {
  public:
    // ids: below 2^20.
    IdCounts(const uint32_t* ids, size_t count) {
        const std::vector<uint32_t> sorted = in_order(ids, count);
        for (size_t i = 0; i < count;) {
            size_t end = i + 1;
            while (end < count && sorted[end] == sorted[i] && end - i < MOST) end++;
            entries_.push_back(sorted[i] << COUNT_BITS | static_cast<uint32_t>(end - i));
            i = end;
        }
        entries_.shrink_to_fit();
    }
    // Of what two of them count together.
    IdCounts(const IdCounts& a, const IdCounts& b) {
        entries_.resize(a.size() + b.size());
        std::merge(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(), entries_.begin());
        size_t kept = 0;
        for (const uint32_t entry : entries_) {
            if (kept && entries_[kept - 1] >> COUNT_BITS == entry >> COUNT_BITS && (entries_[kept - 1] & MOST) + (entry & MOST) <= MOST)
                entries_[kept - 1] += entry & MOST;
            else entries_[kept++] = entry;
        }
        entries_.resize(kept);
        entries_.shrink_to_fit();
    }
    size_t size() const { return entries_.size(); }
    uint32_t id(size_t i) const { return entries_[i] >> COUNT_BITS; }
    uint32_t count(size_t i) const { return entries_[i] & MOST; }
    size_t bytes() const { return entries_.capacity() * sizeof(uint32_t); }

  private:
    static constexpr uint32_t COUNT_BITS = 12, MOST = (1u << COUNT_BITS) - 1;  // more are several entries
    static constexpr uint32_t DIGIT_BITS = 10, DIGITS = 2;

    // Sorted by one digit after the other: a fifth of the time of comparing them.
    static std::vector<uint32_t> in_order(const uint32_t* ids, size_t count) {
        std::vector<uint32_t> from(ids, ids + count), to(count);
        for (uint32_t digit = 0; digit < DIGITS; digit++) {
            const auto of = [digit](uint32_t id) { return id >> (digit * DIGIT_BITS) & ((1u << DIGIT_BITS) - 1); };
            std::array<size_t, size_t{1} << DIGIT_BITS> place{};
            for (const uint32_t id : from) place[of(id)]++;
            size_t before = 0;
            for (size_t& one : place) {
                const size_t here = one;
                one = before;
                before += here;
            }
            for (const uint32_t id : from) to[place[of(id)]++] = id;
            from.swap(to);
        }
        return from;
    }

    std::vector<uint32_t> entries_;
};

}  // namespace lopt
