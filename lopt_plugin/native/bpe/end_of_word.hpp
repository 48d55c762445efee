// Byte-level BPE for models that add a suffix to the last character of a word (CLIP: "a" inside a word, "a</w>" at its
// end).
//
// The suffix becomes a byte of its own, END_OF_WORD, which follows every word. A merge of lower rank than all others joins
// each byte c with it and makes "c</w>" of the last character. No other pair contains END_OF_WORD, so each word starts with
// exactly one of these merges, and then merges as in the reference. Entries with the suffix become entries that end in
// END_OF_WORD. All properties of merges and their tables still hold.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/vocabulary.hpp"

namespace lopt {

// Adds an item for the suffix alone, under a new id that is never output, and the merges with it. `suffix` must not be
// empty and must outlive the items. Throws std::invalid_argument if a UTF-8 byte has no entry with the suffix, or if merges
// could build the suffix from the text's own characters.
inline void end_words(std::string_view suffix, std::vector<VocabularyItem>& items, std::vector<MergeItem>& merges) {
    const auto ends = [suffix](std::string_view name) { return name.ends_with(suffix); };
    for (const auto& [left, right] : merges) {
        const bool whole = ends(right) && right.size() > suffix.size();
        // The product ends with `right`, preceded by the end of `left` if `right` is shorter than the suffix.
        const bool reaches = right.size() < suffix.size() && suffix.ends_with(right) &&
                             left.ends_with(suffix.substr(0, suffix.size() - right.size()));
        if (ends(left) || reaches || (ends(right) && !whole)) throw std::invalid_argument("a merge takes text for the end-of-word suffix");
    }
    const ByteAlphabet alphabet;
    std::string bytes;
    if (alphabet.decode(suffix, bytes) && bytes.size() == 1) throw std::invalid_argument("the end-of-word suffix is also a byte of text");
    std::vector<MergeItem> with_suffix;
    std::vector<bool> ends_with_byte(256, false);
    uint32_t most = 0;
    for (auto& item : items) {
        most = std::max(most, item.id);
        std::string_view name = item.name;
        if (name == suffix) name = item.name = {};  // no merge makes it
        if (!ends(name)) continue;
        name.remove_suffix(suffix.size());
        bytes.clear();
        if (!alphabet.decode(name, bytes) || bytes.size() != 1 || static_cast<uint8_t>(bytes[0]) == END_OF_WORD) continue;
        ends_with_byte[static_cast<uint8_t>(bytes[0])] = true;
        with_suffix.push_back({name, suffix});
    }
    for (size_t byte = 0; byte < 256; byte++)
        if (in_utf8(byte) && !ends_with_byte[byte]) throw std::invalid_argument("the vocabulary lacks a byte with the end-of-word suffix");
    merges.insert(merges.begin(), with_suffix.begin(), with_suffix.end());
    items.push_back({suffix, most + 1});
}

}  // namespace lopt
