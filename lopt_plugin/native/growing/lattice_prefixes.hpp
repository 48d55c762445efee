// Counts the ids of all prefixes of one word of Unigram in one pass: the best way to a position depends on nothing that
// follows it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "growing/growing.hpp"

namespace lopt {

template <class Core>
class LatticePrefixes {
  public:
    // text[begin, end) must be a word of the text from `begin` on. `inside`: see EncodeOptions.
    LatticePrefixes(const Core& core, const Characters& text, size_t begin, size_t end, bool inside, bool) : begin_(begin) {
        if (end - begin > MOST) return;
        std::string word, image;
        const bool kept = core.method().keeps(utf8_of(text, begin, end));
        if (core.segmenter().prepends_space(text[begin], inside)) word = " ";
        ends_.push_back(word.size());
        for (size_t at = begin; at < end; at++) {
            const std::string character = utf8_of(text, at, at + 1);
            if (!kept && !core.method().begins_apart(text[at])) return;  // characters are normalized together
            const auto* const p = reinterpret_cast<const uint8_t*>(character.data());
            word += !kept && core.method().normalize(p, p + character.size(), true, image, nullptr) ? image : character;
            ends_.push_back(word.size());
        }
        counts_ = core.method().encoder().counts_of_prefixes(word);
    }
    bool knows(size_t end) const { return !counts_.empty() && end > begin_ && end - begin_ < ends_.size(); }
    // The number of ids of text[begin, end).
    size_t count(size_t end, typename Core::Workspace&) const { return counts_[ends_[end - begin_]]; }

  private:
    static constexpr size_t MOST = size_t{1} << 24;  // characters: each takes some 40 bytes here

    size_t begin_;
    std::vector<size_t> ends_;      // bytes of each prefix, by its characters
    std::vector<uint32_t> counts_;  // ids of each prefix, by its bytes; empty if unknown
};

}  // namespace lopt
