// Unigram as the method of a core: normalizer steps, words, and the best division of each word.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/model.hpp"
#include "core/added_token_edges.hpp"
#include "core/core.hpp"
#include "normalize/metaspace.hpp"
#include "normalize/normalizer.hpp"
#include "offsets/unigram_offsets.hpp"
#include "unigram/unigram.hpp"
#include "unigram/unigram_encoder.hpp"

namespace lopt {

struct UnigramConfiguration {
    std::shared_ptr<const ClassTable> classes;
    std::vector<std::unique_ptr<NormalizerStep>> normalizer;
    UnigramWords words;
    PrependScheme prepend_scheme;
    std::vector<double> scores;
    uint32_t unknown_id;
    bool byte_fallback;
};

class UnigramMethod {
  public:
    using Encoder = UnigramEncoder;
    static constexpr size_t WORK = 4;  // for a byte, compared with byte-pair encoding

    // names: the pieces, by id. Throws std::invalid_argument.
    UnigramMethod(UnigramConfiguration configuration, const std::vector<std::string_view>& names)
        : classes_(std::move(configuration.classes)), normalizer_(std::move(configuration.normalizer)),
          model_(names, std::move(configuration.scores), configuration.unknown_id, configuration.byte_fallback),
          encoder_(model_, configuration.words, configuration.prepend_scheme == PrependScheme::always), offsets_(model_, encoder_, names) {
        // If words are divided at white space, the encoder prepends to each word instead.
        if (configuration.words.division() != WordDivision::white_space) metaspace_ = Metaspace{false, false, configuration.prepend_scheme, true};
    }
    UnigramMethod(const UnigramMethod&) = delete;
    UnigramMethod& operator=(const UnigramMethod&) = delete;

    const Encoder& encoder() const { return encoder_; }
    const ClassTable& classes() const { return *classes_; }
    const uint8_t* page_marks() const { return normalizer_.page_marks(); }
    bool normalizes_ascii() const { return normalizer_.changes_ascii(); }
    bool normalize(const uint8_t* begin, const uint8_t* end, bool marked, std::string& out, Sources* sources) const {
        return normalizer_.apply(begin, end, marked, out, sources);
    }
    // See BytePairMethod.
    bool divides(Junction at, const AddedTokenEdges& normalized_tokens) const {
        if (!normalizer_.passes(at) || !normalized_tokens.divide(*classes_, at.left, at.right)) return false;
        return encoder_.divides(at.left, at.right);
    }
    bool begins_apart(uint32_t c) const { return normalizer_.begins_apart(c); }
    bool keeps(std::string_view text) const { return normalizer_.keeps(text); }
    uint32_t dropped_as(uint32_t c) const {
        const uint32_t image = normalizer_.image_in_run(c);
        return image != NONE && encoder_.drops(image) ? image : NONE;
    }
    const Normalizer& normalizer() const { return normalizer_; }
    // Does a text always have ids if a prefix of it has some?
    bool ids_stay() const { return !normalizer_.may_remove_several(); }
    static size_t most_characters_of_id() { return 0; }  // one id stands for any number of consecutive unknown characters
    static uint32_t fused_id() { return NONE; }
    static const Model* growing_model() { return nullptr; }
    static size_t digits_in_group() { return 0; }
    const Metaspace* metaspace() const { return metaspace_ ? &*metaspace_ : nullptr; }
    void walk(OffsetWalk& walk, const Segment& segment, const Origin& origin) const { walk.stretch(offsets_, segment, origin); }
    size_t bytes() const { return classes_->memory_bytes() + model_.bytes() + encoder_.bytes() + offsets_.bytes(); }

  private:
    std::shared_ptr<const ClassTable> classes_;
    Normalizer normalizer_;
    Unigram model_;
    UnigramEncoder encoder_;
    UnigramOffsets offsets_;
    std::optional<Metaspace> metaspace_;
};

using UnigramCore = Core<UnigramMethod>;

}  // namespace lopt
