// What a list of known ids is made of: the address of each id's object, ready to be copied, and how often each id is there.
// To this file addresses are numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "checksum.hpp"
#include "id_tally.hpp"

namespace lopt {

// References that were counted for lists which are not going to be made. They are handed in by any thread, and taken back
// by one that may touch objects.
class UnusedReferences {
  public:
    // The references of `lists` lists with these ids.
    struct Unused {
        IdTally tally;
        uint32_t lists;
    };

    // Where that fails, the objects live on.
    void hand_in(IdTally&& tally, uint32_t lists) noexcept {
        for (int i = 0; i < TRIES; i++) {
            const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
            if (!lock) {
                std::this_thread::yield();
                continue;
            }
            try {
                all_.push_back({std::move(tally), lists});
                any_.store(true, std::memory_order_relaxed);
            } catch (const std::bad_alloc&) {
            }
            return;
        }
    }
    std::vector<Unused> take() {
        if (!any_.load(std::memory_order_relaxed)) return {};
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock) return {};
        any_.store(false, std::memory_order_relaxed);
        return std::exchange(all_, {});
    }

  private:
    // Others hold the lock for an instant, or, after a fork, for ever.
    static constexpr int TRIES = 1000;

    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::vector<Unused> all_;
};

// What the lists of a core are made with.
struct ListMaterial {
    const void* const* addresses;  // of the objects of all ids
    UnusedReferences* unused;
};

class ListForm {
  public:
    // Shorter lists are made id by id as fast as their forms are.
    static constexpr size_t LEAST = 4096;
    // For so many lists references are counted at once: of each object that costs as much as for one.
    static constexpr uint32_t LISTS_AT_ONCE = 16;

    ListForm(const uint32_t* ids, size_t count, const ListMaterial& material) : material_(material), tally_(ids, count), items_(count) {
        for (size_t i = 0; i < count; i++) items_[i] = material.addresses[ids[i]];
        sum_ = number_sum(items_.data(), count);
    }
    // Of one list behind the other, whose tallies are intact. What has decayed of their items will still be known by the sum.
    explicit ListForm(const std::vector<const ListForm*>& parts) : material_(parts.front()->material_), tally_(parts.front()->tally_) {
        size_t count = 0;
        for (const ListForm* part : parts) count += part->items_.size();
        items_.reserve(count);
        for (const ListForm* part : parts) {
            items_.insert(items_.end(), part->items_.begin(), part->items_.end());
            sum_ += part->sum_;
        }
        for (size_t i = 1; i < parts.size(); i++) tally_ = IdTally(tally_, parts[i]->tally_);
    }
    ListForm(const ListForm&) = delete;
    ListForm& operator=(const ListForm&) = delete;
    ~ListForm() {
        if (counted_for_) material_.unused->hand_in(std::move(tally_), counted_for_);
    }

    // Copies all items to `out`; whether they are what they were.
    bool copy(const void** out) const { return copy_and_sum(items_.data(), items_.size(), out) == sum_; }
    const IdTally& tally() const { return tally_; }
    const ListMaterial& material() const { return material_; }
    size_t bytes() const { return sizeof *this + items_.capacity() * sizeof(void*) + tally_.bytes(); }

    // Under the lock that guards objects. Lists for which references are counted already, but which are not made yet.
    uint32_t& counted_for() { return counted_for_; }

    // See PrefixStore.
    void spoil() {
        sum_ ^= 1;
        tally_.spoil();
    }

  private:
    ListMaterial material_;
    IdTally tally_;
    std::vector<const void*> items_;
    uint64_t sum_ = 0;
    uint32_t counted_for_ = 0;
};

}  // namespace lopt
