// The prefix cache: pieces of text and their ids, each found by the piece before it and by its content.
//
// A text that begins like an earlier one finds the same pieces, one after the other. Consecutive pieces are kept in runs: a
// hash proposes a run by its first piece, and from there on the text is compared. The hash never decides, so a collision
// costs time and nothing else. A text that leaves a run halfway continues from the last piece that it shares.
//
// Three or more runs are joined with the run after them where that is more than half as long as each. So a long text has few
// runs, at most three of a size, and each piece is copied about once each time that its text quadruples.
//
// The store is bounded in bytes. The least recently used run is evicted first; a run is never evicted before those that
// follow it, which cannot be found without it.
//
// Copying a text into fresh memory takes a good part of the time that tokenizing it takes. So a prefix that is seen for the
// first time is only noted, by the hash of its first piece; it is kept when it is seen again (see Core).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include "prefix/content_hash.hpp"
#include "prefix/piece_run.hpp"

namespace lopt {

using Runs = std::vector<std::shared_ptr<Run>>;

class PrefixStore {
  public:
    // Counts since the store was made. All but the last three only grow.
    struct Counters {
        uint64_t lookups, hits;    // texts that were looked up; those of which a prefix was found
        uint64_t bytes_saved;      // of UTF-8, that were not tokenized again
        uint64_t insertions, evictions, collisions;  // pieces; collisions: runs
        uint64_t pieces, bytes, limit_bytes;
    };
    // Names below this belong to no piece. They stand for what comes before the first piece.
    static constexpr uint64_t ROOTS = 2;

    // `hash_bits`: fewer than 64 make collisions, for tests; `secret`: of the hashes, for tests that want always the same.
    explicit PrefixStore(size_t limit_bytes, int hash_bits = 64, uint64_t secret = new_secret())
        : limit_(limit_bytes), secret_(secret), notes_(NOTES), shelf_(new Shelf(hash_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << hash_bits) - 1)) {}
    PrefixStore(const PrefixStore&) = delete;
    PrefixStore& operator=(const PrefixStore&) = delete;
    // In a forked child the parent's lock may never be released: its runs are left alone.
    ~PrefixStore() {
        Shelf* shelf = shelf_.load();
        if (shelf->process == getpid()) delete shelf;
    }

    size_t limit() const { return limit_; }
    // Whether a run may have so many pieces and bytes. A run is evicted as a whole.
    bool fits_in_run(size_t pieces, size_t bytes) const { return pieces <= MOST_PIECES && bytes <= limit_ / 8; }
    uint64_t hash(const Characters& text) const {
        return visit_units(text, [&](const auto* s) { return content_hash(s, text.length, secret_); });
    }

    // The pieces that the text begins with, after the piece named `before`; none if there is no run whose first piece is
    // the text's, which ends at `first_end` and has that hash.
    Recalled find(uint64_t before, const Characters& text, size_t first_end, uint64_t first_hash) {
        Shelf& shelf = own_shelf();
        std::shared_ptr<Run> found[MOST_ALIKE];
        size_t count = 0;
        {
            const std::lock_guard<std::mutex> lock(shelf.mutex);
            const auto [from, to] = shelf.table.equal_range(shelf.key(before, first_hash));
            for (auto i = from; i != to && count < MOST_ALIKE; i++) found[count++] = i->second;
        }
        for (size_t i = 0; i < count; i++) {
            if (found[i]->before_ == before && found[i]->first_hash_ == first_hash && found[i]->characters(1) == first_end)
                if (const size_t pieces = found[i]->matching(text)) return {std::move(found[i]), pieces};
            shelf.collisions++;
        }
        return {};
    }
    // Whether this piece was asked for before, as far as the notes go back; notes it.
    bool noted(uint64_t before, uint64_t text_hash) {
        const uint64_t note = text_hash ^ mix(before);
        return notes_[note % NOTES].exchange(note, std::memory_order_relaxed) == note;
    }
    // Counts a text of which these pieces were found, and makes them the last to go.
    void used(const std::vector<Recalled>& known) {
        Shelf& shelf = own_shelf();
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        shelf.lookups++;
        shelf.hits += !known.empty();
        for (const auto& one : known) shelf.bytes_saved += one.run->utf8_bytes(one.pieces);
        shelf.renew(known);
    }
    // Takes in runs that follow one another, the first one after `known`, or after `root` where that is empty. There is at
    // least one.
    void insert(uint64_t root, const std::vector<Recalled>& known, Runs fresh) {
        Shelf& shelf = own_shelf();
        uint64_t before = known.empty() ? root : known.back().run->name(known.back().pieces);
        for (const auto& run : fresh) {
            run->before_ = before;
            uint64_t name = shelf.next_name.fetch_add(run->size());
            for (Piece& piece : run->pieces_) piece.name = name++;
            before = name - 1;
        }
        const size_t kept = join(known, fresh);
        const std::lock_guard<std::mutex> lock(shelf.mutex);
        for (size_t i = kept; i < known.size(); i++) shelf.replace(*known[i].run);
        for (auto i = fresh.rbegin(); i != fresh.rend(); i++) shelf.add(*i);
        shelf.renew(known);
        shelf.evict_above(limit_);
    }
    Counters counters() {
        Shelf& s = own_shelf();
        const std::lock_guard<std::mutex> lock(s.mutex);
        return {s.lookups, s.hits, s.bytes_saved, s.insertions, s.evictions, s.collisions, s.pieces, s.bytes, limit_};
    }

  private:

    static constexpr size_t NOTES = size_t{1} << 14;
    static constexpr size_t MOST_ALIKE = 8;  // runs with one key: bounds the time of a lookup
    static constexpr size_t MOST_PIECES = 1024;
    static constexpr size_t JOINED = 3;  // runs, and one after them

    // Makes one run of the last ones of `known` and the only one of `fresh`, where it is long enough for that; returns how
    // many of `known` are left.
    size_t join(const std::vector<Recalled>& known, Runs& fresh) const {
        size_t left = known.size(), pieces = fresh.front()->size(), bytes = fresh.front()->bytes();
        if (fresh.size() > 1) return left;
        for (;;) {
            size_t first = left, all_pieces = pieces, all_bytes = bytes;
            for (; first > 0 && known[first - 1].whole() && known[first - 1].run->size() < 2 * pieces; first--) {
                all_pieces += known[first - 1].pieces;
                all_bytes += known[first - 1].run->bytes();
            }
            if (left - first < JOINED || !fits_in_run(all_pieces, all_bytes)) break;
            left = first;
            pieces = all_pieces;
            bytes = all_bytes;
        }
        if (left == known.size()) return left;
        Runs parts;
        for (size_t i = left; i < known.size(); i++) parts.push_back(known[i].run);
        parts.push_back(std::move(fresh.front()));
        fresh.front() = std::make_shared<Run>(parts);
        fresh.front()->before_ = parts.front()->before_;
        return left;
    }

    // All that the lock guards.
    struct Shelf {
        explicit Shelf(uint64_t mask) : hash_mask(mask) {}

        const uint64_t hash_mask;
        pid_t process = getpid();
        std::mutex mutex;
        std::unordered_multimap<uint64_t, std::shared_ptr<Run>> table;
        Run *newest = nullptr, *oldest = nullptr;
        size_t pieces = 0, bytes = 0;
        uint64_t lookups = 0, hits = 0, bytes_saved = 0, insertions = 0, evictions = 0;
        std::atomic<uint64_t> next_name{ROOTS}, collisions{0};

        uint64_t key(uint64_t before, uint64_t first_hash) const { return (first_hash ^ mix(before)) & hash_mask; }
        // Does nothing if another thread was faster.
        void add(const std::shared_ptr<Run>& run) {
            const uint64_t name = key(run->before_, run->first_hash_);
            const auto [from, to] = table.equal_range(name);
            size_t alike = 0;
            for (auto i = from; i != to; i++, alike++) {
                const Run& other = *i->second;
                if (other.before_ == run->before_ && other.first_hash_ == run->first_hash_ && other.begins_like(*run)) return;
            }
            if (alike >= MOST_ALIKE) evict(*from->second);
            table.emplace(name, run);
            run->kept_ = true;
            link_newest(*run);
            bytes += run->bytes();
            pieces += run->size();
            insertions += run->size();
        }
        // Makes these the most recently used ones, the first of them the most recent.
        void renew(const std::vector<Recalled>& known) {
            for (auto i = known.rbegin(); i != known.rend(); i++) {
                if (!i->run->kept_) continue;
                unlink(*i->run);
                link_newest(*i->run);
            }
        }
        void evict_above(size_t limit) {
            while (bytes > limit && oldest) evict(*oldest);
        }
        void evict(Run& run) {
            evictions += run.size();
            remove(run);
        }
        // Removes what is going to be a part of another run.
        void replace(Run& run) {
            if (!run.kept_) return;
            insertions -= run.size();
            remove(run);
        }
        // Drops the table's hold of it, which may be the last one.
        void remove(Run& run) {
            unlink(run);
            run.kept_ = false;
            bytes -= run.bytes();
            pieces -= run.size();
            const auto [from, to] = table.equal_range(key(run.before_, run.first_hash_));
            table.erase(std::find_if(from, to, [&run](const auto& entry) { return entry.second.get() == &run; }));
        }
        void unlink(Run& run) {
            (run.newer_ ? run.newer_->older_ : newest) = run.older_;
            (run.older_ ? run.older_->newer_ : oldest) = run.newer_;
        }
        void link_newest(Run& run) {
            run.newer_ = nullptr;
            run.older_ = newest;
            (newest ? newest->newer_ : oldest) = &run;
            newest = &run;
        }
    };

    Shelf& own_shelf() {
        Shelf* current = shelf_.load();
        if (current->process == getpid()) return *current;
        // A forked child. A lock that was held when it was forked is never released here.
        auto fresh = std::make_unique<Shelf>(current->hash_mask);
        if (shelf_.compare_exchange_strong(current, fresh.get())) return *fresh.release();
        return *current;
    }

    const size_t limit_;
    const uint64_t secret_;
    std::vector<std::atomic<uint64_t>> notes_;
    std::atomic<Shelf*> shelf_;
};

}  // namespace lopt
