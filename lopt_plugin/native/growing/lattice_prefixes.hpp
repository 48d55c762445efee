// Counts the ids of all prefixes of one word of Unigram in one pass: the best way to a position depends on nothing that
// follows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "growing/growing.hpp"
#include "unigram/growing_lattice.hpp"

namespace lopt {

template <class Core>
class LatticePrefixes {
  public:
    // text[begin, end) must be a word of the text from `begin` on. `inside`: see EncodeOptions.
    LatticePrefixes(const Core& core, const Characters& text, size_t begin, size_t end, bool inside, bool) : begin_(begin) {
        if (end - begin > MOST) return;
        std::string image;
        std::vector<uint32_t> ends;  // of the prefixes, in bytes
        const bool kept = core.method().keeps(utf8_of(text, begin, end));
        GrowingLattice word = core.method().encoder().growing_lattice();
        for (size_t at = begin; at < end; at++) {
            const std::string character = utf8_of(text, at, at + 1);
            if (!kept && !core.method().begins_apart(text[at])) return;  // characters are normalized together
            const auto* const p = reinterpret_cast<const uint8_t*>(character.data());
            const bool changes = !kept && core.method().normalize(p, p + character.size(), true, image, nullptr);
            if (!append(core, inside, changes ? image : character, word)) return;
            ends.push_back(word.size());
        }
        word.find_ways();
        for (const uint32_t at : ends) counts_.push_back(word.count(at));
    }
    bool knows(size_t end) const { return end > begin_ && end - begin_ <= counts_.size(); }
    // The number of ids of text[begin, end).
    size_t count(size_t end, typename Core::Workspace&) const { return counts_[end - begin_ - 1]; }

  private:
    static constexpr size_t MOST = size_t{1} << 24;  // characters: each takes some 40 bytes here

    // Adds normalized text. Returns false if that is not one word any more.
    static bool append(const Core& core, bool inside, std::string text, GrowingLattice& word) {
        const bool goes_on = word.size() > 0;
        if (!goes_on) text = with_space(core, std::move(text), inside);
        bool is_one = true;
        const bool may_go_on = core.method().encoder().visit_spelled(text, goes_on, [&](std::string_view spelled, bool begins) {
            is_one = is_one && !(begins && word.size() > 0) && spelled.size() < NONE - word.size();
            if (is_one) word.append(spelled);
        });
        return is_one && (may_go_on || word.size() == 0);
    }

    size_t begin_;
    std::vector<uint32_t> counts_;  // ids of each prefix, by its characters; empty if unknown
};

}  // namespace lopt
