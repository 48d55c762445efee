// The entries of a BPE vocabulary as bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/none.hpp"
#include "base/parallel_for.hpp"
#include "base/table.hpp"
#include "text/utf8.hpp"

namespace lopt {

// A pair of ids and a rank share one 64-bit slot of the merge table; an id and a length share one 32-bit field.
inline constexpr uint32_t MAX_ID = (1u << 20) - 2;
inline constexpr size_t MAX_MERGES = (size_t{1} << 24) - 1;

struct VocabularyItem {
    std::string_view name;  // as in tokenizer.json, UTF-8; or the bytes themselves
    uint32_t id = 0;
};
// The form of the names: stand-in characters of byte-level BPE, or the bytes of the entry themselves.
enum class Names { stand_ins, bytes };
struct MergeItem {
    std::string_view left, right;
};
// The same as ids, with that of the token that it makes.
struct Merge {
    uint32_t left, right, product;
};
// Splits two names separated by a space.
inline MergeItem merge_of(std::string_view both) {
    const size_t space = both.find(' ');
    if (space == std::string_view::npos) throw std::invalid_argument("a merge is not two names");
    return {both.substr(0, space), both.substr(space + 1)};
}
struct Entry {
    std::string_view bytes;
    uint32_t id;
};

// The byte that a name such as "<0x0A>" stands for, where unknown characters become bytes; nothing for other names.
inline std::optional<uint8_t> byte_named(std::string_view name) {
    constexpr std::string_view DIGITS = "0123456789ABCDEF";
    if (name.size() != 6 || !name.starts_with("<0x") || name[5] != '>') return std::nullopt;
    const size_t high = DIGITS.find(name[3]), low = DIGITS.find(name[4]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    return static_cast<uint8_t>(high * 16 + low);
}

// Marks the end of a word if the model has an end_of_word_suffix: a byte that occurs in no text.
inline constexpr uint8_t END_OF_WORD = 0xFE;

// GPT-2's byte-level alphabet: every byte has a printable stand-in character below U+0144.
class ByteAlphabet {
  public:
    ByteAlphabet() {
        to_byte_.fill(-1);
        size_t next = 256;
        for (size_t byte = 0; byte < 256; byte++) {
            const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
            to_byte_[printable ? byte : next++] = static_cast<int16_t>(byte);
        }
    }
    // Appends the bytes that `name` stands for; returns false if it contains a character outside the alphabet.
    bool decode(std::string_view name, std::string& out) const {
        for (size_t i = 0; i < name.size(); i++) {
            uint32_t code_point = static_cast<uint8_t>(name[i]);
            if (code_point >= 0x80) {
                if (code_point < 0xC2 || code_point > 0xDF || i + 1 >= name.size()) return false;
                int length;
                code_point = decode_character(reinterpret_cast<const uint8_t*>(name.data()) + i++, length);
            }
            if (code_point >= to_byte_.size() || to_byte_[code_point] < 0) return false;
            out.push_back(static_cast<char>(to_byte_[code_point]));
        }
        return true;
    }

  private:
    std::array<int16_t, 0x144> to_byte_;
};

// Looks items up by name. Copies neither the items nor the names.
class NameTable {
  public:
    // Throws std::invalid_argument if two items have the same name.
    explicit NameTable(const std::vector<VocabularyItem>& items) : items_(items), slots_(std::bit_ceil(items.size() + items.size() / 2 + 2), Slot{}) {
        for (const auto& item : items) {
            Slot& slot = slots_[place(ask(item.name))];
            if (slot.number) throw std::invalid_argument("two vocabulary entries have the same name");
            slot = {item.name.data(), static_cast<uint32_t>(item.name.size()), static_cast<uint32_t>(&item - items.data()) + 1};
        }
    }

    // Where to look for a name. Of many names, `ask` about several, prefetch their answers, and only then `find` them: all
    // memory that this reads is far away.
    struct Question {
        std::string_view name;
        size_t slot;
    };
    Question ask(std::string_view name) const {
        const size_t slot = hash_bytes(reinterpret_cast<const uint8_t*>(name.data()), name.size()) & (slots_.size() - 1);
        __builtin_prefetch(&slots_[slot]);
        return {name, slot};
    }
    void prefetch(const Question& question) const { __builtin_prefetch(slots_[question.slot].name); }
    // Null if there is no such name.
    const VocabularyItem* find(const Question& question) const {
        const uint32_t number = slots_[place(question)].number;
        return number ? &items_[number - 1] : nullptr;
    }
    const VocabularyItem* find(std::string_view name) const { return find(ask(name)); }

  private:
    struct Slot {
        const char* name = nullptr;
        uint32_t size = 0, number = 0;  // the item's position plus one; 0 for a free slot
    };
    size_t place(const Question& question) const {
        size_t i = question.slot;
        while (slots_[i].number && std::string_view(slots_[i].name, slots_[i].size) != question.name) i = (i + 1) & (slots_.size() - 1);
        return i;
    }

    const std::vector<VocabularyItem>& items_;
    Table<Slot> slots_;
};

// The merges as ids. Throws std::invalid_argument if a name is not an item's, or if two items have the same name.
inline std::vector<Merge> merges_of(const std::vector<VocabularyItem>& items, const std::vector<MergeItem>& names) {
    constexpr size_t AT_ONCE = 16;
    const NameTable table(items);
    std::vector<Merge> merges(names.size());
    parallel_for(names.size(), [&](size_t begin, size_t end) {
        std::array<NameTable::Question, AT_ONCE> lefts, rights;
        std::string both;
        const VocabularyItem *const last = items.data() + items.size(), *made = items.data();
        for (; begin < end; begin += AT_ONCE) {
            const size_t count = std::min(AT_ONCE, end - begin);
            for (size_t k = 0; k < count; k++) {
                lefts[k] = table.ask(names[begin + k].left);
                rights[k] = table.ask(names[begin + k].right);
            }
            for (size_t k = 0; k < count; k++)
                for (const auto* question : {&lefts[k], &rights[k]}) table.prefetch(*question);
            for (size_t k = 0; k < count; k++) {
                const MergeItem& merge = names[begin + k];
                const auto is_product = [last, &merge](const VocabularyItem* item) {
                    if (item == last || item->name.size() != merge.left.size() + merge.right.size()) return false;
                    return item->name.starts_with(merge.left) && item->name.ends_with(merge.right);
                };
                // Most merges make what the one before made, or the item after that.
                if (!is_product(made) && (made == last || !is_product(++made))) made = table.find(both.assign(merge.left).append(merge.right));
                const VocabularyItem *const one = table.find(lefts[k]), *const other = table.find(rights[k]);
                if (!one || !other || !made) throw std::invalid_argument("a merge names a token that the vocabulary lacks");
                merges[begin + k] = {one->id, other->id, made->id};
            }
        }
    });
    return merges;
}

class Vocabulary {
  public:
    // `dropped_bytes`: the UTF-8 bytes that may lack an entry; throws std::invalid_argument if any other byte lacks one.
    // `end_of_word_suffix`, if not empty, stands for END_OF_WORD at the end of a name.
    explicit Vocabulary(const std::vector<VocabularyItem>& items, std::string_view dropped_bytes = {}, std::string_view end_of_word_suffix = {},
                        Names form = Names::stand_ins)
        : ends_words_(!end_of_word_suffix.empty()) {
        const ByteAlphabet alphabet;
        size_t total = 0;
        for (const auto& item : items) total += item.name.size() + 1;
        arena_.reserve(total);  // the entries point into it
        entries_.reserve(items.size());
        byte_id_.fill(NONE);
        for (const auto& item : items) {
            if (item.id > MAX_ID) throw std::invalid_argument("a vocabulary id is above 2^20 - 2");
            max_id_ = std::max(max_id_, item.id);
            const size_t start = arena_.size();
            std::string_view name = item.name;
            const bool ends_word = ends_words_ && name.ends_with(end_of_word_suffix);
            if (ends_word) name.remove_suffix(end_of_word_suffix.size());
            if (form == Names::bytes) arena_ += name;
            else if (item.name.empty() || !alphabet.decode(name, arena_) ||
                     (ends_words_ && arena_.find(static_cast<char>(END_OF_WORD), start) != std::string::npos)) {
                arena_.resize(start);  // for example an added token: no pre-token contains such characters
                continue;
            }
            if (ends_word) arena_.push_back(static_cast<char>(END_OF_WORD));
            if (arena_.size() == start) continue;
            const std::string_view bytes(arena_.data() + start, arena_.size() - start);
            if (bytes.size() == 1) byte_id_[static_cast<uint8_t>(bytes[0])] = item.id;
            entries_.push_back({bytes, item.id});
        }
        std::vector<bool> taken(max_id_ + 1, false);
        for (const auto& entry : entries_) {
            if (taken[entry.id]) throw std::invalid_argument("two vocabulary entries share an id");
            taken[entry.id] = true;
        }
        for (size_t byte = 0; byte < 256; byte++) {
            if (!in_utf8(byte) || byte_id_[byte] != NONE) continue;
            if (dropped_bytes.find(static_cast<char>(byte)) == std::string_view::npos)
                throw std::invalid_argument("the vocabulary lacks a byte");
            drops_bytes_ = true;
        }
    }

    const std::vector<Entry>& entries() const { return entries_; }
    uint32_t byte_id(uint8_t byte) const { return byte_id_[byte]; }
    uint32_t max_id() const { return max_id_; }
    // Without an unknown token, Hugging Face removes bytes that are not entries from a word before merging.
    bool drops_bytes() const { return drops_bytes_; }
    // Does END_OF_WORD follow every word?
    bool ends_words() const { return ends_words_; }

  private:
    std::string arena_;
    std::vector<Entry> entries_;
    std::array<uint32_t, 256> byte_id_{};
    uint32_t max_id_ = 0;
    bool drops_bytes_ = false, ends_words_ = false;
};

}  // namespace lopt
