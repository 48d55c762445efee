// Runs of spaces that BPE encodes as if nothing followed them.
//
// Let a run of n >= 2 spaces begin at a cut and be followed by another character x. A merge across its end has a left
// token that ends with the last space. If no entry contains two spaces followed by another character, this token is a
// single space. Let r be the lowest rank of any merge of a single space with something else. If the run on its own only
// uses merges of ranks below r, they all come before any merge across its end. If its last token then has more than one
// space, no merge across the end is possible, so the end of the run is a boundary.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "bpe/vocabulary.hpp"

namespace lopt {

// The largest length up to which this holds for every run of at least two spaces; 0 if it does not hold for two. `names`:
// those of the merges' ids.
inline size_t most_separate_spaces(const std::vector<VocabularyItem>& items, const std::vector<std::string_view>& names, const std::vector<Merge>& merges) {
    constexpr size_t MOST = 60;  // a scan step sees 64 bytes
    for (const auto& item : items) {
        const size_t two = item.name.find("  ");
        if (two != std::string_view::npos && item.name.find_first_not_of(' ', two) != std::string_view::npos) return 0;
    }
    std::map<std::pair<size_t, size_t>, size_t> rank_of_lengths;
    size_t crossing = merges.size();
    const auto is_spaces = [](std::string_view name) { return name.find_first_not_of(' ') == std::string_view::npos; };
    for (size_t rank = 0; rank < merges.size(); rank++) {
        const std::string_view left = names[merges[rank].left], right = names[merges[rank].right];
        if (!is_spaces(left)) continue;
        if (is_spaces(right)) rank_of_lengths[{left.size(), right.size()}] = rank;
        else if (left.size() == 1 && right[0] != ' ') crossing = std::min(crossing, rank);
    }
    for (size_t n = 2; n <= MOST; n++) {
        std::vector<size_t> tokens(n, 1);
        for (;;) {
            size_t best = merges.size(), at = 0;
            for (size_t i = 0; i + 1 < tokens.size(); i++) {
                const auto found = rank_of_lengths.find({tokens[i], tokens[i + 1]});
                if (found == rank_of_lengths.end() || found->second >= best) continue;
                best = found->second;
                at = i;
            }
            if (best == merges.size()) break;
            if (best >= crossing) return n - 1 < 2 ? 0 : n - 1;
            tokens[at] += tokens[at + 1];
            tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
        }
        if (tokens.back() == 1) return n - 1 < 2 ? 0 : n - 1;
    }
    return MOST;
}

}  // namespace lopt
