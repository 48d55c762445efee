// BPE of every prefix of a growing word: a part of a text that no seam divides is not encoded again either.
//
// The last token of an encoding determines the rest of it (GitHub's `bpe`, corollary IIa): so for every prefix only the
// last token is kept. The prefix that ends at `end` has as its last the one token w for which the prefix before w ends in
// a token that is compatible with w (compatibility.hpp). All tokens that may end there are found by walks through the
// trie, one from every place; walks that are not yet at their end wait for the next byte.
//
// Two encodings that share a token can be joined at it (corollary III). So the encoding of [begin, end) is followed from
// `begin` on until its last token is the one that the word has there, at a place that the encoding of the prefix up to
// `end` goes through.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id_buffer.hpp"
#include "bpe/model.hpp"

namespace lopt {

class GrowingWord {
  public:
    // The model's words can be matched, and have no end of their own. It outlives this.
    explicit GrowingWord(const Model& model) : model_(&model) {}

    // False where an entry whose merges are not in order may take part: then this says nothing about the word any more.
    bool append(const uint8_t* p, size_t count) {
        for (const uint8_t* const end = p + count; p < end; p++)
            if (!append(*p)) return false;
        return true;
    }

    // How many ids the word would have with these bytes after it; NONE: see `append`.
    uint32_t count_with(const uint8_t* p, size_t count) {
        const std::vector<Walk> walks = walks_;
        const size_t before = prefixes_.size();
        const uint32_t found = append(p, count) ? this->count(size()) : NONE;
        prefixes_.resize(before);
        walks_ = walks;
        return found;
    }

    size_t size() const { return prefixes_.size() - 1; }
    // How many ids the first `end` bytes have, and the last of them.
    uint32_t count(size_t end) const { return prefixes_[end].count; }
    uint32_t last(size_t end) const { return prefixes_[end].last; }
    // Appends the ids of the first `end` bytes.
    void ids(size_t end, IdBuffer& out) const {
        const size_t length = count(end);
        uint32_t* const begin = out.reserve(length);
        for (uint32_t* o = begin + length; o > begin; end = before(end)) *--o = last(end);
        out.set_end(begin + length);
    }
    // Where the last token of the first `end` bytes begins.
    size_t before(size_t end) const { return end - model_->compatibility().length(last(end)); }
    size_t bytes() const { return prefixes_.capacity() * sizeof(Prefix) + walks_.capacity() * sizeof(Walk); }

  private:
    static constexpr uint32_t MOST = NONE - 1;

    struct Prefix {
        uint32_t last, count;
    };
    struct Walk {
        uint32_t begin, base;
    };

    bool append(uint8_t byte) {
        const auto here = static_cast<uint32_t>(size());
        if (here == MOST) return false;
        walks_.push_back({here, Trie::ROOT});
        Prefix found{NONE, 0};
        size_t kept = 0;
        for (const Walk walk : walks_) {  // the longest token first
            const Trie::Unit unit = model_->trie()[walk.base ^ byte];
            if (!unit.is(byte)) continue;
            if (unit.token != NONE && found.last == NONE) {
                if ((unit.token & IRREGULAR) || model_->unknown_characters().is_part(unit.token)) return false;
                const Prefix& before = prefixes_[walk.begin];
                if (walk.begin == 0 || model_->compatibility().compatible(model_->merges(), before.last, unit.token)) found = {unit.token, before.count + 1};
            }
            if (unit.base() != Trie::NO_CHILDREN) walks_[kept++] = {walk.begin, unit.base()};
        }
        walks_.resize(kept);
        if (found.last == NONE) return false;  // cannot be: every prefix has an encoding
        prefixes_.push_back(found);
        return true;
    }

    const Model* model_;
    std::vector<Prefix> prefixes_{{NONE, 0}};
    std::vector<Walk> walks_;
};

// Counts of the parts of one word, after one pass.
class WordIntervals {
  public:
    explicit WordIntervals(const Model& model) : model_(&model), word_(model) {}

    // False: see GrowingWord.
    bool build(const uint8_t* p, size_t count) {
        if (!word_.append(p, count)) return false;
        // The prefixes are a tree, each after the one that its last token follows. In the order of a walk through it,
        // what goes through a prefix is a stretch.
        std::vector<uint32_t> sizes(count + 1, 1);
        for (size_t end = count; end > 0; end--) sizes[word_.before(end)] += sizes[end];
        places_.assign(count + 1, {0, 0});
        places_[0] = {0, sizes[0]};
        std::vector<uint32_t> free(count + 1, 1);
        for (size_t end = 1; end <= count; end++) {
            const size_t parent = word_.before(end);
            places_[end] = {places_[parent].first + free[parent], sizes[end]};
            free[parent] += sizes[end];
        }
        return true;
    }
    const GrowingWord& word() const { return word_; }

    // How many ids the bytes p[begin, end) of the word p have by themselves; NONE: see GrowingWord.
    uint32_t count(const uint8_t* p, size_t begin, size_t end) const {
        if (begin == 0) return word_.count(end);
        GrowingWord part(*model_);
        for (size_t at = begin; at < end; at++) {
            if (!part.append(p + at, 1)) return NONE;
            const size_t reached = at + 1 - begin;
            if (part.last(reached) == word_.last(at + 1) && goes_through(end, at + 1)) return part.count(reached) + word_.count(end) - word_.count(at + 1);
        }
        return part.count(end - begin);
    }
    size_t bytes() const { return word_.bytes() + places_.capacity() * sizeof(Place); }

  private:
    struct Place {
        uint32_t first, size;
    };
    bool goes_through(size_t end, size_t prefix) const { return places_[end].first - places_[prefix].first < places_[prefix].size; }

    const Model* model_;
    GrowingWord word_;
    std::vector<Place> places_;
};

}  // namespace lopt
