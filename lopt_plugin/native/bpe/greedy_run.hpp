// Runs of one byte that BPE merges from the left, into the longest token, although their merges are out of order: Gemma's
// spaces.
//
// Let t(k) be the token of k bytes, and K the largest k. The merges have this form if t(1) and t(1) make t(2); t(k) and
// t(1) make t(k + 1), at a lower rank, for 1 < k < K; and t(K) merges with no t(k). Then BPE of a run is t(K) as often as it
// fits, and one token for the rest. Proof: while a run is merged, it is some t(K), at most one t(k), and bytes. At first,
// and after each t(K), only bytes have merges, and the leftmost two come first. Then t(k) and the byte after it do: the
// pair has the lowest rank, and no merge of the run has t(K) on its left. If something follows the run, a token that takes the
// run's end is no longer than the longest entry. What lies before that is merged all the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bpe/merges.hpp"
#include "bpe/trie.hpp"
#include "bpe/unknown_characters.hpp"

namespace lopt {

// Do the merges have this form? `tokens`: t(1) to t(K), possibly with IRREGULAR; NONE where there is no such token.
inline bool is_greedy_run(const MergeTable& merges, const UnknownCharacters& unknown, const std::vector<uint32_t>& tokens) {
    const auto token = [&tokens](size_t i) { return tokens[i] & ~IRREGULAR; };
    for (const uint32_t each : tokens)
        if (each == NONE || unknown.is_part(each & ~IRREGULAR) || merges.rank(token(tokens.size() - 1), each & ~IRREGULAR) != MergeTable::NO_RANK) return false;
    const uint32_t first_rank = merges.rank(token(0), token(0));
    for (size_t i = 0; i + 1 < tokens.size(); i++) {
        const uint32_t rank = merges.rank(token(i), token(0));
        if (rank == MergeTable::NO_RANK || (i > 0 && rank >= first_rank) || merges.product(rank) != token(i + 1)) return false;
    }
    return true;
}

// Writes the ids of a run of `length` bytes that is merged like this; returns their end.
inline uint32_t* write_greedy_run(const std::vector<uint32_t>& tokens, size_t length, uint32_t* out) {
    const size_t longest = tokens.size();
    out = std::fill_n(out, length / longest, tokens.back() & ~IRREGULAR);
    if (length % longest) *out++ = tokens[length % longest - 1] & ~IRREGULAR;
    return out;
}

}  // namespace lopt
