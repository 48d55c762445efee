// What a list of known ids is made of: the address of each id's object, in four bytes, and how often each id is there.
// To this file addresses are numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "address_code.hpp"
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
    const AddressCode* code;       // of these, all of which it knows
    UnusedReferences* unused;
};

class ListForm {
  public:
    // Shorter lists are made id by id as fast as their forms are.
    static constexpr size_t LEAST = 4096;
    // For so many lists references are counted at once: of each object that costs as much as for one.
    static constexpr uint32_t LISTS_AT_ONCE = 16;

    ListForm(const uint32_t* ids, size_t count, const ListMaterial& material) : material_(material), codes_(count) {
        for (size_t i = 0; i < count; i++) {
            codes_[i] = material.code->code(material.addresses[ids[i]]);
            sum_ += reinterpret_cast<uintptr_t>(material.addresses[ids[i]]);
        }
    }
    // Of one list behind the other. What has decayed of them will still be known by the sum.
    explicit ListForm(const std::vector<const ListForm*>& parts) : material_(parts.front()->material_) {
        size_t count = 0;
        bool tallied = true;
        for (const ListForm* part : parts) {
            count += part->codes_.size();
            const IdTally* tally = part->tally_.load(std::memory_order_acquire);
            tallied = tallied && tally && tally->intact();
        }
        codes_.reserve(count);
        for (const ListForm* part : parts) {
            codes_.insert(codes_.end(), part->codes_.begin(), part->codes_.end());
            sum_ += part->sum_;
        }
        if (!tallied) return;
        auto all = std::make_unique<IdTally>(*parts.front()->tally_.load());
        for (size_t i = 1; i < parts.size(); i++) all = std::make_unique<IdTally>(*all, *parts[i]->tally_.load());
        tally_.store(all.release());
    }
    ListForm(const ListForm&) = delete;
    ListForm& operator=(const ListForm&) = delete;
    ~ListForm() {
        const std::unique_ptr<IdTally> tally(tally_.load());
        if (counted_for_) material_.unused->hand_in(std::move(*tally), counted_for_);
    }

    // Writes all addresses to `out`; whether they are what they were.
    bool write(const void** out) const { return material_.code->write(codes_.data(), codes_.size(), out) == sum_; }
    // Whether `addresses` are these, which are what they were.
    bool same(const void* const* addresses) const {
        uint64_t sum = 0;
        return material_.code->same(codes_.data(), codes_.size(), addresses, sum) && sum == sum_;
    }
    const ListMaterial& material() const { return material_; }
    size_t size() const { return codes_.size(); }
    // As if each id were another one.
    size_t bytes() const { return sizeof *this + codes_.capacity() * 2 * sizeof(uint32_t); }

    // The rest is used under the lock that guards objects. `ids`, intact: those of the constructor.
    const IdTally& tally(const uint32_t* ids) {
        if (!tally_.load()) tally_.store(new IdTally(ids, codes_.size()), std::memory_order_release);
        return *tally_.load();
    }
    // Lists for which references are counted already, but which are not made yet.
    uint32_t& counted_for() { return counted_for_; }

    // See PrefixStore.
    void spoil() {
        sum_ ^= 1;
        if (IdTally* tally = tally_.load()) tally->spoil();
    }

  private:
    ListMaterial material_;
    std::vector<uint32_t> codes_;
    uint64_t sum_ = 0;
    std::atomic<IdTally*> tally_{nullptr};  // made when it is first asked for
    uint32_t counted_for_ = 0;
};

}  // namespace lopt
