// The prefix cache as used by a core: what is known of a text, where the rest is divided, and what is stored.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/boundaries.hpp"
#include "core/workspace.hpp"
#include "prefix/held_texts.hpp"
#include "text/characters.hpp"

namespace lopt {

// Method: see core.hpp.
template <class Method>
class PrefixCache {
    using Workspace = lopt::Workspace<typename Method::Encoder::Workspace>;

  public:
    // The boundaries must outlive this object.
    explicit PrefixCache(const Boundaries<Method>& boundaries) : boundaries_(boundaries) {}

    // Turns the cache on, with a limit in bytes. Call it before the first `encode`. Texts are found in blocks of
    // `block_characters`. Texts shorter than two blocks or `least_characters` are not cached, because encoding them
    // again is as fast. `hash_bits`, `secret`: see HeldTexts.
    void turn_on(size_t limit_bytes, size_t block_characters, int hash_bits = 64, size_t least_characters = 0, std::optional<uint64_t> secret = {}) {
        block_characters_ = std::max<size_t>(block_characters, 1);
        texts_ = std::make_unique<HeldTexts>(limit_bytes, block_characters_, hash_bits, secret ? *secret : new_secret());
        least_characters_ = std::max(least_characters, 2 * block_characters_);
    }
    HeldTexts* texts() const { return texts_.get(); }
    bool applies(const Characters& text) const { return texts_ && text.length >= least_characters_ && texts_->takes(text); }

    // Finds the known part of the text, and divides the rest. Finds only whole texts until seams are trusted.
    void recall(const Characters& text, bool split_special, Workspace& space) const {
        const HeldTexts::Found found = texts_->find(text, split_special);
        const auto& held = found.held;
        const size_t common = found.characters;
        const bool trusts_seams = boundaries_.trusts_seams();
        if (held && common == text.length && common == held->text.characters.length) {
            space.known = {held, common, held->text.ids.size(), held->text.utf8_bytes};
        } else if (held && trusts_seams) {
            // The held text may continue differently.
            const auto& seams = held->text.seams;
            const auto last = std::find_if(seams.rbegin(), seams.rend(), [&](const Seam& seam) { return seam.character <= common && divides(text, seam.character); });
            if (last != seams.rend()) space.known = {held, last->character, last->ids, last->utf8_bytes};
        }
        texts_->used(space.known);
        space.indexed_end = found.goes_on || text.length - space.known.characters <= space.known.characters ? text.length : common;
        if (!trusts_seams) return;
        const size_t searched = (block_characters_ + 3) / 4;
        for (size_t at = space.known.characters; (at = boundaries_.next_seam(text, at, block_characters_, searched)) < space.indexed_end;)
            space.ends.push_back({at - space.known.characters, 0, 0});
    }
    // Holds a text that was encoded in `space`; the whole text is known afterwards. See HeldTexts for the owner.
    void hold(const Characters& text, bool split_special, Workspace& space, const std::shared_ptr<void>& owner) const {
        const KnownBeginning& known = space.known;
        std::vector<Seam> seams;
        if (known.held)
            for (const Seam& seam : known.held->text.seams)
                if (seam.character <= known.characters) seams.push_back(seam);
        // The last one is the end of the text.
        for (size_t i = 0; i + 1 < space.ends.size(); i++) {
            const Seam& end = space.ends[i];
            seams.push_back({known.characters + end.character, known.utf8_bytes + end.utf8_bytes, known.ids + end.ids});
        }
        const size_t utf8_bytes = known.utf8_bytes + space.utf8_bytes;
        const auto held = texts_->hold({owner, text, split_special, std::move(space.ids), std::move(seams), utf8_bytes}, known, space.indexed_end);
        space.ids.clear();
        space.known = {held, text.length, held->text.ids.size(), utf8_bytes};
    }

  private:
    bool divides(const Characters& text, size_t at) const { return at < text.length && boundaries_.is_seam(text, at, text.length); }

    const Boundaries<Method>& boundaries_;
    std::unique_ptr<HeldTexts> texts_;  // null: the cache is off
    size_t block_characters_ = 0, least_characters_ = 0;
};

}  // namespace lopt
