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

    // The merges of both edges are undone, latest first. At each state the pair across the boundary must not have
    // come first: it wins against a merge inside the left token if its rank is strictly lower, inside the right token
    // if lower or equal (leftmost first). Both tokens are regular.
    bool compatible(const MergeTable& merges, uint32_t a, uint32_t b) const {
        for (uint32_t limit = NONE;;) {
            if (merges.rank(a, b) < limit) return false;
            const Token &left = tokens_[a], &right = tokens_[b];
            if (left.time > right.time) {
                limit = left.time - 1;
                a = left.right;
            } else if (right.time > 0) {
                limit = right.time;
                b = right.left;
            } else {
                return true;
            }
        }
    }

    size_t bytes() const { return tokens_.bytes(); }

  private:
    // All that the search asks of a token.
    struct alignas(16) Token {
        uint32_t time = 0;                    // rank + 1 of the last merge that makes it, 0 for a byte, NEVER if irregular
        uint32_t left = 0, right = 0;         // the two tokens of that merge
        uint32_t shorter = NO_SHORTER << 12;  // id of the next shorter token << 12 | own length in bytes
    };

    Table<Token> tokens_;
};

}  // namespace lopt
