// The prefix cache as a core uses it: which pieces a text is divided into, which of them are known, and which are kept.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/boundaries.hpp"
#include "core/workspace.hpp"
#include "prefix/prefix_store.hpp"
#include "text/characters.hpp"

namespace lopt {

// Method: see core.hpp.
template <class Method>
class PrefixLookup {
    using Workspace = lopt::Workspace<typename Method::Encoder::Workspace>;

  public:
    // The boundaries outlive this.
    explicit PrefixLookup(const Boundaries<Method>& boundaries) : boundaries_(boundaries) {}

    // Turns the prefix cache on, with a limit in bytes; to be called before the first `encode`.
    // `piece_characters`: of a piece, at least; `hash_bits`, `secret`: see PrefixStore. Texts of less than two pieces, or less than
    // `least_characters`, are encoded again as fast. Nothing is cached before `trust_seams`.
    void turn_on(size_t limit_bytes, size_t piece_characters, int hash_bits = 64, size_t least_characters = 0, std::optional<uint64_t> secret = {}) {
        store_ = secret ? std::make_unique<PrefixStore>(limit_bytes, hash_bits, *secret) : std::make_unique<PrefixStore>(limit_bytes, hash_bits);
        piece_characters_ = std::max<size_t>(piece_characters, 1);
        least_characters_ = std::max(least_characters, 2 * piece_characters_);
    }
    PrefixStore* store() const { return store_.get(); }
    // The caller has checked that texts keep their ids when they are divided at seams.
    void trust_seams() { trusts_seams_.store(true, std::memory_order_release); }
    bool applies(const Characters& text) const { return store_ && text.length >= least_characters_ && trusts_seams_.load(std::memory_order_acquire); }

    // Finds the pieces that the text begins with, and divides the rest if it is to be kept. It is kept when it is seen for the
    // second time, or when it extends a known prefix and is no longer than that, as a turn of a session does.
    void recall(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        uint64_t before = root(options);
        size_t end;
        while ((end = piece_end(text, space.known)) < text.length) {
            const uint64_t hash = store_->hash(text.part(space.known, end));
            Recalled found = store_->find(before, text.part(space.known, text.length), end - space.known, hash);
            // After the last piece the text may differ.
            const auto ends_at_seam = [&] {
                const size_t at = space.known + found.characters();
                return at < text.length && boundaries_.is_seam(text, at, text.length);
            };
            while (found.pieces && !ends_at_seam()) found.pieces--;
            if (!found.pieces) {
                const bool goes_on = text.length - space.known <= space.known;
                if (!goes_on && !store_->noted(before, hash)) end = text.length;
                break;
            }
            before = found.run->name(found.pieces);
            space.known += found.characters();
            space.recalled.push_back(std::move(found));
        }
        store_->used(space.recalled);
        for (; end < text.length; end = piece_end(text, end)) space.divisions.push_back({end, nullptr, 0, 0});
    }
    // Keeps the pieces of the rest, as far as there is room.
    void remember(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        if (space.divisions.empty()) return;
        Runs runs;
        std::vector<Piece> pieces;
        size_t from = space.known, ids = 0, bytes = 0;  // of the run
        const uint8_t* at = space.text.begin;
        const auto finish_run = [&](size_t end) {
            const size_t first_end = from + pieces.front().characters;
            runs.push_back(std::make_shared<Run>(store_->hash(text.part(from, first_end)), text.part(from, end), space.ids.data() + ids, std::move(pieces)));
            pieces.clear();
            bytes += runs.back()->bytes();
            from = end;
        };
        for (const auto& division : space.divisions) {
            pieces.push_back({division.character - from, static_cast<size_t>(division.at - at), division.ids - ids});
            if (store_->fits_in_run(pieces.size() + 1, division.character - from + (division.ids - ids) * sizeof(uint32_t))) continue;
            finish_run(division.character);
            at = division.at;
            ids = division.ids;
            if (bytes > store_->limit()) break;
        }
        if (!pieces.empty()) finish_run(space.divisions.back().character);
        store_->insert(root(options), space.recalled, std::move(runs));
    }

  private:
    // The end of the piece of text that begins at `from`: the first seam at least so many characters on, and near one of
    // their multiples (few texts have none there, and not every place is tried); the text's length if there is none.
    // Texts that begin alike have the same pieces, up to those that hold the first difference or end beside it.
    size_t piece_end(const Characters& text, size_t from) const {
        for (size_t at = from + piece_characters_; at < text.length; at += piece_characters_) {
            const size_t stop = std::min(at + (piece_characters_ + 3) / 4, text.length);
            for (size_t i = at; i < stop; i++)
                if (boundaries_.is_seam(text, i, text.length)) return i;
        }
        return text.length;
    }
    // The name of what comes before the first piece: another one where special tokens are text.
    static uint64_t root(const EncodeOptions& options) { return options.split_special; }

    const Boundaries<Method>& boundaries_;
    std::unique_ptr<PrefixStore> store_;  // null: the cache is off
    std::atomic<bool> trusts_seams_{false};
    size_t piece_characters_ = 0, least_characters_ = 0;
};

}  // namespace lopt
