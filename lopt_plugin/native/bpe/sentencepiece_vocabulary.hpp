// Converts a BPE model over characters, as trained by SentencePiece, to the vocabulary and merges of a model over bytes.
//
// A space stands for U+2581. Pipelines with such a model leave no spaces in a text, so entries that contain one never
// match. Extra merges, ranked before all others, build every character of the vocabulary from its bytes, through entries
// for the first bytes of characters. They finish before any merge of the model can apply, because the model's merges only
// know whole characters. Inside a character each merge has a higher rank than the one before. So BPE over bytes gives the
// result of BPE over characters, plus parts of the characters that are not entries.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpe/separate_spaces.hpp"
#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"

namespace lopt {

struct UnknownOptions {
    std::optional<std::string> token;
    bool fused, byte_fallback;
};

inline constexpr std::string_view METASPACE_UTF8 = "\xE2\x96\x81";

class SentencePieceVocabulary {
  public:
    // Throws std::invalid_argument, with the reason, if the model cannot be converted.
    SentencePieceVocabulary(const std::vector<VocabularyItem>& items, const std::vector<Merge>& merges, const UnknownOptions& unknown) {
        byte_tokens_.fill(NONE);
        translate(items);
        for (const auto& item : items) {
            if (const auto byte = byte_named(item.name)) byte_tokens_[*byte] = item.id;
            if (unknown.token == item.name) unknown_id_ = item.id;
        }
        const std::vector<Merge> kept = keep_what_can_be_made(merges, unknown.byte_fallback);
        separate_spaces_ = most_separate_spaces(items_, names_, kept);
        add_bytes(unknown);
        add_characters();
        for (const auto& level : character_merges_) merges_.insert(merges_.end(), level.begin(), level.end());
        merges_.insert(merges_.end(), kept.begin(), kept.end());
        std::vector<uint32_t> known;
        for (const auto& character : characters_) known.push_back(first_character(character.name));
        unknown_ = UnknownCharacters(become_, byte_tokens_, unknown_id_, first_part_, std::move(parts_), known);
    }
    SentencePieceVocabulary(const SentencePieceVocabulary&) = delete;
    SentencePieceVocabulary& operator=(const SentencePieceVocabulary&) = delete;

    Vocabulary vocabulary() const { return Vocabulary(items_, {}, {}, Names::bytes); }
    const std::vector<Merge>& merges() const { return merges_; }
    const UnknownCharacters& unknown_characters() const { return unknown_; }
    // See separate_spaces.hpp.
    size_t separate_spaces() const { return separate_spaces_; }

  private:
    // Replaces U+2581 with a space, after dropping the items that contain a space.
    void translate(const std::vector<VocabularyItem>& items) {
        size_t total = 256;
        uint32_t most = 0;
        for (const auto& item : items) {
            total += item.name.size();
            most = std::max(most, item.id);
        }
        if (most > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
        next_id_ = most + 1;
        arena_.reserve(total);  // all names point into it
        names_.resize(next_id_);
        has_space_.resize(next_id_, false);
        for (const auto& item : items) {
            has_space_[item.id] = item.name.find(' ') != std::string_view::npos;
            if (item.name.empty() || has_space_[item.id]) continue;
            if (!names_[item.id].empty()) throw std::invalid_argument("two vocabulary entries share an id");
            items_.push_back({names_[item.id] = translated(item.name), item.id});
        }
    }
    std::string_view translated(std::string_view name) {
        const size_t start = arena_.size();
        arena_ += name;
        for (size_t at = start; (at = arena_.find(METASPACE_UTF8, at)) != std::string::npos;) arena_.replace(at, METASPACE_UTF8.size(), 1, ' ');
        return std::string_view(arena_).substr(start);
    }

    // Keeps only characters and products of merges. Other entries, such as the names of byte tokens and control tokens,
    // never result from a text. Returns the merges that may happen, which are of entries without a space.
    std::vector<Merge> keep_what_can_be_made(const std::vector<Merge>& merges, bool byte_fallback) {
        std::vector<Merge> kept_merges;
        kept_merges.reserve(merges.size());
        std::vector<bool> can_be_made(next_id_, false), is_operand(next_id_, false);
        for (const Merge& merge : merges) {
            const auto [left, right, product] = merge;
            if (has_space_[left] || has_space_[right]) continue;
            if (names_[left].empty() || names_[right].empty()) throw std::invalid_argument("a merge names an empty token");
            can_be_made[product] = is_operand[left] = is_operand[right] = true;
            kept_merges.push_back(merge);
        }
        unknown_is_operand_ = unknown_id_ != NONE && is_operand[unknown_id_];
        for (const uint32_t id : byte_tokens_)
            if (byte_fallback && id != NONE && (is_operand[id] || can_be_made[id])) throw std::invalid_argument("a merge names or makes a byte token");
        for (const auto& item : items_)
            if (is_character(item)) characters_.push_back(item);
        remove_what_never_happens(kept_merges, can_be_made);
        std::erase_if(items_, [&can_be_made](const VocabularyItem& item) { return !can_be_made[item.id]; });
        return kept_merges;
    }
    static bool is_character(const VocabularyItem& item) { return static_cast<size_t>(character_bytes(static_cast<uint8_t>(item.name[0]))) == item.name.size(); }
    // Removes the merges of entries that are not characters and that no merge makes. A removed merge may have been the only
    // one that makes an entry of others.
    void remove_what_never_happens(std::vector<Merge>& merges, std::vector<bool>& can_be_made) const {
        constexpr int MOST_PASSES = 16;  // a vocabulary that needs more is not one that anybody trained
        for (int pass = 0; pass < MOST_PASSES; pass++) {
            for (const auto& character : characters_) can_be_made[character.id] = true;
            if (std::erase_if(merges, [&can_be_made](const Merge& merge) { return !can_be_made[merge.left] || !can_be_made[merge.right]; }) == 0) return;
            can_be_made.assign(next_id_, false);
            for (const Merge& merge : merges) can_be_made[merge.product] = true;
        }
        throw std::invalid_argument("merges name tokens that no merge makes");
    }

    // Adds an entry for each byte that is not a character: its byte token, or a part.
    void add_bytes(const UnknownOptions& unknown) {
        byte_ids_.fill(NONE);
        for (const auto& character : characters_)
            if (character.name.size() == 1) byte_ids_[static_cast<uint8_t>(character.name[0])] = character.id;
        if (byte_ids_[' '] == NONE) throw std::invalid_argument("the vocabulary lacks U+2581");
        size_t needed = 0, present = 0;
        for (size_t byte = 0; byte < 256; byte++) {
            if (byte_ids_[byte] != NONE || !in_utf8(byte)) continue;
            needed++;
            present += byte_tokens_[byte] != NONE;
        }
        const bool falls_back = unknown.byte_fallback && present > 0;
        if (falls_back && present < needed) throw std::invalid_argument("the vocabulary lacks some byte tokens");
        if (!falls_back) {
            if (!unknown.token) throw std::invalid_argument("unknown characters would be dropped");
            if (unknown_id_ == NONE) throw std::invalid_argument("the vocabulary lacks the unknown token");
            if (unknown_is_operand_) throw std::invalid_argument("a merge names the unknown token");
            become_ = unknown.fused ? UnknownCharacters::Become::fused_unknown : UnknownCharacters::Become::unknown;
        }
        first_part_ = next_id_;
        for (size_t byte = 0; byte < 256; byte++) {
            if (byte_ids_[byte] != NONE || !in_utf8(byte)) continue;
            arena_.push_back(static_cast<char>(byte));
            const std::string_view name = std::string_view(arena_).substr(arena_.size() - 1);
            byte_ids_[byte] = falls_back ? byte_tokens_[byte] : add_part({!is_continuation(static_cast<uint8_t>(byte)), 1, {}});
            items_.push_back({name, byte_ids_[byte]});
        }
    }

    void add_characters() {
        std::map<std::string_view, uint32_t> beginnings;
        for (const auto& character : characters_) {
            uint32_t left = byte_ids_[static_cast<uint8_t>(character.name[0])];
            for (size_t n = 2; n <= character.name.size(); n++) {
                const std::string_view made = character.name.substr(0, n);
                uint32_t product = character.id;
                bool is_new = true;
                if (n < character.name.size()) {
                    uint32_t& known = beginnings.try_emplace(made, NONE).first->second;
                    is_new = known == NONE;
                    if (is_new) items_.push_back({made, known = add_part(part_of(made))});
                    product = known;
                }
                if (is_new) character_merges_[n - 2].push_back({left, byte_ids_[static_cast<uint8_t>(made.back())], product});
                left = product;
            }
        }
    }

    using Part = UnknownCharacters::Part;
    Part part_of(std::string_view beginning) const {
        Part part{true, static_cast<uint32_t>(beginning.size()), {}};
        for (size_t i = 0; i < beginning.size(); i++) part.bytes[i] = byte_tokens_[static_cast<uint8_t>(beginning[i])];
        return part;
    }
    uint32_t add_part(const Part& part) {
        parts_.push_back(part);
        return next_id_++;
    }

    std::string arena_;
    std::vector<std::string_view> names_;  // by id; empty for an item that is dropped
    std::vector<bool> has_space_;
    std::vector<VocabularyItem> items_, characters_;
    std::vector<Merge> merges_;
    std::array<std::vector<Merge>, 3> character_merges_;  // indexed by the length of the product in bytes, minus two
    std::array<uint32_t, 256> byte_tokens_{}, byte_ids_{};  // names such as "<0x00>"; entries of one byte
    size_t separate_spaces_ = 0;
    std::vector<Part> parts_;
    UnknownCharacters::Become become_ = UnknownCharacters::Become::bytes;
    uint32_t unknown_id_ = NONE, next_id_ = 0, first_part_ = NONE;
    bool unknown_is_operand_ = false;
    UnknownCharacters unknown_;
};

}  // namespace lopt
