// What a core does for byte-level BPE: NFC or nothing, a scanner, BPE.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core.hpp"
#include "model.hpp"
#include "nfc.hpp"
#include "stretch_encoder.hpp"

namespace lopt {

struct ByteLevelConfiguration {
    ClassTable classes;
    std::vector<ComposingPair> composing_pairs;
    Nfc::Normalize normalize;  // empty: no normalizer
    std::string scanner;
    std::vector<Refinement> refinements;
    std::array<uint8_t, 256> byte_classes;
};

class ByteLevel {
  public:
    using Encoder = StretchEncoder;

    ByteLevel(ByteLevelConfiguration configuration, const Vocabulary& vocabulary, const std::vector<MergeItem>& merges, bool ignore_merges)
        : classes_(std::move(configuration.classes)), model_(vocabulary, merges, ignore_merges),
          encoder_(classes_, model_, configuration.scanner, std::move(configuration.refinements), configuration.byte_classes),
          nfc_(classes_, configuration.composing_pairs, configuration.normalize), normalizes_(bool(configuration.normalize)) {}
    ByteLevel(const ByteLevel&) = delete;
    ByteLevel& operator=(const ByteLevel&) = delete;

    const Encoder& encoder() const { return encoder_; }
    const ClassTable& classes() const { return classes_; }
    const uint8_t* page_marks() const { return nfc_.page_marks(); }
    bool normalizes_ascii() const { return false; }
    bool normalize(const uint8_t* begin, const uint8_t* end, std::string& out) const { return normalizes_ && nfc_.apply(begin, end, out); }
    const Model& model() const { return model_; }
    size_t bytes() const { return model_.bytes() + classes_.memory_bytes(); }

  private:
    ClassTable classes_;
    Model model_;
    StretchEncoder encoder_;
    Nfc nfc_;
    bool normalizes_;
};

using ByteLevelCore = Core<ByteLevel>;

}  // namespace lopt
