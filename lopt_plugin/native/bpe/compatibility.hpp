// May two tokens be neighbours in an encoding? Decided from how each token was made, without merging anything.
//
// Theorem (notes and proof in docs of GitHub's `bpe`; generalised here to any merge table with lowest rank, leftmost
// first): BPE(w) is the only sequence of tokens for w in which each token encodes to itself and any two neighbours t, u are
// compatible, that is, BPE(t u) = [t, u]. Proof: no merge ever crosses a final boundary, so the merges restricted to two
// neighbours are the run of that pair alone. Conversely, consider the first merge that crosses a boundary. Until then, the
// merges restricted to that pair are a prefix of the pair's own run, so the pair alone would have crossed it too. Ids may
// be in any order and merges need not be unique. Ranks must only rise within each token's own derivation. A token whose
// ranks fall is flagged IRREGULAR, and words that contain it are merged by rank.
#pragma once

#include "bpe/merges.hpp"

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

    // The longest proper prefix of a token that is also a token; NO_SHORTER if there is none.
    uint32_t shorter(uint32_t id) const { return tokens_[id].shorter >> 12; }
    uint32_t length(uint32_t id) const { return tokens_[id].shorter & 0xFFF; }
    bool irregular(uint32_t id) const { return tokens_[id].time == NEVER; }
    // Is the merge of these two the last in the derivation of a regular token?
    bool makes(uint32_t left, uint32_t right, uint32_t id) const {
        return length(id) && !irregular(id) && tokens_[id].left == left && tokens_[id].right == right;
    }

    // Both tokens must be regular.
    bool compatible(const MergeTable& merges, uint32_t a, uint32_t b) const { return stay_apart(merges, a, b, MergeTable::NO_RANK); }
    // Does BPE make one token of the bytes of these two, by rising ranks of which the last is `rank`, that of their merge?
    // False proves nothing if a token is not described or irregular. By the same argument as the theorem: no merge crosses
    // the boundary before the two are whole, and then their own is the only one left.
    bool make_one(const MergeTable& merges, uint32_t a, uint32_t b, uint32_t rank) const {
        const auto is_made = [&](uint32_t id) { return length(id) && tokens_[id].time <= rank; };
        return is_made(a) && is_made(b) && stay_apart(merges, a, b, 0);
    }

    size_t bytes() const { return tokens_.bytes(); }

  private:
    // Does no merge cross the boundary before both tokens are whole, and then none of a rank below `limit`? Undoes the
    // merges at both edges, latest first. In no state may the pair across the boundary come first. It beats a merge inside
    // the left token if its rank is strictly lower, and a merge inside the right token if its rank is lower or equal
    // (leftmost first).
    bool stay_apart(const MergeTable& merges, uint32_t a, uint32_t b, uint32_t limit) const {
        for (;;) {
            if (limit && merges.rank(a, b) < limit) return false;
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

    // Everything the search needs to know about a token.
    struct alignas(16) Token {
        uint32_t time = 0;                    // rank + 1 of the last merge that makes it, 0 for a byte, NEVER if irregular
        uint32_t left = 0, right = 0;         // the two tokens of that merge
        uint32_t shorter = NO_SHORTER << 12;  // id of the next shorter token << 12 | own length in bytes
    };

    Table<Token> tokens_;
};

}  // namespace lopt
