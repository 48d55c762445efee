// What a Python list of known ids is made from: the address of each id's object, in four bytes, and how often each id occurs.
// Here addresses are just numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "prefix/address_code.hpp"
#include "prefix/id_counts.hpp"

namespace lopt {

// References that were counted for lists which will not be made. Any thread hands them in; a thread that may touch Python
// objects takes them back.
class UnusedReferences {
  public:
    // The references of `lists` lists with these ids.
    struct Unused {
        IdCounts tally;
        uint32_t lists;
    };

    // Where that fails, the objects live on.
    void hand_in(IdCounts&& tally, uint32_t lists) noexcept {
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
    // The lock is held for an instant, or, in a forked child, never released.
    static constexpr int TRIES = 1000;

    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::vector<Unused> all_;
};

// What the lists of a core are made with.
struct ListSource {
    const void* const* addresses;  // of the objects of all ids
    const AddressCode* code;       // of these, all of which it knows
    UnusedReferences* unused;
};

class ListTemplate {
  public:
    // Shorter lists are made id by id as fast as their forms are.
    static constexpr size_t LEAST = 4096;
    // References are counted for so many lists at once, which costs no more than for one.
    static constexpr uint32_t LISTS_AT_ONCE = 16;

    ListTemplate(const uint32_t* ids, size_t count, const ListSource& material) : material_(material), codes_(count) {
        for (size_t i = 0; i < count; i++) codes_[i] = material.code->code(material.addresses[ids[i]]);
    }
    // Of one list after the other.
    explicit ListTemplate(const std::vector<const ListTemplate*>& parts) : material_(parts.front()->material_) {
        size_t count = 0;
        bool tallied = true;
        for (const ListTemplate* part : parts) {
            count += part->codes_.size();
            tallied = tallied && part->tally_.load(std::memory_order_acquire);
        }
        codes_.reserve(count);
        for (const ListTemplate* part : parts) codes_.insert(codes_.end(), part->codes_.begin(), part->codes_.end());
        if (!tallied) return;
        auto all = std::make_unique<IdCounts>(*parts.front()->tally_.load());
        for (size_t i = 1; i < parts.size(); i++) all = std::make_unique<IdCounts>(*all, *parts[i]->tally_.load());
        tally_.store(all.release());
    }
    ListTemplate(const ListTemplate&) = delete;
    ListTemplate& operator=(const ListTemplate&) = delete;
    ~ListTemplate() {
        const std::unique_ptr<IdCounts> tally(tally_.load());
        if (counted_for_) material_.unused->hand_in(std::move(*tally), counted_for_);
    }

    // Writes all addresses to `out`.
    void write(const void** out) const { material_.code->write(codes_.data(), codes_.size(), out); }
    // Whether `addresses` are these.
    bool same(const void* const* addresses) const { return material_.code->same(codes_.data(), codes_.size(), addresses); }
    const ListSource& material() const { return material_; }
    size_t size() const { return codes_.size(); }
    // As if each id were another one.
    size_t bytes() const { return sizeof *this + codes_.capacity() * 2 * sizeof(uint32_t); }

    // The rest is used under the lock that guards objects. `ids`: those of the constructor.
    const IdCounts& tally(const uint32_t* ids) {
        if (!tally_.load()) tally_.store(new IdCounts(ids, codes_.size()), std::memory_order_release);
        return *tally_.load();
    }
    // Lists for which references are counted already, but which are not made yet.
    uint32_t& counted_for() { return counted_for_; }

  private:
    ListSource material_;
    std::vector<uint32_t> codes_;
    std::atomic<IdCounts*> tally_{nullptr};  // made when it is first asked for
    uint32_t counted_for_ = 0;
};

}  // namespace lopt
