// The final ids of a growing text, four bytes each. Python lists are made of them on request.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/id_buffer.hpp"
#include "python/id_objects.hpp"

namespace lopt {

// All members hold the interpreter lock. The core that the ids come from outlives this; objects and material are its.
class FinalIds {
  public:
    FinalIds(const IdObjects& objects, const ListSource& material) : objects_(objects), material_(material) {}
    // Begins with the first ids of `other`, at most `count`.
    FinalIds(const FinalIds& other, size_t count) : FinalIds(other.objects_, other.material_) {
        append(other.ids_.data(), std::min(count, other.size()));
    }

    bool are_of(const IdObjects& objects) const { return &objects == &objects_; }
    void append(const uint32_t* ids, size_t count) { ids_.append(ids, count); }
    size_t size() const { return ids_.size(); }
    // A new list of what is in another one and of the ids from number `start` on, with room for a few more.
    PyObject* list_from(PyObject* before, size_t start) {
        constexpr size_t MORE = 64;
        const auto leading = static_cast<size_t>(PyList_GET_SIZE(before));
        size_t at = std::min(start, size());
        IdObjects::List list(objects_);
        list.reserve(leading + size() - at + MORE);
        list.append_objects(PySequence_Fast_ITEMS(before), leading);
        if (at == 0) at = append_templates(list);
        list.append(ids_.data() + at, size() - at);
        return list.finish();
    }

  private:
    static constexpr size_t PER_TEMPLATE = 2 * ListTemplate::LEAST;  // ids

    // Appends the first ids as far as they have forms; returns how many these are.
    size_t append_templates(IdObjects::List& list) {
        if (!objects_.takes_templates()) return 0;
        // A form costs as much as ten lists, so only what is asked for again and again gets one, and not all at a time.
        size_t& listed = listed_[lists_++ % listed_.size()];
        const size_t most = std::min(listed, forms_.size() + 1 + (listed - forms_.size()) / 16);
        while (forms_.size() < most) forms_.push_back(std::make_unique<ListTemplate>(ids_.data() + forms_.size() * PER_TEMPLATE, PER_TEMPLATE, material_));
        listed = size() / PER_TEMPLATE;
        size_t appended = 0;
        for (const auto& form : forms_) {
            objects_.append_template(*form, ids_.data() + appended, list);
            appended += PER_TEMPLATE;
        }
        return appended;
    }

    const IdObjects& objects_;
    const ListSource material_;
    IdBuffer ids_;
    std::vector<std::unique_ptr<ListTemplate>> forms_;  // of so many ids each, from the first on
    std::array<size_t, 8> listed_{};                // how many could have had one when all ids were last asked for, in turn
    size_t lists_ = 0;
};

}  // namespace lopt
