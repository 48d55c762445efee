// Recently encoded texts and their ids. The prefix that a new text shares with one of them need not be encoded again.
//
// A text is held without a copy, and the buffer of its ids is taken over. The number of ids before a seam is recorded
// about once per block, but only in text that is seen for the second time, and in text that continues a known prefix.
//
// Texts are found block by block. The hash of a block covers all blocks before it, so the table from hashes to texts is a
// tree of prefixes. A new text is compared with the text that its first block leads to. Where the two differ, the next
// block may lead to another text. A hash only proposes a text, which is then compared from its first character.
//
// If several texts share a block, the table leads to the most recently used one, so evicting the least recently used text
// hides no other. If the last block of a text leads to another text, it can no longer be found, and is removed at once.
//
// Dividing a text costs time, and holding many texts requires fresh memory. So only a few texts that end in a lot of new
// text are held.
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/id_buffer.hpp"
#include "base/process.hpp"
#include "prefix/content_hash.hpp"
#include "text/characters.hpp"

namespace lopt {

// A position where a text may be divided, and how many characters, bytes and ids precede it.
struct Seam {
    size_t character, utf8_bytes, ids;
};

struct EncodedText {
    std::shared_ptr<void> owner;  // the object that contains the characters
    Characters characters;
    bool split_special;  // special tokens were treated as plain text
    IdBuffer ids;
    std::vector<Seam> seams;  // in ascending order
    size_t utf8_bytes;
};

class HeldText {
  public:
    explicit HeldText(EncodedText encoded) : text(std::move(encoded)) {}

    EncodedText text;

  private:
    friend class HeldTexts;
    static constexpr size_t OVERHEAD = 256, OF_BLOCK = 64;  // allocations and entries of the table

    size_t bytes() const {
        return OVERHEAD + sizeof *this + text.characters.length * static_cast<size_t>(text.characters.unit_bytes) + text.ids.capacity_bytes() +
               text.seams.capacity() * sizeof(Seam) + blocks_.capacity() * OF_BLOCK;
    }

    // Written before it is shared, or under the lock.
    std::vector<uint64_t> blocks_;  // hashes of whole blocks
    bool is_new_ = false;  // it ends in a lot of new text, and most of it has not been reused
    bool is_listed_ = false;
    std::list<std::shared_ptr<HeldText>>::iterator place_;
};

// The known prefix of a text: what it shares with a held text, up to a seam of both or to the end of both. `held` is null
// if nothing is known.
struct KnownBeginning {
    std::shared_ptr<const HeldText> held;
    size_t characters = 0, ids = 0, utf8_bytes = 0;
};

class HeldTexts {
  public:
    // Counts since the store was created. All except the last three only grow.
    struct Counters {
        uint64_t lookups = 0, hits = 0;  // texts looked up, and texts with a known prefix
        uint64_t bytes_saved = 0;        // UTF-8 bytes that were not tokenized again
        uint64_t evictions = 0;          // evicted texts
        uint64_t texts = 0, bytes = 0, limit_bytes = 0;
    };

    // For tests: `hash_bits` below 64 causes collisions, and `secret` makes the hashes reproducible.
    HeldTexts(size_t limit_bytes, size_t block, int hash_bits, uint64_t secret)
        : limit_(limit_bytes), block_(block), hash_mask_(hash_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << hash_bits) - 1), secret_(secret), notes_(NOTES) {}

    struct Found {
        std::shared_ptr<const HeldText> held;  // null: none
        size_t characters = 0;                 // length of the prefix it shares with the text
        bool goes_on = true;                   // the text continues with a block that was seen before, as far as recorded
    };
    // Among the held texts that the text's blocks lead to, the one with the longest common prefix.
    Found find(const Characters& text, bool split_special) {
        Found best;
        uint64_t before = first_hash(split_special);
        for (size_t tries = 0, block = 0; (block + 1) * block_ <= text.length; tries++) {
            const uint64_t hash = hash_of(text, block, before);
            const std::shared_ptr<const HeldText> proposed = tries < MOST_COMPARED ? at_block(hash) : nullptr;
            const size_t common = proposed && proposed->text.split_special == split_special ? characters_in_common(text, proposed->text.characters) : 0;
            if (common <= best.characters || common < block_) {
                best.goes_on = notes_[hash % NOTES].exchange(hash, std::memory_order_relaxed) == hash;
                break;
            }
            best.held = proposed;
            best.characters = common;
            if (common == text.length) break;
            before = hash;
            for (block++; block < common / block_; block++) before = block < proposed->blocks_.size() ? proposed->blocks_[block] : hash_of(text, block, before);
        }
        return best;
    }
    // Counts a lookup, and marks the known text as the most recently used.
    void used(const KnownBeginning& known) {
        Shelf& shelf = *shelf_;
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        shelf.counters.lookups++;
        if (!known.held) return;
        shelf.counters.hits++;
        shelf.counters.bytes_saved += known.utf8_bytes;
        if (known.held->is_listed_) shelf.renew(**known.held->place_, 2 * known.characters >= known.held->text.characters.length);
    }
    // Can a text of at least one block be held?
    bool takes(const Characters& text) const { return text.length * static_cast<size_t>(text.unit_bytes) <= limit_ / 4; }
    // Holds a text that `takes` accepts; the caller must keep the owner alive during the call. Its first ids are those of
    // `known`, and `text.ids` are the rest. It can be found by the blocks that begin before character `indexed_end`.
    std::shared_ptr<const HeldText> hold(EncodedText text, const KnownBeginning& known, size_t indexed_end) {
        IdBuffer others = std::move(text.ids);
        const auto fresh = std::make_shared<HeldText>(std::move(text));
        const Characters& characters = fresh->text.characters;
        fresh->is_new_ = indexed_end < characters.length;
        const size_t blocks = std::min(indexed_end / block_ + 1, characters.length / block_);
        uint64_t hash = first_hash(fresh->text.split_special);
        for (size_t block = 0; block < blocks; block++) {
            const bool is_known = (block + 1) * block_ <= known.characters && block < known.held->blocks_.size();
            fresh->blocks_.push_back(hash = is_known ? known.held->blocks_[block] : hash_of(characters, block, hash));
        }
        IdBuffer& ids = fresh->text.ids;
        if (known.held) ids = first_ids(known, *fresh);
        if (known.held || others.is_much_larger_than_its_ids()) ids.append(others.data(), others.size());
        else ids = std::move(others);
        const size_t bytes = fresh->bytes();
        if (bytes > limit_ / 2) return fresh;
        Shelf& shelf = *shelf_;
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        if (fresh->is_new_)
            while (!shelf.new_texts.empty() && (shelf.new_texts.size() == MOST_NEW || shelf.new_bytes + bytes > limit_ / 4)) shelf.evict(shelf.new_texts);
        while (shelf.counters.bytes + bytes > limit_) shelf.evict(shelf.texts.empty() ? shelf.new_texts : shelf.texts);
        shelf.add(fresh);
        return fresh;
    }
    // Frees removed texts that are no longer used. Owners are only released here and when the store is destroyed.
    void release_removed() {
        std::vector<std::shared_ptr<HeldText>> unused;
        Shelf& shelf = *shelf_;
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        const auto first = std::partition(shelf.removed.begin(), shelf.removed.end(), [](const auto& text) { return text.use_count() > 1; });
        unused.assign(std::move_iterator(first), std::move_iterator(shelf.removed.end()));
        shelf.removed.erase(first, shelf.removed.end());
    }
    Counters counters() {
        Shelf& shelf = *shelf_;
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        Counters all = shelf.counters;
        all.texts = shelf.texts.size() + shelf.new_texts.size();
        all.limit_bytes = limit_;
        return all;
    }

  private:
    using List = std::list<std::shared_ptr<HeldText>>;  // most recently used first
    static constexpr size_t MOST_COMPARED = 8;          // bounds the time of a lookup
    static constexpr size_t MOST_NEW = 64, NOTES = size_t{1} << 14;

    // Everything that the lock protects.
    struct Shelf {
        std::mutex mutex;
        List texts, new_texts;
        size_t new_bytes = 0;  // part of `counters.bytes`
        std::unordered_map<uint64_t, HeldText*> table;
        std::vector<std::shared_ptr<HeldText>> removed;
        Counters counters;

        void add(const std::shared_ptr<HeldText>& text) {
            List& list = text->is_new_ ? new_texts : texts;
            list.push_front(text);
            text->place_ = list.begin();
            text->is_listed_ = true;
            count(*text, text->bytes());
            lead_to(*text);
        }
        // Adds `bytes` modulo 2^64, so it can also subtract.
        void count(const HeldText& text, size_t bytes) {
            counters.bytes += bytes;
            if (text.is_new_) new_bytes += bytes;
        }
        // `mostly`: most of the text was reused.
        void renew(HeldText& text, bool mostly) {
            List& from = text.is_new_ ? new_texts : texts;
            if (mostly && std::exchange(text.is_new_, false)) new_bytes -= text.bytes();
            List& to = text.is_new_ ? new_texts : texts;
            to.splice(to.begin(), from, text.place_);
            lead_to(text);
        }
        void evict(List& list) {
            counters.evictions++;
            remove(*list.back());
        }
        // Makes the text's blocks lead to it, and removes texts that can no longer be found.
        void lead_to(HeldText& text) {
            for (size_t block = 0; block < text.blocks_.size(); block++) {
                HeldText* const before = std::exchange(table[text.blocks_[block]], &text);
                if (before && before != &text && before->blocks_.size() == block + 1) remove(*before);
            }
        }
        void remove(HeldText& text) {
            removed.push_back(*text.place_);
            for (const uint64_t hash : text.blocks_) {
                const auto entry = table.find(hash);
                if (entry != table.end() && entry->second == &text) table.erase(entry);
            }
            count(text, -text.bytes());
            text.is_listed_ = false;
            (text.is_new_ ? new_texts : texts).erase(text.place_);
        }
    };

    uint64_t first_hash(bool split_special) const { return mix(secret_ + split_special); }
    uint64_t hash_of(const Characters& text, size_t block, uint64_t before) const {
        const Characters part = text.part(block * block_, (block + 1) * block_);
        return visit_units(part, [&](const auto* s) { return content_hash(s, part.length, before ^ secret_); }) & hash_mask_;
    }
    std::shared_ptr<const HeldText> at_block(uint64_t hash) {
        Shelf& shelf = *shelf_;
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        const auto found = shelf.table.find(hash);
        return found == shelf.table.end() ? nullptr : *found->second->place_;
    }
    // The ids of the known prefix. Moves them out of the held text if the new one replaces it and nobody else uses it.
    IdBuffer first_ids(const KnownBeginning& known, const HeldText& fresh) {
        IdBuffer ids;
        Shelf& shelf = *shelf_;
        const size_t blocks = known.held->blocks_.size();
        if (blocks <= fresh.blocks_.size() && fresh.blocks_[blocks - 1] == known.held->blocks_.back()) {
            const std::lock_guard<std::mutex> lock(shelf.mutex);
            if (known.held->is_listed_ && known.held.use_count() == 2) {
                HeldText& before = **known.held->place_;
                shelf.remove(before);
                ids = std::move(before.text.ids);
                ids.set_end(ids.data() + known.ids);
                return ids;
            }
        }
        ids.append(known.held->text.ids.data(), known.ids);
        return ids;
    }

    const size_t limit_, block_;
    const uint64_t hash_mask_, secret_;
    std::vector<std::atomic<uint64_t>> notes_;  // hashes of the blocks at which lookups ended
    OfProcess<Shelf> shelf_;
};

}  // namespace lopt
