// Slow and obvious: NFC and NFD, and BPE as the Hugging Face library does it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpe/end_of_word.hpp"
#include "bpe/sentencepiece_vocabulary.hpp"
#include "bpe/vocabulary.hpp"
#include "text/utf8.hpp"

namespace lopt::fuzz {

inline constexpr std::string_view METASPACE_UTF8 = "\xE2\x96\x81";

struct UnicodeTables {
    std::unordered_map<uint32_t, std::string> decompositions;
    std::unordered_map<uint32_t, int> classes;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> compositions;
    std::set<uint32_t> unknown;  // marks whose class is not known

    std::string form(std::string_view text, bool composes) const {
        std::vector<uint32_t> made;
        for (const uint32_t c : code_points(text)) {
            const auto found = decompositions.find(c);
            if (found == decompositions.end()) made.push_back(c);
            else for (const uint32_t part : code_points(found->second)) made.push_back(part);
        }
        for (size_t i = 1; i < made.size(); i++)
            for (size_t k = i; k > 0 && of(made[k]) && of(made[k - 1]) > of(made[k]); k--) std::swap(made[k], made[k - 1]);
        if (composes) compose(made);
        std::string out;
        for (const uint32_t c : made) append_character(c, out);
        return out;
    }

    static std::vector<uint32_t> code_points(std::string_view text) {
        std::vector<uint32_t> out;
        const auto* p = reinterpret_cast<const uint8_t*>(text.data());
        int length;
        for (const auto* end = p + text.size(); p < end; p += length) out.push_back(decode_character(p, length));
        return out;
    }

  private:
    int of(uint32_t c) const {
        const auto found = classes.find(c);
        return found == classes.end() ? 0 : found->second;
    }
    void compose(std::vector<uint32_t>& text) const {
        std::vector<uint32_t> out;
        size_t starter = SIZE_MAX;
        int last = -1;  // the class of what was last put after the starter; -1: nothing
        for (const uint32_t c : text) {
            const int own = of(c);
            if (starter != SIZE_MAX && (last == -1 || (last < own && last != 0))) {
                const auto found = compositions.find({out[starter], c});
                if (found != compositions.end()) {
                    out[starter] = found->second;
                    continue;
                }
            }
            out.push_back(c);
            if (own == 0) {
                starter = out.size() - 1;
                last = -1;
            } else {
                last = own;
            }
        }
        text = std::move(out);
    }
};

// The model of a tokenizer, by its names.
class NaiveModel {
  public:
    struct Options {
        bool ignore_merges;
        std::string suffix;                     // ends a word; "" where there is none
        std::optional<UnknownOptions> unknown;  // of a model over characters
        bool splits_before_spaces = false;      // every space begins a pre-token, of such a model
    };

    NaiveModel(const std::vector<VocabularyItem>& items, const std::vector<MergeItem>& merges, Options options) : options_(std::move(options)) {
        for (const auto& item : items) ids_[std::string(item.name)] = item.id;
        for (const auto& [name, id] : ids_) names_[id] = name;
        uint32_t rank = 0;
        for (const auto& [left, right] : merges) {
            const auto a = id(left), b = id(right), product = id(std::string(left) + std::string(right));
            if (a == NONE || b == NONE || product == NONE) complete_ = false;
            else merges_[pair(a, b)] = {rank, product};
            rank++;
        }
        for (unsigned byte = 0; byte < 256; byte++) {
            stand_ins_[byte] = stand_in(byte);
            byte_ids_[byte] = id(stand_ins_[byte]);
            last_byte_ids_[byte] = id(stand_ins_[byte] + options_.suffix);
        }
    }

    // Every merge is made of entries.
    bool complete() const { return complete_; }
    bool splits_before_spaces() const { return options_.splits_before_spaces; }
    bool over_characters() const { return options_.unknown.has_value(); }
    uint32_t id(std::string_view name) const {
        const auto found = ids_.find(name);
        return found == ids_.end() ? NONE : found->second;
    }

    // The ids of one pre-token: bytes of UTF-8, with spaces for U+2581 in a model over characters.
    std::vector<uint32_t> encode(std::string_view word) const {
        if (word.empty()) return {};
        if (options_.ignore_merges)
            if (const uint32_t whole = id(spelled(word)); whole != NONE) return {whole};
        return merged(options_.unknown ? of_characters(word) : of_bytes(word));
    }
    // The bytes that an id stands for; nothing for the unknown token and for what no pre-token holds.
    const std::optional<std::string>& bytes(uint32_t id) const {
        const auto [place, is_new] = bytes_.try_emplace(id);
        if (is_new) place->second = bytes_of(id);
        return place->second;
    }
    // The stand-ins of the bytes.
    std::string spelled(std::string_view word) const {
        std::string name;
        for (const char byte : word) name += stand_ins_[static_cast<uint8_t>(byte)];
        return name;
    }

  private:
    struct Merge {
        uint32_t rank, product;
    };
    struct HashName {
        using is_transparent = void;
        size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
    };

    static uint64_t pair(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
    std::optional<std::string> bytes_of(uint32_t id) const {
        const auto found = names_.find(id);
        if (found == names_.end()) return std::nullopt;
        std::string name = found->second, out;
        if (!options_.suffix.empty() && name.ends_with(options_.suffix)) name.resize(name.size() - options_.suffix.size());
        if (!options_.unknown) return ByteAlphabet().decode(name, out) ? std::optional(out) : std::nullopt;
        if (options_.unknown->token && name == *options_.unknown->token) return std::nullopt;
        if (options_.unknown->byte_fallback && name.size() == 6 && name.starts_with("<0x") && name.back() == '>')
            return std::string(1, static_cast<char>(std::stoi(name.substr(3, 2), nullptr, 16)));
        for (size_t i = 0; i < name.size();) {
            const bool sign = std::string_view(name).substr(i).starts_with(METASPACE_UTF8);
            out.push_back(sign ? ' ' : name[i]);
            i += sign ? METASPACE_UTF8.size() : 1;
        }
        return out;
    }
    static std::string stand_in(unsigned byte) {
        const auto printable = [](unsigned b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
        uint32_t c = byte;
        if (!printable(byte)) {
            c = 256;
            for (unsigned before = 0; before < byte; before++) c += !printable(before);
        }
        std::string out;
        append_character(c, out);
        return out;
    }
    std::vector<uint32_t> of_bytes(std::string_view word) const {
        std::vector<uint32_t> ids;
        for (size_t i = 0; i < word.size(); i++) {
            const auto& of = i + 1 == word.size() ? last_byte_ids_ : byte_ids_;
            if (const uint32_t found = of[static_cast<uint8_t>(word[i])]; found != NONE) ids.push_back(found);
        }
        return ids;
    }
    std::vector<uint32_t> of_characters(std::string_view word) const {
        std::vector<uint32_t> ids;
        bool after_unknown = false;
        for (size_t i = 0; i < word.size();) {
            const auto length = static_cast<size_t>(character_bytes(static_cast<uint8_t>(word[i])));
            const std::string_view character = word.substr(i, length);
            i += length;
            const uint32_t known = id(character == " " ? METASPACE_UTF8 : character);
            if (known != NONE) {
                ids.push_back(known);
            } else if (options_.unknown->byte_fallback && of_byte(character[0]) != NONE) {
                for (const char byte : character) ids.push_back(of_byte(byte));
            } else {
                const uint32_t unknown = options_.unknown->token ? id(*options_.unknown->token) : NONE;
                if (!(after_unknown && options_.unknown->fused)) ids.push_back(unknown);
                after_unknown = true;
                continue;
            }
            after_unknown = false;
        }
        return ids;
    }
    uint32_t of_byte(char byte) const {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<uint8_t>(byte));
        return id(name);
    }
    // Lowest rank first, leftmost first.
    std::vector<uint32_t> merged(std::vector<uint32_t> ids) const {
        constexpr size_t SHORT = 40;
        if (ids.size() > SHORT) return merged_in_order(ids);
        while (true) {
            const Merge* best = nullptr;
            size_t at = 0;
            for (size_t i = 0; i + 1 < ids.size(); i++) {
                const auto found = merges_.find(pair(ids[i], ids[i + 1]));
                if (found == merges_.end() || (best && best->rank <= found->second.rank)) continue;
                best = &found->second;
                at = i;
            }
            if (!best) return ids;
            ids[at] = best->product;
            ids.erase(ids.begin() + static_cast<ptrdiff_t>(at) + 1);
        }
    }
    // The same in less than the square of the time.
    std::vector<uint32_t> merged_in_order(const std::vector<uint32_t>& ids) const {
        struct Symbol {
            uint32_t id;
            size_t before, after;
        };
        std::vector<Symbol> symbols;
        for (size_t i = 0; i < ids.size(); i++) symbols.push_back({ids[i], i - 1, i + 1});
        std::set<std::pair<uint32_t, size_t>> waiting;  // rank and place of the left one
        const auto visit = [&](size_t at, bool add) {
            if (at >= symbols.size() || symbols[at].after >= symbols.size()) return;
            const auto found = merges_.find(pair(symbols[at].id, symbols[symbols[at].after].id));
            if (found == merges_.end()) return;
            if (add) waiting.insert({found->second.rank, at});
            else waiting.erase({found->second.rank, at});
        };
        for (size_t i = 0; i < symbols.size(); i++) visit(i, true);
        while (!waiting.empty()) {
            const size_t at = waiting.begin()->second, gone = symbols[at].after;
            for (const size_t place : {symbols[at].before, at, gone}) visit(place, false);
            symbols[at].id = merges_.at(pair(symbols[at].id, symbols[gone].id)).product;
            symbols[at].after = symbols[gone].after;
            if (symbols[at].after < symbols.size()) symbols[symbols[at].after].before = at;
            symbols[gone].id = NONE;
            visit(symbols[at].before, true);
            visit(at, true);
        }
        std::vector<uint32_t> left;
        for (size_t i = 0; i < symbols.size(); i = symbols[i].after) left.push_back(symbols[i].id);
        return left;
    }

    Options options_;
    std::unordered_map<std::string, uint32_t, HashName, std::equal_to<>> ids_;
    std::unordered_map<uint32_t, std::string> names_;
    mutable std::unordered_map<uint32_t, std::optional<std::string>> bytes_;  // of ids that were asked for
    std::unordered_map<uint64_t, Merge> merges_;
    std::array<std::string, 256> stand_ins_;
    std::array<uint32_t, 256> byte_ids_, last_byte_ids_;  // of the stand-ins; the second ones end a word
    bool complete_ = true;
};

}  // namespace lopt::fuzz
