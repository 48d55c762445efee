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

#include "bpe/merges.hpp"
#include "bpe/trie.hpp"

namespace lopt {

class Compatibility {
  public:
    static constexpr uint32_t NEVER = NONE;
    static constexpr uint32_t NO_SHORTER = (1u << 20) - 1;
    static constexpr size_t MAX_LENGTH = (1u << 12) - 1;

    explicit Compatibility(const Vocabulary& vocabulary) : tokens_(vocabulary.max_id() + 1, Token{}) {}

    void set_token(uint32_t id, size_t length, const Derivation& derivation) {
        Token& token = tokens_[id];
        token.time = derivation.ranks_fell ? NEVER : derivation.last_rank == NONE ? 0 : derivation.last_rank + 1;
        token.left = derivation.left;
        token.right = derivation.right;
        token.shorter = NO_SHORTER << 12 | static_cast<uint32_t>(length);
    }
    void set_shorter(uint32_t id, uint32_t shorter) { tokens_[id].shorter = shorter << 12 | (tokens_[id].shorter & 0xFFF); }

    // The longest proper prefix of a token that is a token too, NO_SHORTER if there is none.
    uint32_t shorter(uint32_t id) const { return tokens_[id].shorter >> 12; }
    uint32_t length(uint32_t id) const { return tokens_[id].shorter & 0xFFF; }
    bool irregular(uint32_t id) const { return tokens_[id].time == NEVER; }

    // Merges are visited in order of rank, so the sets gathered so far hold just those that come before an edge token
    // is itself merged away; so the sets of the many small tokens along an edge stay nearly empty.
    void build_edges(const MergeTable& merges) {
        std::vector<uint64_t> after(tokens_.size(), 0), before(tokens_.size(), 0);
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint32_t id = merges.byte_id(static_cast<uint8_t>(byte));
            if (id != NONE) tokens_[id].right_names = tokens_[id].left_names = name(id);
        }
        for (uint32_t rank = 0; rank < merges.size(); rank++) {
            const auto [left, right] = merges.pair(rank);
            const uint32_t product = merges.product(rank);
            before[right] |= name(left);  // an equal rank counts on the right side: the crossing merge is further left
            Token& token = tokens_[product];
            if (token.time == rank + 1 && token.left == left && token.right == right) {
                token.right_names = tokens_[right].right_names | name(product);
                token.right_meets = tokens_[right].right_meets | after[right];
                token.left_names = tokens_[left].left_names | name(product);
                token.left_meets = tokens_[left].left_meets | before[left];
            }
            after[left] |= name(right);
        }
        for (uint32_t id = 0; id < tokens_.size(); id++) {
            tokens_[id].right_meets |= after[id];
            tokens_[id].left_meets |= before[id];
        }
    }

    // False at once for many pairs that are compatible: no token on one edge ever meets one on the other.
    bool may_cross(uint32_t a, uint32_t b) const {
        const Token &left = tokens_[a], &right = tokens_[b];
        return (left.right_meets & right.left_names) && (left.right_names & right.left_meets);
    }

    // The merges of both edges are undone, latest first. At each state the pair across the boundary must not have
    // come first: it wins against a merge inside the left token if its rank is strictly lower, inside the right token
    // if lower or equal (leftmost first).
    struct Walk {
        uint32_t a, b, limit = NONE;
    };
    enum class Verdict { open, compatible, refused };
    // One state of the walk; both tokens are regular.
    Verdict step(const MergeTable& merges, Walk& walk) const {
        if (merges.rank(walk.a, walk.b) < walk.limit) return Verdict::refused;
        const Token &left = tokens_[walk.a], &right = tokens_[walk.b];
        if (left.time > right.time) {
            walk.limit = left.time - 1;
            walk.a = left.right;
            return Verdict::open;
        }
        if (right.time == 0) return Verdict::compatible;
        walk.limit = right.time;
        walk.b = right.left;
        return Verdict::open;
    }
    bool compatible(const MergeTable& merges, uint32_t a, uint32_t b) const {
        if (!may_cross(a, b)) return true;
        Walk walk{a, b};
        Verdict verdict;
        do verdict = step(merges, walk);
        while (verdict == Verdict::open);
        return verdict == Verdict::compatible;
    }

    size_t bytes() const { return tokens_.bytes(); }

  private:
    // All that the search asks of a token, in one cache line.
    struct alignas(64) Token {
        // Sets of token ids hashed to 64 bits: tokens along the right edge, and what may still merge with one of them
        // from the right; the same for the left edge.
        uint64_t right_names = 0, right_meets = 0, left_names = 0, left_meets = 0;
        uint32_t time = 0;               // rank + 1 of the last merge that makes it, 0 for a byte, NEVER if irregular
        uint32_t left = 0, right = 0;    // the two tokens of that merge
        uint32_t shorter = NO_SHORTER << 12;  // id of the next shorter token << 12 | own length in bytes
    };
    static uint64_t name(uint32_t id) { return uint64_t{1} << ((id * 0x9E3779B1u) >> 26); }

    Table<Token> tokens_;
};

}  // namespace lopt
