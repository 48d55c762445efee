// May two tokens stand side by side? Decided from how each was made, without merging anything.
//
// Theorem (notes and proof in docs of GitHub's `bpe`, generalised here to any merge table under lowest rank, leftmost
// first): BPE(w) is the one sequence of tokens in which each encodes to itself and each two neighbours are
// compatible, BPE(t u) = [t, u]. A final boundary is never crossed, so the run of merges restricted to two neighbours
// is their own run. Conversely, take the first merge that crosses a boundary: until then the restricted run of that
// pair is a prefix of its own run, so the pair alone would have crossed too. Neither the order of ids nor unique
// merges are needed, only that the ranks within each token's own derivation rise; tokens where they fall are flagged
// IRREGULAR and their words are merged by rank.
#pragma once

#include <vector>

#include "merges.hpp"
#include "trie.hpp"

namespace lopt {

class Compatibility {
  public:
    struct Token {
        uint32_t time;         // rank + 1 of the last merge that makes it, 0 for a byte, NEVER if irregular
        uint32_t left, right;  // the two tokens of that merge
        uint32_t shorter;      // id of the longest proper prefix that is a token << 12 | own length in bytes
    };
    static constexpr uint32_t NEVER = NONE;
    static constexpr uint32_t NO_SHORTER = (1u << 20) - 1;
    static constexpr size_t MAX_LENGTH = (1u << 12) - 1;

    explicit Compatibility(const Vocabulary& vocabulary)
        : tokens_(vocabulary.max_id() + 1, Token{0, 0, 0, NO_SHORTER << 12}), edges_(vocabulary.max_id() + 1, Edges{0, 0, 0, 0}) {}

    void set_token(uint32_t id, size_t length, const Derivation& derivation) {
        const uint32_t time = derivation.ranks_fell ? NEVER : derivation.last_rank == NONE ? 0 : derivation.last_rank + 1;
        tokens_[id] = {time, derivation.left, derivation.right, NO_SHORTER << 12 | static_cast<uint32_t>(length)};
    }
    void set_shorter(uint32_t id, uint32_t shorter) { tokens_[id].shorter = shorter << 12 | (tokens_[id].shorter & 0xFFF); }

    uint32_t shorter(uint32_t id) const { return tokens_[id].shorter >> 12; }
    uint32_t length(uint32_t id) const { return tokens_[id].shorter & 0xFFF; }
    bool irregular(uint32_t id) const { return tokens_[id].time == NEVER; }

    // Merges are visited in order of rank, so the sets gathered so far hold just those that come before an edge token
    // is itself merged away; so the sets of the many small tokens along an edge stay nearly empty.
    void build_edges(const MergeTable& merges) {
        std::vector<uint64_t> after(tokens_.size(), 0), before(tokens_.size(), 0);
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint32_t id = merges.byte_id(static_cast<uint8_t>(byte));
            if (id != NONE) edges_[id] = {name(id), 0, name(id), 0};
        }
        for (uint32_t rank = 0; rank < merges.size(); rank++) {
            const auto [left, right] = merges.pair(rank);
            const uint32_t product = merges.product(rank);
            before[right] |= name(left);  // an equal rank counts on the right side: the crossing merge is further left
            const Token& token = tokens_[product];
            if (token.time == rank + 1 && token.left == left && token.right == right)
                edges_[product] = {edges_[right].right_names | name(product), edges_[right].right_meets | after[right],
                                   edges_[left].left_names | name(product), edges_[left].left_meets | before[left]};
            after[left] |= name(right);
        }
        for (uint32_t id = 0; id < tokens_.size(); id++) {
            edges_[id].right_meets |= after[id];
            edges_[id].left_meets |= before[id];
        }
    }

    // False at once for nearly all pairs that are compatible: no token on one edge ever meets one on the other.
    bool may_cross(uint32_t a, uint32_t b) const {
        const Edges &left = edges_[a], &right = edges_[b];
        return (left.right_meets & right.left_names) && (left.right_names & right.left_meets);
    }

    // The merges of both edges are undone, latest first. At each state the pair across the boundary must not have
    // come first: it wins against a merge inside the left token if its rank is strictly lower, inside the right token
    // if lower or equal (leftmost first). Both tokens are regular.
    bool compatible(const MergeTable& merges, uint32_t a, uint32_t b) const {
        if (!may_cross(a, b)) return true;
        for (uint32_t limit = NONE;;) {
            if (merges.rank(a, b) < limit) return false;
            const Token &left = tokens_[a], &right = tokens_[b];
            if (left.time > right.time) {
                limit = left.time - 1;
                a = left.right;
            } else {
                if (right.time == 0) return true;
                limit = right.time;
                b = right.left;
            }
        }
    }

    void prefetch(uint32_t id) const {
        __builtin_prefetch(&edges_[id]);
        __builtin_prefetch(&tokens_[id]);
    }
    // The walk of `compatible`, only asking for the lines of the merge table that it will read.
    void prefetch_walk(const MergeTable& merges, uint32_t a, uint32_t b) const {
        for (;;) {
            merges.prefetch(a, b);
            const Token &left = tokens_[a], &right = tokens_[b];
            if (left.time > right.time) a = left.right;
            else if (right.time == 0) return;
            else b = right.left;
        }
    }
    size_t bytes() const { return tokens_.bytes() + edges_.bytes(); }

  private:
    // Sets of token ids hashed to 64 bits.
    struct Edges {
        uint64_t right_names, right_meets;  // tokens along the right edge; what may still merge with one from the right
        uint64_t left_names, left_meets;    // the same for the left edge
    };
    static uint64_t name(uint32_t id) { return uint64_t{1} << ((id * 0x9E3779B1u) >> 26); }

    Table<Token> tokens_;
    Table<Edges> edges_;
};

}  // namespace lopt
