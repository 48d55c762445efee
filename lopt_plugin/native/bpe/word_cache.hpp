// The word cache: words that are not in the vocabulary, and their ids. Of bounded size, and shared by all threads.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/hash.hpp"
#include "base/id_buffer.hpp"
#include "base/table.hpp"
#include "bpe/words.hpp"

namespace lopt {

// A word longer than LONGEST_KEY bytes, padded with 0xFF like a WordKey.
struct LongWordKey {
    static constexpr size_t LONGEST = 56;
    std::array<uint64_t, LONGEST / 8> words;

    LongWordKey(const uint8_t* p, size_t length) {
        words.fill(~uint64_t{0});
        std::memcpy(words.data(), p, length < LONGEST ? length : LONGEST);
    }
    static uint64_t hash(const uint8_t* p, size_t length) { return hash_bytes(p, length); }
};

// Fixed size, no locks: each slot is a sequence lock made of relaxed atomics. A word may be in either of two slots. A
// lost or overwritten word only costs time: the hash has no secret, so chosen words can evict each other and be encoded
// again. A lookup always reads two slots, whatever the words are.
template <class Key, size_t MOST_IDS>
class IdCache {
  public:
    static constexpr size_t MAX_IDS = MOST_IDS;

    explicit IdCache(size_t slots) : mask_(std::bit_ceil(slots) - 2) { slots_.assign_default(mask_ + 2); }

    void prefetch(uint64_t hash) const {
        __builtin_prefetch(&slots_[index(hash)]);
        __builtin_prefetch(&slots_[index(hash) + 1]);
    }
    // Returns the number of ids written to `out`, 0 if the word is not cached. Always overwrites MAX_IDS ids, so that
    // there is no branch on whether a word is cached and in which slot, which is hard to predict.
    size_t find(const Key& key, uint64_t hash, uint32_t* out) const {
        const auto words = std::bit_cast<Words>(key);
        const Slot* const first = &slots_[index(hash)];
        const Slot& slot = first[first->differs(words) != 0];
        const uint64_t state = slot.state.load(std::memory_order_acquire);
        uint64_t differs = (state & WRITING) | slot.differs(words);
        for (size_t i = 0; i < MAX_IDS / 2; i++) {
            const uint64_t two = slot.ids[i].load(std::memory_order_relaxed);
            std::memcpy(out + 2 * i, &two, 8);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        differs |= slot.state.load(std::memory_order_relaxed) ^ state;
        return static_cast<size_t>(state >> COUNT_SHIFT) & (static_cast<size_t>(differs != 0) - 1);
    }
    // Writes the word to whichever of its two slots was written less often.
    void insert(const Key& key, uint64_t hash, const uint32_t* ids, size_t count) {
        if (count > MAX_IDS) return;
        Slot* const first = &slots_[index(hash)];
        Slot& slot = first[first[1].version() < first->version()];
        uint64_t state = slot.state.load(std::memory_order_relaxed);
        if ((state & WRITING) || !slot.state.compare_exchange_strong(state, state | WRITING, std::memory_order_acquire)) return;
        std::atomic_thread_fence(std::memory_order_release);
        const auto words = std::bit_cast<Words>(key);
        for (size_t i = 0; i < WORDS; i++) slot.key[i].store(words[i], std::memory_order_relaxed);
        uint32_t padded[MAX_IDS] = {};
        std::memcpy(padded, ids, count * sizeof *ids);
        for (size_t i = 0; i < MAX_IDS / 2; i++) {
            uint64_t two;
            std::memcpy(&two, padded + 2 * i, 8);
            slot.ids[i].store(two, std::memory_order_relaxed);
        }
        const uint64_t version = (state + 2) & VERSION;
        slot.state.store(version | static_cast<uint64_t>(count) << COUNT_SHIFT, std::memory_order_release);
    }
    // Appends the ids of the word, or else lets encode() append them, and caches these.
    template <class Encode>
    void append(const Key& key, uint64_t hash, IdBuffer& out, Encode&& encode) {
        uint32_t* const o = out.reserve(MAX_IDS);
        if (const size_t cached = find(key, hash, o)) return out.set_end(o + cached);
        const size_t before = out.size();
        encode();
        insert(key, hash, out.data() + before, out.size() - before);
    }
    size_t bytes() const { return slots_.bytes(); }

  private:
    static constexpr size_t WORDS = sizeof(Key) / sizeof(uint64_t), LINE = 64;
    using Words = std::array<uint64_t, WORDS>;
    static constexpr uint64_t WRITING = 1, VERSION = (uint64_t{1} << 56) - 2;
    static constexpr int COUNT_SHIFT = 56;
    struct alignas(LINE) Slot {
        std::atomic<uint64_t> state{0};
        std::array<std::atomic<uint64_t>, WORDS> key{};
        std::array<std::atomic<uint64_t>, MAX_IDS / 2> ids{};

        uint64_t differs(const Words& words) const {
            uint64_t bits = 0;
            for (size_t i = 0; i < WORDS; i++) bits |= key[i].load(std::memory_order_relaxed) ^ words[i];
            return bits;
        }
        uint64_t version() const { return state.load(std::memory_order_relaxed) & VERSION; }
    };
    static_assert(sizeof(Slot) == sizeof(uint64_t) * (1 + WORDS + MAX_IDS / 2), "no byte of a line is left unused");
    // The index of the first of its two slots.
    size_t index(uint64_t hash) const { return hash >> 36 & mask_; }

    Table<Slot> slots_;
    size_t mask_;
};

using WordCache = IdCache<WordKey, 10>;
using LongWordCache = IdCache<LongWordKey, 16>;

}  // namespace lopt
