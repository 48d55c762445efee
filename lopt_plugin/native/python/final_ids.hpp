// The final ids of a growing text, four bytes each. Python lists are created from them on request.
#pragma once

#include <algorithm>

#include "base/id_buffer.hpp"
#include "python/id_list.hpp"

namespace lopt {

// All members hold the interpreter lock.
class FinalIds {
  public:
    // core: the core of the ids, for comparison. largest: its largest id.
    FinalIds(const void* core, uint32_t largest) : core_(core), largest_(largest) {}
    // Starts with the first ids of `other`, at most `count`.
    FinalIds(const FinalIds& other, size_t count) : FinalIds(other.core_, other.largest_) {
        append(other.ids_.data(), std::min(count, other.size()));
    }

    bool are_of(const void* core) const { return core == core_; }
    void append(const uint32_t* ids, size_t count) { ids_.append(ids, count); }
    void extend(const FinalIds& more) { append(more.ids_.data(), more.size()); }
    size_t size() const { return ids_.size(); }
    // A new list of the items of `before` and the ids from index `start` on, with room for a few more.
    nanobind::object list_from(nanobind::list before, size_t start) const {
        constexpr size_t MORE = 64;
        const size_t leading = before.size(), at = std::min(start, size());
        IdList list(largest_);
        list.reserve(leading + size() - at + MORE);
        list.append_objects(PySequence_Fast_ITEMS(before.ptr()), leading);
        list.append(ids_.data() + at, size() - at);
        return nanobind::steal(list.finish());
    }

  private:
    const void* core_;
    uint32_t largest_;
    IdBuffer ids_;
};

}  // namespace lopt
