// BPE as the method of a core: normalizer steps or a metaspace, a scanner, and merges.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpe/byte_pair_encoder.hpp"
#include "bpe/model.hpp"
#include "core/added_token_edges.hpp"
#include "core/core.hpp"
#include "normalize/metaspace.hpp"
#include "normalize/normalizer.hpp"
#include "offsets/offsets.hpp"

namespace lopt {

struct BytePairConfiguration {
    std::shared_ptr<const ClassTable> classes;
    std::vector<std::unique_ptr<NormalizerStep>> normalizer;
    std::string scanner;
    std::vector<Refinement> refinements;
    std::array<uint8_t, 256> byte_classes;
    std::optional<Metaspace> metaspace = {};  // instead of a normalizer
    size_t separate_spaces = 0;                  // see separate_spaces.hpp
};

class BytePairMethod {
  public:
    using Encoder = BytePairEncoder;
    static constexpr size_t WORK = 1;  // for a byte, compared with byte-pair encoding

    BytePairMethod(BytePairConfiguration configuration, const Vocabulary& vocabulary, const std::vector<Merge>& merges, bool ignore_merges,
             UnknownCharacters unknown = {})
        : classes_(std::move(configuration.classes)), model_(vocabulary, merges, ignore_merges, std::move(unknown)),
          encoder_(*classes_, model_, configuration.scanner, std::move(configuration.refinements), configuration.byte_classes,
                   configuration.separate_spaces),
          normalizer_(std::move(configuration.normalizer)), metaspace_(configuration.metaspace),
          shapes_(vocabulary, model_.unknown_characters(), !metaspace_) {
        if (metaspace_) metaspace_page_marks_ = metaspace_page_marks();
    }
    BytePairMethod(const BytePairMethod&) = delete;
    BytePairMethod& operator=(const BytePairMethod&) = delete;

    const Encoder& encoder() const { return encoder_; }
    const ClassTable& classes() const { return *classes_; }
    const uint8_t* page_marks() const { return metaspace_ ? metaspace_page_marks_.data() : normalizer_.page_marks(); }
    bool normalizes_ascii() const { return normalizer_.changes_ascii(); }
    bool normalize(const uint8_t* begin, const uint8_t* end, bool marked, std::string& out, Sources* sources) const {
        if (!metaspace_) return normalizer_.apply(begin, end, marked, out, sources);
        return metaspace_->in_normalizer && spaces_for_metaspaces(begin, end, out, sources);
    }
    // Do the normalizer, the added tokens of the normalized text, and the pre-tokens all allow a seam here?
    bool divides(Junction at, const AddedTokenEdges& normalized_tokens) const {
        if (!metaspace_) return normalizer_.passes(at) && normalized_tokens.divide(*classes_, at.left, at.right) && encoder_.divides(at.left, at.right);
        const auto space_for_metaspace = [&at] {
            for (uint32_t* c : {&at.left, &at.right})
                if (*c == METASPACE) *c = ' ';
        };
        if (metaspace_->in_normalizer) space_for_metaspace();
        if (!normalized_tokens.divide(*classes_, at.left, at.right)) return false;
        space_for_metaspace();
        return encoder_.divides(at.left, at.right);
    }
    // Are the text before such a character, and the text from it on, always normalized independently of each other?
    bool begins_apart(uint32_t c) const { return metaspace_ || normalizer_.begins_apart(c); }
    // See Normalizer.
    bool repeats_apart(uint32_t c) const { return !metaspace_ && normalizer_.repeats_apart(c); }
    bool keeps(std::string_view text) const { return normalizer_.keeps(text); }
    // An upper bound on the characters of a stretch that one id stands for, except `fused_id`; 0 if unknown.
    size_t most_characters_of_id() const {
        const bool any_bytes = model_.matcher().knows_all_bytes() && encoder_.keeps_all();
        return any_bytes ? model_.longest_entry() * most_in_one() : 0;
    }
    // Of the text, in a character of the normalized text; 0 if unknown.
    size_t most_in_one() const { return metaspace_ ? 1 : normalizer_.most_in_one(); }
    // The id that stands for any number of consecutive unknown characters; NONE if each has an id of its own.
    uint32_t fused_id() const { return model_.unknown_characters().fuses() ? model_.unknown_characters().unknown_id() : NONE; }
    // Is the character encoded unchanged, whatever its neighbours are?
    bool leaves(uint32_t c) const { return metaspace_ ? c != METASPACE : c < 0x80 ? !normalizer_.changes_ascii() : normalizer_.leaves(c); }
    // May a text be divided after each pre-token?
    bool restarts() const { return encoder_.restarts(); }
    // The model, if GrowingWord supports it; else null.
    const Model* growing_model() const { return model_.matcher().usable() && restarts() ? &model_ : nullptr; }
    uint32_t dropped_as(uint32_t c) const {
        const uint32_t image = metaspace_ || !encoder_.keeps_all_but_white_space() ? NONE : normalizer_.image_in_run(c);
        return image != NONE && (classes_->of(image) & class_bit::space) ? image : NONE;
    }
    bool separates_han() const { return encoder_.separates_han(); }
    bool separates_capitals() const { return !metaspace_ && encoder_.separates_capitals(); }
    size_t digits_in_group() const { return metaspace_ || normalizer_.changes_ascii() ? 0 : encoder_.digits_in_group(); }
    const Metaspace* metaspace() const { return metaspace_ ? &*metaspace_ : nullptr; }
    bool is_word(std::string_view text, uint32_t id) const { return model_.word_id(text) == id; }
    // Throws OffsetsUnknownError if the ids do not determine the offsets.
    void walk(OffsetWalk& walk, const Segment& segment, const Origin& origin) const {
        // The reference does not count dropped bytes, and counts any other byte as one or two, depending on its stand-in.
        if (shapes_.holds_dropped(segment.begin, segment.end)) throw OffsetsUnknownError("the text has bytes without an entry");
        if (encoder_.keeps_all()) return walk.stretch(shapes_, nullptr, segment, origin);
        const bool tells_ends = model_.unknown_characters().unknown_id() == NONE;
        if (encoder_.keeps_all_but_white_space() && tells_ends) return walk.stretch(shapes_, nullptr, segment, origin, classes_.get());
        std::vector<Span> spans;
        encoder_.pre_tokens(segment.begin, segment.end, spans);
        walk.stretch(shapes_, &spans, segment, origin);
    }
    const Normalizer& normalizer() const { return normalizer_; }
    // Does a text always have ids if a prefix of it has some?
    bool ids_stay() const { return !encoder_.removes() && !normalizer_.may_remove_several() && (normalizer_.empty() || model_.matcher().knows_all_bytes()); }
    const Model& model() const { return model_; }
    size_t bytes() const { return model_.bytes() + encoder_.bytes() + classes_->memory_bytes() + shapes_.bytes(); }

  private:
    std::shared_ptr<const ClassTable> classes_;
    Model model_;
    BytePairEncoder encoder_;
    Normalizer normalizer_;
    std::optional<Metaspace> metaspace_;
    std::vector<uint8_t> metaspace_page_marks_;
    BytePairShapes shapes_;
};

using BytePairCore = Core<BytePairMethod>;

}  // namespace lopt
