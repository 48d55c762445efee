// The lattice of one word of Unigram, to which text is appended: the best way to a position depends on nothing that follows
// it, so only what is appended is read, and the beginning of as many bytes as a piece may have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unigram/unigram.hpp"

namespace lopt {

class GrowingLattice {
  public:
    // The model must outlive this object.
    explicit GrowingLattice(const Unigram& model) : model_(&model) { lattice_.ways.resize(1); }

    // Requires whole characters, spelled as the model expects them, and a size that stays below NONE.
    void append(std::string_view text) { word_ += text; }
    // Takes back all but the first bytes.
    void truncate(uint32_t size) {
        word_.resize(size);
        found_ = std::min(found_, size);
    }
    // Required before `count` and `ids`.
    void find_ways() {
        model_->find_ways_from(bytes(), found_, size(), lattice_);
        prefixes_.resize(word_.size() + 1);
        while (found_ < size()) add_prefix(found_ += static_cast<uint32_t>(character_bytes(bytes()[found_])));
    }

    uint32_t size() const { return static_cast<uint32_t>(word_.size()); }
    // The number of ids of the first `end` bytes, which must be whole characters.
    uint32_t count(uint32_t end) const { return prefixes_[end].count; }
    // Appends the ids of the word.
    void ids(IdBuffer& out) const { model_->append_ids(bytes(), size(), lattice_, out); }

  private:
    // The ids of a prefix. If it ends in unknown characters: where those begin, and the number of their bytes, NONE if one of
    // these has no id.
    struct Prefix {
        uint32_t count, run, bytes;
    };

    const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(word_.data()); }
    void add_prefix(uint32_t end) {
        const Lattice::Way& way = lattice_.ways[end];
        Prefix& prefix = prefixes_[end];
        if (way.id != model_->unknown_id()) {
            prefix = {prefixes_[way.begin].count + 1, 0, 0};
            return;
        }
        const bool goes_on = way.begin > 0 && lattice_.ways[way.begin].id == model_->unknown_id();
        prefix = goes_on ? prefixes_[way.begin] : Prefix{0, way.begin, 0};
        Unigram::visit_bytes(bytes() + way.begin, bytes() + end, [&](uint8_t byte) {
            if (prefix.bytes != NONE) prefix.bytes = model_->byte_ids()[byte] == NONE ? NONE : prefix.bytes + 1;
        });
        const bool as_bytes = prefix.bytes != NONE && model_->piece_of(bytes() + prefix.run, bytes() + end) == NONE;
        prefix.count = prefixes_[prefix.run].count + (as_bytes ? prefix.bytes : 1);
    }

    const Unigram* model_;
    std::string word_;
    uint32_t found_ = 0;  // up to there, the ways are known
    Lattice lattice_;
    std::vector<Prefix> prefixes_{{0, 0, 0}};  // by their ends
};

}  // namespace lopt
