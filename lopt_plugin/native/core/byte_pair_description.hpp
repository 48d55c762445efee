// Everything a BPE core is made from.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe/end_of_word.hpp"
#include "bpe/sentencepiece_vocabulary.hpp"
#include "core/byte_pair_method.hpp"

namespace lopt {

// The names are not copied: they must outlive the construction of the core.
struct BytePairDescription {
    std::vector<VocabularyItem> names;
    std::vector<MergeItem> merges;
    bool ignore_merges = false, add_prefix_space = false;
    std::string_view dropped_bytes, end_of_word_suffix;
    std::optional<UnknownOptions> unknown;  // only for a model over characters
    BytePairConfiguration configuration;
    AddedTokenSets added;

    uint32_t largest_id() const {
        uint32_t largest = added.largest_id;
        for (const auto& item : names) largest = std::max(largest, item.id);
        return largest;
    }
};

// Throws std::invalid_argument if the core does not support the description.
inline std::unique_ptr<BytePairCore> make_core(BytePairDescription description) {
    auto& [names, merges, ignore_merges, add_prefix_space, dropped_bytes, suffix, unknown, configuration, added] = description;
    if (configuration.metaspace && !configuration.normalizer.empty())
        throw std::invalid_argument("spaces are spelled as signs, and there is another normalizer");
    if (!suffix.empty()) {
        if (ignore_merges) throw std::invalid_argument("merges are ignored for whole entries, and words end in a suffix");
        if (unknown) throw std::invalid_argument("words end in a suffix, and the model is over characters");
        end_words(suffix, names, merges);
    }
    const std::vector<Merge> ids = merges_of(names, merges);
    std::unique_ptr<BytePairMethod> method;
    if (unknown) {
        const SentencePieceVocabulary loaded(names, ids, *unknown);
        configuration.separate_spaces = loaded.separate_spaces();
        method = std::make_unique<BytePairMethod>(std::move(configuration), loaded.vocabulary(), loaded.merges(), ignore_merges, loaded.unknown_characters());
    } else {
        method = std::make_unique<BytePairMethod>(std::move(configuration), Vocabulary(names, dropped_bytes, suffix), ids, ignore_merges);
    }
    return std::make_unique<BytePairCore>(std::move(method), std::move(added), add_prefix_space);
}

}  // namespace lopt
