// Ids of a text that grows, four bytes each: Python gets lists of those that it asks for, when it asks.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "id_buffer.hpp"
#include "id_objects.hpp"

namespace lopt {

// All members hold the interpreter lock. The core that the ids come from outlives this; objects and material are its.
class SettledIds {
  public:
    SettledIds(const IdObjects& objects, const ListMaterial& material) : objects_(objects), material_(material) {}
    // Begins with the first ids of `other`, at most `count`.
    SettledIds(const SettledIds& other, size_t count) : SettledIds(other.objects_, other.material_) {
        append(other.ids_.data(), std::min(count, other.size()));
    }

    bool are_of(const IdObjects& objects) const { return &objects == &objects_; }
    void append(const uint32_t* ids, size_t count) { ids_.append(ids, count); }
    size_t size() const { return ids_.size(); }
    // A new list of what is in another one and of the ids from number `start` on, with room for a few more.
    PyObject* list_from(PyObject* before, size_t start) {
        constexpr size_t MORE = 64;
        const auto in_front = static_cast<size_t>(PyList_GET_SIZE(before));
        size_t at = std::min(start, size());
        IdObjects::List list(objects_);
        list.reserve(in_front + size() - at + MORE);
        list.append_objects(reinterpret_cast<PyListObject*>(before)->ob_item, in_front);
        if (at == 0) at = append_forms(list);
        list.append(ids_.data() + at, size() - at);
        return list.finish();
    }

  private:
    static constexpr size_t PER_FORM = 2 * ListForm::LEAST;  // ids

    // Appends the first ids as far as they have forms; returns how many these are.
    size_t append_forms(IdObjects::List& list) {
#ifdef Py_GIL_DISABLED
        return static_cast<void>(list), 0;
#else
        if (!objects_.code().known()) return 0;
        // A form costs as much as ten lists, so only what is asked for again and again gets one, and not all at a time.
        size_t& listed = listed_[lists_++ % listed_.size()];
        const size_t most = std::min(listed, forms_.size() + 1 + (listed - forms_.size()) / 16);
        while (forms_.size() < most) forms_.push_back(std::make_unique<ListForm>(ids_.data() + forms_.size() * PER_FORM, PER_FORM, material_));
        listed = size() / PER_FORM;
        size_t appended = 0;
        for (const auto& form : forms_) {
            if (!objects_.append_form(*form, ids_.data() + appended, list)) break;
            appended += PER_FORM;
        }
        return appended;
#endif
    }

    const IdObjects& objects_;
    const ListMaterial material_;
    IdBuffer ids_;
    std::vector<std::unique_ptr<ListForm>> forms_;  // of so many ids each, from the first on
    std::array<size_t, 8> listed_{};                // how many could have had one when all ids were last asked for, in turn
    size_t lists_ = 0;
};

}  // namespace lopt
