// What texts begin with, and the ids of that: pieces of text, each known by the piece before it and by its content.
//
// A text that begins like an earlier one finds the same pieces, one after the other. A hash only proposes a piece: its
// text is compared, and its ids with their checksum, before it is taken. So whatever is lost, collides or decays in here
// costs time and nothing else. Bounded in bytes; what was not used for longest goes first, and a piece goes no later than
// those behind it, which nothing leads to without it.
//
// Copying a text into fresh memory costs a good part of tokenizing it. So a piece that follows on what is known is only
// noted when it comes for the first time, by its hash, and is kept, with all behind it, when it comes again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include "characters.hpp"
#include "content_hash.hpp"
#include "id_tally.hpp"

namespace lopt {

// A piece of text that was encoded. What is public never changes while anyone can see it.
class Piece {
  public:
    Piece(uint64_t text_hash, const Characters& text, size_t utf8_bytes, const uint32_t* ids, size_t count)
        : text_hash_(text_hash), length_(text.length), utf8_bytes_(utf8_bytes), count_(count), unit_bytes_(narrowest(text)),
          data_(static_cast<uint8_t*>(std::malloc(data_bytes()))) {
        if (!data_) throw std::bad_alloc();
        std::memcpy(data_.get(), ids, count * sizeof *ids);
        visit_units(text, [this](const auto* s) { copy_units(s); });
        checksum_ = checksum();
    }

    const uint32_t* ids() const { return reinterpret_cast<const uint32_t*>(data_.get()); }
    size_t count() const { return count_; }
    size_t characters() const { return length_; }
    size_t utf8_bytes() const { return utf8_bytes_; }
    bool holds(const Characters& text) const {
        if (text.length != length_) return false;
        return visit_units(text, [this](const auto* s) {
            return visit_units({text_data(), length_, unit_bytes_, false}, [this, s](const auto* own) { return same_units(s, own, length_); });
        });
    }
    bool intact() const { return checksum() == checksum_; }
    // How often each id is there; made when it is first asked for.
    const IdTally& tally() {
        const IdTally* made = tally_.load(std::memory_order_acquire);
        if (made) return *made;
        auto fresh = std::make_unique<const IdTally>(ids(), count_);
        if (tally_.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
        return *made;
    }
    ~Piece() { delete tally_.load(); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    // All memory, what the store keeps for it included, and the tally, which has at most as many entries as there are ids.
    size_t bytes() const { return data_bytes() + count_ * sizeof(uint32_t) + sizeof(Piece) + OVERHEAD; }

  private:
    friend class PrefixStore;
    static constexpr size_t OVERHEAD = 160;  // of two allocations and an entry of the table

    struct Free {
        void operator()(uint8_t* p) const { std::free(p); }
    };
    static int narrowest(const Characters& text) {
        if (text.unit_bytes == 1) return 1;
        return visit_units(text, [&text](const auto* s) {
            uint32_t all = 0;
            for (size_t i = 0; i < text.length; i++) all |= s[i];
            return all < 0x100 ? 1 : all < 0x10000 ? 2 : 4;
        });
    }
    template <class Unit>
    void copy_units(const Unit* s) {
        if (unit_bytes_ == sizeof(Unit)) std::memcpy(text_data(), s, length_ * sizeof(Unit));
        else if (unit_bytes_ == 1) std::copy(s, s + length_, text_data());
        else std::copy(s, s + length_, reinterpret_cast<uint16_t*>(text_data()));
    }
    size_t data_bytes() const { return count_ * sizeof(uint32_t) + length_ * static_cast<size_t>(unit_bytes_); }
    uint8_t* text_data() const { return data_.get() + count_ * sizeof(uint32_t); }
    uint64_t checksum() const { return content_hash(reinterpret_cast<const uint16_t*>(data_.get()), 2 * count_); }

    uint64_t name_ = 0, before_ = 0, text_hash_, checksum_ = 0;
    size_t length_, utf8_bytes_, count_;
    int unit_bytes_;
    std::unique_ptr<uint8_t, Free> data_;
    std::atomic<const IdTally*> tally_{nullptr};
    // The order of use, under the store's lock.
    Piece *newer_ = nullptr, *older_ = nullptr;
    bool kept_ = false;
};
using Pieces = std::vector<std::shared_ptr<Piece>>;

class PrefixStore {
  public:
    // Counts since the store was made, all but the last three of which only grow.
    struct Counters {
        uint64_t lookups, hits;    // texts that were looked up; of which something was found
        uint64_t bytes_saved;      // of UTF-8, that were not tokenized again
        uint64_t insertions, evictions, collisions, corrupted;  // pieces
        uint64_t pieces, bytes, limit_bytes;
    };
    // The names of no piece: what stands before the first one.
    static constexpr uint64_t ROOTS = 2;

    // `hash_bits`: fewer than 64 make collisions, for tests.
    explicit PrefixStore(size_t limit_bytes, int hash_bits = 64)
        : limit_(limit_bytes), notes_(NOTES), shelf_(new Shelf(hash_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << hash_bits) - 1)) {}
    PrefixStore(const PrefixStore&) = delete;
    PrefixStore& operator=(const PrefixStore&) = delete;
    // After a fork the parent's lock may be held for ever: its pieces are then left alone.
    ~PrefixStore() {
        Shelf* shelf = shelf_.load();
        if (shelf->process == getpid()) delete shelf;
    }

    size_t limit() const { return limit_; }
    static uint64_t hash(const Characters& text) {
        return visit_units(text, [&text](const auto* s) { return content_hash(s, text.length); });
    }
    static uint64_t name(const Piece& piece) { return piece.name_; }

    // The piece with that text, of that hash, behind the piece named `before`; null if there is none.
    std::shared_ptr<Piece> find(uint64_t before, const Characters& text, uint64_t text_hash) {
        Shelf& shelf = own_shelf();
        std::shared_ptr<Piece> found[MOST_ALIKE];
        size_t count = 0;
        {
            const std::lock_guard<std::mutex> lock(shelf.mutex);
            const auto [from, to] = shelf.table.equal_range(shelf.key(before, text_hash));
            for (auto i = from; i != to && count < MOST_ALIKE; i++) found[count++] = i->second;
        }
        for (size_t i = 0; i < count; i++) {
            // The hash as well: a text that has decayed may have become this one, but its ids have not.
            if (found[i]->before_ != before || found[i]->text_hash_ != text_hash || !found[i]->holds(text)) {
                shelf.collisions++;
            } else if (!found[i]->intact()) {
                shelf.corrupted++;
                const std::lock_guard<std::mutex> lock(shelf.mutex);
                if (found[i]->kept_) shelf.remove(*found[i]);
            } else {
                return std::move(found[i]);
            }
        }
        return nullptr;
    }
    // Whether such a piece was asked for here before, as far as that is remembered.
    bool noted(uint64_t before, uint64_t text_hash) {
        const uint64_t note = text_hash ^ mix(before);
        return notes_[note % NOTES].exchange(note, std::memory_order_relaxed) == note;
    }
    // Counts a text of which these pieces were found, and makes them the last to go.
    void used(const Pieces& pieces) {
        Shelf& shelf = own_shelf();
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        shelf.lookups++;
        shelf.hits += !pieces.empty();
        for (auto i = pieces.rbegin(); i != pieces.rend(); i++) {
            shelf.bytes_saved += (*i)->utf8_bytes_;
            if ((*i)->kept_) shelf.renew(**i);
        }
    }
    // Takes in pieces that follow one another, the first one behind `before`; those that are there already stay.
    void insert(uint64_t before, Pieces pieces) {
        Shelf& shelf = own_shelf();
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        for (auto& piece : pieces) {
            piece->before_ = before;
            if (auto same = shelf.same_as(*piece)) piece = std::move(same);
            else piece->name_ = shelf.next_name++;
            before = piece->name_;
        }
        for (auto i = pieces.rbegin(); i != pieces.rend(); i++) {
            if ((*i)->kept_) shelf.renew(**i);
            else shelf.add(*i);
        }
        while (shelf.bytes > limit_ && shelf.oldest) shelf.evict(*shelf.oldest);
    }
    // Changes a bit of each piece, of its ids or of its text: what decayed memory would do. For tests.
    void spoil(bool texts) {
        Shelf& shelf = own_shelf();
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        for (const auto& [key, piece] : shelf.table) (texts ? piece->text_data() : piece->data_.get())[0] ^= 1;
    }
    Counters counters() {
        Shelf& s = own_shelf();
        const std::lock_guard<std::mutex> lock(s.mutex);
        return {s.lookups, s.hits, s.bytes_saved, s.insertions, s.evictions, s.collisions, s.corrupted, s.table.size(), s.bytes, limit_};
    }

  private:
    static constexpr size_t NOTES = size_t{1} << 14;
    static constexpr size_t MOST_ALIKE = 8;  // pieces with one key: nobody can make looking up slow


    // All that the lock guards.
    struct Shelf {
        explicit Shelf(uint64_t mask) : hash_mask(mask) {}

        const uint64_t hash_mask;
        pid_t process = getpid();
        std::mutex mutex;
        std::unordered_multimap<uint64_t, std::shared_ptr<Piece>> table;
        Piece *newest = nullptr, *oldest = nullptr;
        uint64_t next_name = ROOTS;
        size_t bytes = 0;
        uint64_t lookups = 0, hits = 0, bytes_saved = 0, insertions = 0, evictions = 0;
        std::atomic<uint64_t> collisions{0}, corrupted{0};

        uint64_t key(uint64_t before, uint64_t text_hash) const { return (text_hash ^ mix(before)) & hash_mask; }
        std::shared_ptr<Piece> same_as(const Piece& piece) const {
            const Characters text{piece.text_data(), piece.length_, piece.unit_bytes_, false};
            const auto [from, to] = table.equal_range(key(piece.before_, piece.text_hash_));
            for (auto i = from; i != to; i++)
                if (i->second->before_ == piece.before_ && i->second->text_hash_ == piece.text_hash_ && i->second->holds(text)) return i->second;
            return nullptr;
        }
        void add(const std::shared_ptr<Piece>& piece) {
            const uint64_t name = key(piece->before_, piece->text_hash_);
            if (table.count(name) == MOST_ALIKE) evict(*table.find(name)->second);
            table.emplace(name, piece);
            piece->kept_ = true;
            link_newest(*piece);
            bytes += piece->bytes();
            insertions++;
        }
        void renew(Piece& piece) {
            unlink(piece);
            link_newest(piece);
        }
        void evict(Piece& piece) {
            evictions++;
            remove(piece);
        }
        // Drops the table's hold of it, which may be the last one.
        void remove(Piece& piece) {
            unlink(piece);
            piece.kept_ = false;
            bytes -= piece.bytes();
            const auto [from, to] = table.equal_range(key(piece.before_, piece.text_hash_));
            table.erase(std::find_if(from, to, [&piece](const auto& entry) { return entry.second.get() == &piece; }));
        }
        void unlink(Piece& piece) {
            (piece.newer_ ? piece.newer_->older_ : newest) = piece.older_;
            (piece.older_ ? piece.older_->newer_ : oldest) = piece.newer_;
        }
        void link_newest(Piece& piece) {
            piece.newer_ = nullptr;
            piece.older_ = newest;
            (newest ? newest->newer_ : oldest) = &piece;
            newest = &piece;
        }
    };

    Shelf& own_shelf() {
        Shelf* current = shelf_.load();
        if (current->process == getpid()) return *current;
        // A child process. Nobody but us is here to let go of a lock that was held while it was made.
        auto fresh = std::make_unique<Shelf>(current->hash_mask);
        if (shelf_.compare_exchange_strong(current, fresh.get())) return *fresh.release();
        return *current;
    }

    const size_t limit_;
    std::vector<std::atomic<uint64_t>> notes_;
    std::atomic<Shelf*> shelf_;
};

}  // namespace lopt
