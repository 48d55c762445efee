// What a list of known ids is made of: the address of each id's object, ready to be copied, and how often each id is there.
// To this file addresses are numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "checksum.hpp"
#include "id_tally.hpp"

namespace lopt {

class ListForm {
  public:
    // addresses: of the objects of all ids.
    ListForm(const uint32_t* ids, size_t count, const void* const* addresses) : addresses_(addresses), tally_(ids, count) {
        items_.resize(count);
        for (size_t i = 0; i < count; i++) items_[i] = addresses[ids[i]];
        checksum_ = checksum(items_.data(), count * sizeof(void*));
    }
    // Of one list behind the other, all of them intact.
    explicit ListForm(const std::vector<const ListForm*>& parts) : addresses_(parts.front()->addresses_), tally_(parts.front()->tally_) {
        size_t count = 0;
        for (const ListForm* part : parts) count += part->items_.size();
        items_.reserve(count);
        for (const ListForm* part : parts) items_.insert(items_.end(), part->items_.begin(), part->items_.end());
        for (size_t i = 1; i < parts.size(); i++) tally_ = IdTally(tally_, parts[i]->tally_);
        checksum_ = checksum(items_.data(), items_.size() * sizeof(void*));
    }
    bool intact() const { return checksum(items_.data(), items_.size() * sizeof(void*)) == checksum_ && tally_.intact(); }
    // Writes all items to `out`; whether they and the tally are what they were.
    bool copy(const void** out) const { return copy_checked(out, items_.data(), items_.size() * sizeof(void*), checksum_) && tally_.intact(); }
    const IdTally& tally() const { return tally_; }
    const void* const* addresses() const { return addresses_; }
    size_t bytes() const { return sizeof *this + items_.capacity() * sizeof(void*) + tally_.bytes(); }

    // See PrefixStore.
    void spoil() { checksum_ ^= 1; }

  private:
    const void* const* addresses_;
    IdTally tally_;
    std::vector<const void*> items_;
    uint64_t checksum_ = 0;
};

}  // namespace lopt
