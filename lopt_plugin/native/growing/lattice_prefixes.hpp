// Counts the ids of all prefixes of one word of Unigram in one pass: the best way to a position depends on nothing that
// follows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growing/growing.hpp"
#include "growing/unigram_word.hpp"

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
        UnigramWord<Core> word(core, inside);
        for (size_t at = begin; at < end; at++) {
            const std::string character = utf8_of(text, at, at + 1);
            if (!kept && !core.method().begins_apart(text[at])) return;  // characters are normalized together
            const auto* const p = reinterpret_cast<const uint8_t*>(character.data());
            const bool changes = !kept && core.method().normalize(p, p + character.size(), true, image, nullptr);
            if (!word.append(changes ? image : character)) return;
            ends.push_back(word.lattice().size());
        }
        word.lattice().find_ways();
        for (const uint32_t at : ends) counts_.push_back(word.lattice().count(at));
    }
    bool knows(size_t end) const { return end > begin_ && end - begin_ <= counts_.size(); }
    // The number of ids of text[begin, end).
    size_t count(size_t end, typename Core::Workspace&) const { return counts_[end - begin_ - 1]; }

  private:
    static constexpr size_t MOST = size_t{1} << 24;  // characters: each takes some 40 bytes here

    size_t begin_;
    std::vector<uint32_t> counts_;  // ids of each prefix, by its characters; empty if unknown
};

}  // namespace lopt
