// Converts a BPE model over characters, as trained by SentencePiece, to the vocabulary and merges of a model over bytes.
//
// A space stands for U+2581. Pipelines with such a model leave no spaces in a text, so entries that contain one never
// match. Extra merges, ranked before all others, build every character of the vocabulary from its bytes, through entries
// for the first bytes of characters. They finish before any merge of the model can apply, because the model's merges only
// know whole characters. Inside a character each merge has a higher rank than the one before. So BPE over bytes gives the
// result of BPE over characters, plus parts of the characters that are not entries.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel_for.hpp"
#include "bpe/separate_spaces.hpp"
#include "bpe/unknown_characters.hpp"
#include "bpe/vocabulary.hpp"
#include "text/unicode.hpp"

namespace lopt {

struct UnknownOptions {
    std::optional<std::string> token;
    bool fused, byte_fallback;
};

inline constexpr std::string_view BLANK_SIGN = "\xE2\x96\x81";

class SentencePieceVocabulary {
  public:
    // Throws std::invalid_argument, with the reason, if the model cannot be converted.
    SentencePieceVocabulary(const std::vector<VocabularyItem>& items, const std::vector<MergeItem>& merges, const UnknownOptions& unknown) {
        byte_tokens_.fill(NONE);
        translate(items, merges);
        find_byte_tokens(items);
        unknown_id_ = unknown.token ? id_of(items, *unknown.token) : NONE;
        keep_what_can_be_made(unknown.byte_fallback);
        add_bytes(unknown);
        add_characters();
        std::vector<MergeItem> all;
        all.reserve(merges_.size() + 4 * characters_.size());
        for (const auto& level : character_merges_) all.insert(all.end(), level.begin(), level.end());
        all.insert(all.end(), merges_.begin(), merges_.end());
        merges_ = std::move(all);
        std::vector<uint32_t> known;
        for (const auto& character : characters_) known.push_back(code_point_of(character.name));
        unknown_ = UnknownCharacters(become_, byte_tokens_, unknown_id_, first_part_, std::move(parts_), known);
    }
    SentencePieceVocabulary(const SentencePieceVocabulary&) = delete;
    SentencePieceVocabulary& operator=(const SentencePieceVocabulary&) = delete;

    Vocabulary vocabulary() const { return Vocabulary(items_, {}, {}, Names::bytes); }
    const std::vector<MergeItem>& merges() const { return merges_; }
    const UnknownCharacters& unknown_characters() const { return unknown_; }
    // See separate_spaces.hpp.
    size_t separate_spaces() const { return most_separate_spaces(items_, merges_); }

  private:
    static uint32_t id_of(const std::vector<VocabularyItem>& items, std::string_view name) {
        for (const auto& item : items)
            if (item.name == name) return item.id;
        return NONE;
    }

    // Replaces U+2581 with a space, after dropping the items and merges that contain a space.
    void translate(const std::vector<VocabularyItem>& items, const std::vector<MergeItem>& merges) {
        size_t total = 256;
        for (const auto& item : items) total += item.name.size();
        for (const auto& merge : merges) total += merge.left.size() + merge.right.size();
        arena_.reserve(total);  // all names point into it
        uint32_t most = 0;
        for (const auto& item : items) {
            most = std::max(most, item.id);
            if (!item.name.empty() && item.name.find(' ') == std::string_view::npos) items_.push_back({translated(item.name), item.id});
        }
        if (most > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
        next_id_ = most + 1;
        merges_.reserve(merges.size());
        for (const auto& merge : merges)
            if (merge.left.find(' ') == std::string_view::npos && merge.right.find(' ') == std::string_view::npos)
                merges_.push_back({translated(merge.left), translated(merge.right)});
    }
    std::string_view translated(std::string_view name) {
        const size_t start = arena_.size();
        for (size_t i = 0; i < name.size();) {
            const bool sign = name.substr(i, BLANK_SIGN.size()) == BLANK_SIGN;
            arena_.push_back(sign ? ' ' : name[i]);
            i += sign ? BLANK_SIGN.size() : 1;
        }
        return std::string_view(arena_).substr(start);
    }

    void find_byte_tokens(const std::vector<VocabularyItem>& items) {
        constexpr std::string_view digits = "0123456789ABCDEF";
        for (const auto& item : items) {
            if (item.name.size() != 6 || item.name.substr(0, 3) != "<0x" || item.name[5] != '>') continue;
            const size_t high = digits.find(item.name[3]), low = digits.find(item.name[4]);
            if (high != std::string_view::npos && low != std::string_view::npos) byte_tokens_[high * 16 + low] = item.id;
        }
    }

    // Keeps only characters and products of merges. Other entries, such as the names of byte tokens and control tokens,
    // never result from a text.
    void keep_what_can_be_made(bool byte_fallback) {
        NameTable ids(items_.size());
        for (const auto& item : items_) ids.set(item);
        struct Ids {
            uint32_t left, right, product;
        };
        std::vector<Ids> made(merges_.size());
        parallel_for(merges_.size(), [&](size_t begin, size_t end) {
            std::string product;
            for (size_t rank = begin; rank < end; rank++) {
                product.assign(merges_[rank].left).append(merges_[rank].right);
                made[rank] = {ids.id_of(merges_[rank].left), ids.id_of(merges_[rank].right), ids.id_of(product)};
            }
        });
        std::vector<bool> can_be_made(next_id_, false), is_operand(next_id_, false);
        for (const auto& [left, right, product] : made) {
            if (left == NONE || right == NONE || product == NONE)
                throw std::invalid_argument("a merge names a token that the vocabulary lacks");
            can_be_made[product] = is_operand[left] = is_operand[right] = true;
        }
        unknown_is_operand_ = unknown_id_ != NONE && is_operand[unknown_id_];
        for (const uint32_t id : byte_tokens_)
            if (byte_fallback && id != NONE && (is_operand[id] || can_be_made[id])) throw std::invalid_argument("a merge names or makes a byte token");
        std::vector<VocabularyItem> kept;
        for (const auto& item : items_) {
            const bool is_character = static_cast<size_t>(character_bytes(static_cast<uint8_t>(item.name[0]))) == item.name.size();
            if (is_character) characters_.push_back(item);
            if (is_character || can_be_made[item.id]) kept.push_back(item);
        }
        items_ = std::move(kept);
    }

    // Adds an entry for each byte that is not a character: its byte token, or a part.
    void add_bytes(const UnknownOptions& unknown) {
        std::array<bool, 256> is_entry{};
        for (const auto& character : characters_)
            if (character.name.size() == 1) is_entry[static_cast<uint8_t>(character.name[0])] = true;
        if (!is_entry[' ']) throw std::invalid_argument("the vocabulary lacks U+2581");
        size_t needed = 0, present = 0;
        for (size_t byte = 0; byte < 256; byte++) {
            if (is_entry[byte] || !in_utf8(byte)) continue;
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
            if (is_entry[byte] || !in_utf8(byte)) continue;
            arena_.push_back(static_cast<char>(byte));
            const std::string_view name = std::string_view(arena_).substr(arena_.size() - 1);
            items_.push_back({name, falls_back ? byte_tokens_[byte] : add_part({!is_continuation(static_cast<uint8_t>(byte)), 1, {}})});
        }
    }

    void add_characters() {
        std::set<std::string_view> beginnings;
        for (const auto& character : characters_)
            for (size_t n = 2; n <= character.name.size(); n++) {
                const std::string_view made = character.name.substr(0, n);
                if (n < character.name.size()) {
                    if (!beginnings.insert(made).second) continue;
                    Part part{true, static_cast<uint32_t>(n), {}};
                    for (size_t i = 0; i < n; i++) part.bytes[i] = byte_tokens_[static_cast<uint8_t>(made[i])];
                    items_.push_back({made, add_part(part)});
                }
                character_merges_[n - 2].push_back({made.substr(0, n - 1), made.substr(n - 1)});
            }
    }

    using Part = UnknownCharacters::Part;
    uint32_t add_part(const Part& part) {
        parts_.push_back(part);
        return next_id_++;
    }
    static uint32_t code_point_of(std::string_view character) {
        int length;
        return decode_character(reinterpret_cast<const uint8_t*>(character.data()), length);
    }

    std::string arena_;
    std::vector<VocabularyItem> items_, characters_;
    std::vector<MergeItem> merges_;
    std::array<std::vector<MergeItem>, 3> character_merges_;  // indexed by the length of the product in bytes, minus two
    std::array<uint32_t, 256> byte_tokens_{};
    std::vector<Part> parts_;
    UnknownCharacters::Become become_ = UnknownCharacters::Become::bytes;
    uint32_t unknown_id_ = NONE, next_id_ = 0, first_part_ = NONE;
    bool unknown_is_operand_ = false;
    UnknownCharacters unknown_;
};

}  // namespace lopt
