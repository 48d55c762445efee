// Encodes a stretch of text by WordPiece. Raw words from the scanner are looked up, a window at a time, as they occur in
// the text. Only raw words that are neither in the table nor in the cache are normalized and matched.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/buffer.hpp"
#include "base/id_buffer.hpp"
#include "bpe/word_cache.hpp"
#include "bpe/words.hpp"
#include "text/text.hpp"
#include "wordpiece/raw_words.hpp"
#include "wordpiece/word_characters.hpp"
#include "wordpiece/word_piece.hpp"

namespace lopt {

class WordPieceEncoder {
  public:
    // Scratch space for one scan; not shared between threads.
    struct Workspace {
        // Frees each buffer larger than `bytes`; returns the size of the remaining buffers in bytes.
        size_t keep_at_most(size_t bytes) { return lopt::keep_at_most(bytes, normalized); }

        struct Miss {
            WordKey key;
            uint64_t hash;
            uint32_t word;
        };
        RawWords words;
        uint32_t ids[RawWords::ROOM + 8];
        Miss misses[RawWords::ROOM + 1];
        std::vector<uint8_t> normalized;
    };

    // items: the vocabulary, names in UTF-8.
    WordPieceEncoder(const WordCharacters& characters, const WordPiece& model, const std::vector<VocabularyItem>& items)
        : characters_(characters), model_(model), scanner_(characters), table_(whole_words(items)), cache_(CACHE_SLOTS), long_cache_(LONG_CACHE_SLOTS), lone_(LONE_CHARACTERS, NONE) {
        find_lone_characters();
    }

    // Appends the ids of a stretch.
    void encode(const Text& text, Workspace& space, IdBuffer& out) const {
        const uint8_t* p = text.begin;
        RawWords& words = space.words;
        words.start(p);
        while (p < text.end) {
            if (words.full(p)) {
                resolve(space, text.readable_end, out);
                words.start(p);
            }
            if (begins_row(p, text.end)) {
                if (words.count) resolve(space, text.readable_end, out);
                p = add_row(p, text.end, out);
                words.start(p);
                continue;
            }
            p = scanner_.step(p, text.end, words);
        }
        if (words.count) resolve(space, text.readable_end, out);
    }
    // Calls visit(end) for each unit of a stretch, after appending its ids to `out`, until it returns false.
    template <class Visit>
    void visit_pre_tokens(const Text& text, Workspace& space, IdBuffer& out, Visit&& visit) const {
        for (const uint8_t* p = text.begin; p < text.end;) {
            const uint8_t* const end = scanner_.next(p, text.end);
            encode({p, end, text.readable_end}, space, out);
            if (!visit(p = end)) return;
        }
    }

    // The only id of a character that is a word of its own; NONE if it is not, or if that is unknown.
    uint32_t lone_id(uint32_t code_point) const { return code_point < LONE_CHARACTERS ? lone_[code_point] : NONE; }

    size_t bytes() const { return table_.bytes() + cache_.bytes() + long_cache_.bytes() + lone_.bytes(); }

  private:
    static constexpr size_t CACHE_SLOTS = 1 << 15, LONG_CACHE_SLOTS = 1 << 14;
    static constexpr uint32_t LONE_CHARACTERS = 0x10000;

    // In text where every character is a word, ids are found by code point and no words are split off. Are several
    // characters from p on likely to be such words?
    bool begins_row(const uint8_t* p, const uint8_t* stop) const {
        const auto is_likely = [](uint8_t byte) { return byte >= 0xE3 && byte <= 0xE9; };
        if (!is_likely(*p) || stop - p < 16 || !is_likely(p[3]) || !is_likely(p[6]) || !is_likely(p[9])) return false;
        return lone_[decode_three_bytes(p)] != NONE;
    }
    // Appends the ids of isolated three-byte characters up to the first other character; returns their end.
    const uint8_t* add_row(const uint8_t* p, const uint8_t* stop, IdBuffer& out) const {
        uint32_t* o = out.reserve(static_cast<size_t>(stop - p) / 3 + 1);
        for (; p < stop && begins_three_bytes(p); p += 3) {
            const uint32_t id = lone_[decode_three_bytes(p)];
            if (id == NONE) break;
            *o++ = id;
        }
        out.set_end(o);
        return p;
    }

    void resolve(Workspace& space, const uint8_t* readable_end, IdBuffer& out) const {
        uint32_t missing = 0;
        const auto elsewhere = [&](uint32_t k, WordKey key) {
            const uint64_t hash = key.hash();
            cache_.prefetch(hash);
            space.misses[missing] = {key, hash, k};
            missing += (space.ids[k] = table_.find(key, hash)) == NONE;
        };
        table_.look_up(space.words, readable_end, space.ids, [](WordKey*, uint32_t, uint32_t) {}, elsewhere);
        emit(space, missing, out);
    }

    void emit(Workspace& space, uint32_t missing, IdBuffer& out) const {
        constexpr uint32_t AT_ONCE = 8;  // ids that are copied, possibly more than needed
        const uint32_t count = space.words.count;
        uint32_t word = 0;
        for (uint32_t m = 0; m <= missing; m++) {
            const uint32_t stop = m < missing ? space.misses[m].word : count;
            uint32_t* o = out.reserve(stop - word + AT_ONCE);
            for (uint32_t n = 0; n < stop - word; n += AT_ONCE) std::memcpy(o + n, space.ids + word + n, AT_ONCE * sizeof *o);
            out.set_end(o + (stop - word));
            word = stop + 1;
            if (m < missing) encode(space, space.misses[m], out);
        }
    }

    void encode(Workspace& space, const Workspace::Miss& miss, IdBuffer& out) const {
        const uint8_t* p = space.words.begin(miss.word);
        const uint32_t length = space.words.length(miss.word);
        const auto encode = [&] { encode_raw_word(p, p + length, space.normalized, out); };
        if (length <= LONGEST_KEY) cache_.append(miss.key, miss.hash, out, encode);
        else if (length > LongWordKey::LONGEST) encode();
        else long_cache_.append(LongWordKey(p, length), LongWordKey::hash(p, length), out, encode);
    }

    // Normalizes and matches [p, end); `normalized` is scratch space.
    void encode_raw_word(const uint8_t* p, const uint8_t* end, std::vector<uint8_t>& normalized, IdBuffer& out) const {
        const ClassTable& classes = characters_.classes();
        const size_t step = characters_.room_for_image();
        size_t bytes = 0, characters = 0;
        bool divides = false;
        int length;
        for (; p < end; p += length) {
            if (normalized.size() < bytes + step) normalized.resize(2 * normalized.size() + 256 + step);
            if (const uint8_t image = characters_.ascii_image(*p)) {
                normalized[bytes++] = image;
                characters++;
                length = 1;
                if (characters > model_.most_characters() && !characters_.any_divides()) break;
                continue;
            }
            const uint16_t bits = classes.at(p, end, length);
            divides |= (bits & word_bit::divides) != 0;
            if (bits & word_bit::removed) continue;
            uint8_t* const at = normalized.data() + bytes;
            bytes += static_cast<size_t>(characters_.copy_image(p, length, bits, at, characters) - at);
            // The rest of an overlong word does not matter, unless it may consist of several words.
            if (characters > model_.most_characters() && !characters_.any_divides()) break;
        }
        const uint8_t* const begin = normalized.data();
        if (!divides) return add_word(begin, begin + bytes, characters, out);
        characters_.visit_words(begin, begin + bytes, [&](const uint8_t* from, const uint8_t* to, size_t count) { add_word(from, to, count, out); });
    }
    void add_word(const uint8_t* p, const uint8_t* end, size_t characters, IdBuffer& out) const {
        const size_t room = characters > model_.most_characters() ? 1 : static_cast<size_t>(end - p);
        out.set_end(model_.encode(p, end, characters, out.reserve(room + 1)));
    }

    void find_lone_characters() {
        std::vector<uint8_t> normalized;
        for (uint32_t c = 0x800; c < LONE_CHARACTERS; c++) {
            if (!(characters_.classes().of(c) & word_bit::raw_isolated)) continue;
            uint8_t utf8[3];
            encode_character(c, utf8);
            IdBuffer ids;
            encode_raw_word(utf8, utf8 + 3, normalized, ids);
            if (ids.size() == 1) lone_[c] = ids.data()[0];
        }
    }
    // Every entry that is a raw word with one id, and its capitalized form if that also has one id.
    std::vector<WordTable::Item> whole_words(const std::vector<VocabularyItem>& items) const {
        std::vector<WordTable::Item> found;
        std::vector<uint8_t> normalized;
        const KeyMasks masks;
        const auto add = [&](std::string_view word) {
            const auto* p = reinterpret_cast<const uint8_t*>(word.data());
            const uint8_t* end = p + word.size();
            if (word.empty() || word.size() > LONGEST_KEY || scanner_.next(p, end) != end) return;
            int length;
            if (characters_.classes().at(p, end, length) & word_bit::raw_white_space) return;
            IdBuffer ids;
            encode_raw_word(p, end, normalized, ids);
            if (ids.size() == 1) found.push_back({masks.key_near_end(p, word.size()), ids.data()[0]});
        };
        for (const auto& item : items) {
            add(item.name);
            if (item.name.empty() || item.name[0] < 'a' || item.name[0] > 'z') continue;
            std::string capitalized(item.name);
            capitalized[0] = static_cast<char>(capitalized[0] - 'a' + 'A');
            add(capitalized);
        }
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return std::pair(a.key.low, a.key.high) < std::pair(b.key.low, b.key.high); });
        const auto same = [](const WordTable::Item& a, const WordTable::Item& b) { return a.key == b.key; };
        found.erase(std::unique(found.begin(), found.end(), same), found.end());
        return found;
    }

    const WordCharacters& characters_;
    const WordPiece& model_;
    RawWordScanner scanner_;
    WordTable table_;
    mutable WordCache cache_;
    mutable LongWordCache long_cache_;
    Table<uint32_t> lone_;  // the id of each isolated three-byte character that has one; otherwise NONE
};

}  // namespace lopt
