// BPE of every prefix of a growing word, so that even a part without a seam need not be encoded again.
//
// The last token of an encoding determines the rest of it (GitHub's `bpe`, corollary IIa), so only the last token of each
// prefix is stored. For the prefix that ends at `end`, it is the one token w for which the prefix before w ends in a
// token that is compatible with w (compatibility.hpp). To find all tokens that may end there, the trie is walked from
// every position; unfinished walks wait for the next byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/id_buffer.hpp"
#include "bpe/model.hpp"

namespace lopt {

class GrowingWord {
  public:
    // The model must support matching, must not add end-of-word suffixes, and must outlive this object.
    explicit GrowingWord(const Model& model) : model_(&model), pairs_(model.compatibility(), model.merges()) {}

    // Returns false if an entry whose merges are out of order, or the unknown token, may be involved. The object must not be
    // used after that.
    bool append(std::string_view bytes) {
        return std::all_of(bytes.begin(), bytes.end(), [this](char byte) { return append(static_cast<uint8_t>(byte)); });
    }

    // The number of ids of the word followed by these bytes; NONE if `append` would return false.
    uint32_t count_with(std::string_view bytes) {
        const std::vector<Walk> walks = walks_;
        const size_t before = prefixes_.size();
        const uint32_t found = append(bytes) ? count(size()) : NONE;
        prefixes_.resize(before);
        walks_ = walks;
        return found;
    }

    size_t size() const { return prefixes_.size() - 1; }
    // The number of ids of the first `end` bytes.
    uint32_t count(size_t end) const { return prefixes_[end].count; }
    // Appends the ids of the first `end` bytes.
    void ids(size_t end, IdBuffer& out) const {
        const size_t length = count(end);
        uint32_t* const begin = out.reserve(length);
        for (uint32_t* o = begin + length; o > begin; end -= model_->compatibility().length(prefixes_[end].last))
            o = model_->unknown_characters().write_before(o, prefixes_[end].last);
        out.set_end(begin + length);
    }

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
        pairs_.set_length(here);
        pairs_.move_on();
        walks_.push_back({here, Trie::ROOT});
        Prefix found{NONE, 0};
        size_t kept = 0;
        for (const Walk walk : walks_) {  // longest token first
            const Trie::Unit unit = model_->trie()[walk.base ^ byte];
            if (!unit.is(byte)) continue;
            if (unit.token != NONE && found.last == NONE) {
                if ((unit.token & IRREGULAR) || !model_->unknown_characters().becomes_ids_alone(unit.token)) return false;
                const Prefix& before = prefixes_[walk.begin];
                if (walk.begin == 0 || pairs_.compatible(before.last, unit.token)) found = {unit.token, before.count + model_->unknown_characters().count_of(unit.token)};
            }
            if (unit.base() != Trie::NO_CHILDREN) walks_[kept++] = {walk.begin, unit.base()};
        }
        walks_.resize(kept);
        if (found.last == NONE) return false;  // unreachable: every prefix has an encoding
        prefixes_.push_back(found);
        return true;
    }

    const Model* model_;
    std::vector<Prefix> prefixes_{{NONE, 0}};
    std::vector<Walk> walks_;
    KnownPairs pairs_;
};

}  // namespace lopt
