// What a core does for BPE: normalizer steps or blanks as signs, a scanner, merges.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blank_signs.hpp"
#include "added_token_edges.hpp"
#include "core.hpp"
#include "model.hpp"
#include "normalizer.hpp"
#include "offsets.hpp"
#include "stretch_encoder.hpp"

namespace lopt {

struct BytePairConfiguration {
    std::shared_ptr<const ClassTable> classes;
    std::vector<std::unique_ptr<NormalizerStep>> normalizer;
    std::string scanner;
    std::vector<Refinement> refinements;
    std::array<uint8_t, 256> byte_classes;
    std::optional<BlankSigns> blank_signs = {};  // instead of a normalizer
    size_t separate_blanks = 0;                  // see separate_blanks.hpp
    Aligner::Ask align = {};                     // where the characters of a normalized text came from; empty: nobody knows
};

class BytePair {
  public:
    using Encoder = StretchEncoder;

    BytePair(BytePairConfiguration configuration, const Vocabulary& vocabulary, const std::vector<MergeItem>& merges, bool ignore_merges,
             UnknownCharacters unknown = {})
        : shared_classes_(std::move(configuration.classes)), classes_(*shared_classes_),
          model_(vocabulary, merges, ignore_merges, std::move(unknown)),
          encoder_(classes_, model_, configuration.scanner, std::move(configuration.refinements), configuration.byte_classes,
                   configuration.separate_blanks),
          normalizer_(std::move(configuration.normalizer)), blank_signs_(configuration.blank_signs), aligner_(std::move(configuration.align)) {
        if (blank_signs_) sign_page_marks_ = blank_sign_page_marks();
        else if (encoder_.keeps_all() && !model_.ends_words()) shapes_.emplace(vocabulary);
    }
    BytePair(const BytePair&) = delete;
    BytePair& operator=(const BytePair&) = delete;

    const Encoder& encoder() const { return encoder_; }
    const ClassTable& classes() const { return classes_; }
    const uint8_t* page_marks() const { return blank_signs_ ? sign_page_marks_.data() : normalizer_.page_marks(); }
    bool normalizes_ascii() const { return normalizer_.changes_ascii(); }
    bool normalize(const uint8_t* begin, const uint8_t* end, bool marked, std::string& out, std::vector<Edit>* edits) const {
        return normalizer_.apply(begin, end, marked, out, edits);
    }
    // Is this a seam, as far as the normalizer, the tokens that are found behind it, and the pre-tokens are concerned?
    bool divides(Junction at, const AddedTokenEdges& normalized_tokens) const {
        if (!blank_signs_) return normalizer_.passes(at) && normalized_tokens.divide(classes_, at.left, at.right) && encoder_.divides(at.left, at.right);
        const auto blank_for_sign = [&at] {
            for (uint32_t* c : {&at.left, &at.right})
                if (*c == SIGN_OF_BLANK) *c = ' ';
        };
        if (blank_signs_->in_normalizer) blank_for_sign();
        if (!normalized_tokens.divide(classes_, at.left, at.right)) return false;
        blank_for_sign();
        return encoder_.divides(at.left, at.right);
    }
    const BlankSigns* blank_signs() const { return blank_signs_ ? &*blank_signs_ : nullptr; }
    const Aligner& aligner() const { return aligner_; }
    bool is_word(std::string_view text, uint32_t id) const { return model_.word_id(text) == id; }
    // Throws OffsetsUnknownError where ids do not tell the offsets.
    const ByteLevelShapes& shapes() const {
        if (!shapes_) throw OffsetsUnknownError("tokens do not follow one another without a gap");
        return *shapes_;
    }
    const Normalizer& normalizer() const { return normalizer_; }
    const Model& model() const { return model_; }
    size_t bytes() const { return model_.bytes() + encoder_.bytes() + classes_.memory_bytes() + (shapes_ ? shapes_->bytes() : 0); }

  private:
    std::shared_ptr<const ClassTable> shared_classes_;
    const ClassTable& classes_;
    Model model_;
    StretchEncoder encoder_;
    Normalizer normalizer_;
    std::optional<BlankSigns> blank_signs_;
    std::vector<uint8_t> sign_page_marks_;
    Aligner aligner_;
    std::optional<ByteLevelShapes> shapes_;
};

using BytePairCore = Core<BytePair>;

}  // namespace lopt
