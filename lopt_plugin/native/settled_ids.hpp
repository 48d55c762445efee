// Ids of a text that grows, four bytes each: Python gets lists of those that it asks for, when it asks.
#pragma once

#include <algorithm>
#include <vector>

#include "id_buffer.hpp"
#include "id_objects.hpp"

namespace lopt {

// All members hold the interpreter lock. Objects: those of the core that the ids come from, which outlives this.
class SettledIds {
  public:
    explicit SettledIds(const IdObjects& objects) : objects_(objects) {}
    // Begins with the first ids of `other`, at most `count`.
    SettledIds(const SettledIds& other, size_t count) : objects_(other.objects_) {
        append(other.ids_.data(), std::min(count, other.size()));
    }

    bool are_of(const IdObjects& objects) const { return &objects == &objects_; }
    void append(const uint32_t* ids, size_t count) { ids_.append(ids, count); }
    size_t size() const { return ids_.size(); }
    // A new list of what is in another one and of the ids from number `start` on, with room for a few more.
    PyObject* list_from(PyObject* before, size_t start) {
        if (start == 0) find_objects();
        const size_t first = std::min(start, size()), known = std::max(first, found_.size());
        const auto in_front = static_cast<size_t>(PyList_GET_SIZE(before));
        IdObjects::List list(objects_);
        list.reserve(in_front + size() - first + MORE);
        list.append_objects(reinterpret_cast<PyListObject*>(before)->ob_item, in_front);
        list.append_objects(found_.data() + std::min(first, found_.size()), known - first);
        list.append(ids_.data() + known, size() - known);
        return list.finish();
    }

  private:
    static constexpr size_t MORE = 64;

    // Who asks for all ids, asks again: a copy of addresses takes half the time of looking each of them up.
    void find_objects() {
        found_.reserve(size());
        for (size_t i = found_.size(); i < size(); i++) found_.push_back(objects_[ids_.data()[i]]);
    }

    const IdObjects& objects_;
    IdBuffer ids_;
    std::vector<PyObject*> found_;  // of the first ids; `objects_` has the references
};

}  // namespace lopt
