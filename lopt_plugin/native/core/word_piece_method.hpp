// WordPiece as the method of a core: BertNormalizer or none, raw words, and longest matches.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/model.hpp"
#include "core/added_token_edges.hpp"
#include "core/core.hpp"
#include "offsets/word_piece_offsets.hpp"
#include "wordpiece/canonical_order.hpp"
#include "wordpiece/word_characters.hpp"
#include "wordpiece/word_piece.hpp"
#include "wordpiece/word_piece_encoder.hpp"

namespace lopt {

struct WordPieceConfiguration {
    // For the encoder's input: the raw text, or the normalized text if added tokens are found in that.
    std::unique_ptr<const WordCharacters> words;
    // For the raw text, if whole stretches are normalized before added tokens are found; else null.
    std::unique_ptr<const WordCharacters> text;
    CanonicalOrder::Order order;
    std::string_view prefix;
    uint32_t unknown_id;
    size_t most_characters;
};

class WordPieceMethod {
  public:
    using Encoder = WordPieceEncoder;
    static constexpr size_t WORK = 2;  // for a byte, compared with byte-pair encoding

    WordPieceMethod(WordPieceConfiguration configuration, const std::vector<VocabularyItem>& items)
        : words_(std::move(configuration.words)), text_(std::move(configuration.text)),
          model_(items, configuration.prefix, configuration.unknown_id, configuration.most_characters), encoder_(*words_, model_, items),
          canonical_order_(text_ ? *text_ : *words_, std::move(configuration.order)), offsets_(*words_, model_, encoder_, items, configuration.prefix.size()) {}
    WordPieceMethod(const WordPieceMethod&) = delete;
    WordPieceMethod& operator=(const WordPieceMethod&) = delete;

    const Encoder& encoder() const { return encoder_; }
    const ClassTable& classes() const { return words_->classes(); }
    const uint8_t* page_marks() const { return canonical_order_.page_marks(); }
    bool normalizes_ascii() const { return text_ != nullptr; }
    // Both steps turn the raw text into the form that the encoder expects, even if no character is of a marked page.
    bool normalize(const uint8_t* begin, const uint8_t* end, bool marked, std::string& out, Sources* sources) const {
        if (sources && marked && canonical_order_.concerns(begin, end)) throw OffsetsUnknownError("characters may change places");
        std::string ordered;
        const bool reordered = canonical_order_.apply(begin, end, ordered);
        if (!text_) {
            if (reordered) out = std::move(ordered);
            return reordered;
        }
        if (reordered) {
            begin = reinterpret_cast<const uint8_t*>(ordered.data());
            end = begin + ordered.size();
        }
        out.clear();
        out.reserve(static_cast<size_t>(end - begin) + 16);
        text_->append_images(begin, end, out, sources);
        return true;
    }
    // See BytePairMethod. A run of characters that are reordered or removed ends at any character that is neither.
    bool divides(Junction at, const AddedTokenEdges& normalized_tokens) const {
        if (!begins_apart(at.left) || !begins_apart(at.right)) return false;
        if (text_) {
            at.left = text_->edge_of_image(at.left, true);
            at.right = text_->edge_of_image(at.right, false);
        }
        constexpr uint16_t dividing = word_bit::raw_white_space | word_bit::raw_isolated;
        return normalized_tokens.divide(words_->classes(), at.left, at.right) &&
               ((words_->classes().of(at.left) | words_->classes().of(at.right)) & dividing);
    }
    // Are the text before such a character, and the text from it on, always normalized independently of each other?
    bool begins_apart(uint32_t c) const {
        constexpr uint16_t moved = word_bit::reordered | word_bit::removed;
        return !(raw_classes().of(c) & moved);
    }
    uint32_t dropped_as(uint32_t c) const { return raw_classes().of(c) & word_bit::removed ? c : NONE; }
    static bool keeps(std::string_view) { return false; }  // they may be reordered or removed
    static size_t most_characters_of_id() { return 0; }  // an unknown word of any length has one id
    static uint32_t fused_id() { return NONE; }
    static const Model* growing_model() { return nullptr; }
    static size_t digits_in_group() { return 0; }
    static const Metaspace* metaspace() { return nullptr; }
    void walk(OffsetWalk& walk, const Segment& segment, const Origin& origin) const { walk.stretch(offsets_, segment, origin); }
    const WordPiece& model() const { return model_; }
    size_t bytes() const { return words_->memory_bytes() + (text_ ? text_->memory_bytes() : 0) + model_.bytes() + encoder_.bytes() + offsets_.bytes(); }

  private:
    const ClassTable& raw_classes() const { return text_ ? text_->classes() : words_->classes(); }

    std::unique_ptr<const WordCharacters> words_, text_;
    WordPiece model_;
    WordPieceEncoder encoder_;
    CanonicalOrder canonical_order_;
    WordPieceOffsets offsets_;
};

using WordPieceCore = Core<WordPieceMethod>;

}  // namespace lopt
