// Finds the characters of a stretch that each id of a WordPiece model covers, by normalizing the raw words again.
//
// Each character of a normalized word came from one character of the raw text, so a piece covers the characters that its
// first and its last byte came from. (This does not hold if characters change places; such stretches are not walked.)
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "text/alignment.hpp"
#include "text/text.hpp"
#include "wordpiece/raw_words.hpp"
#include "wordpiece/word_characters.hpp"
#include "wordpiece/word_piece.hpp"
#include "wordpiece/word_piece_encoder.hpp"

namespace lopt {

class WordPieceOffsets {
  public:
    // items: the vocabulary, names in UTF-8; nothing is known about an id with two names.
    WordPieceOffsets(const WordCharacters& characters, const WordPiece& model, const WordPieceEncoder& encoder, const std::vector<VocabularyItem>& items,
                     size_t prefix_bytes)
        : characters_(characters), model_(model), encoder_(encoder), scanner_(characters), prefix_bytes_(prefix_bytes) {
        for (const auto& item : items) {
            if (item.id >= bytes_.size()) bytes_.resize(item.id + 1, 0);
            bytes_[item.id] = bytes_[item.id] == 0 && item.name.size() < SHARED ? static_cast<uint16_t>(item.name.size()) : SHARED;
        }
        for (uint16_t& bytes : bytes_)
            if (bytes == SHARED) bytes = 0;
    }

    // Calls emit(begin, end), in characters of the stretch, for each of its ids from *id up to `last`, and
    // emit.each(begin, end) for characters that have one id each. Returns the stretch's number of characters. Throws
    // OffsetsUnknownError if the ids are not those of its words. If the stretch is not all ASCII, 8 bytes after it must
    // be readable.
    template <class Emit>
    int32_t walk(const Span& stretch, bool ascii, const uint32_t*& id, const uint32_t* last, Emit&& emit) const {
        Normalized normalized;
        RawWords words;
        int32_t count = 0;
        const uint8_t *counted = stretch.begin, *p = stretch.begin;
        while (p < stretch.end && id < last) {
            p = take_lone(p, stretch.end, count, counted, id, last, emit);
            words.start(p);
            while (p < stretch.end && !words.full(p) && !(words.count && is_lone(p))) p = scanner_.step(p, stretch.end, words);
            for (uint32_t k = 0; k < words.count && id < last; k++) {
                const uint8_t *begin = words.begin(k), *end = begin + words.length(k);
                if (words.ends[k] == UINT32_MAX) throw OffsetsUnknownError("a word is too long");
                count += characters_between(counted, begin, ascii);
                const auto length = static_cast<size_t>(end - begin);
                counted = end;
                if (bytes_of(*id) == length && *id != model_.unknown_id() && is_whole(begin, length, ascii)) {
                    emit(count, count + static_cast<int32_t>(length));
                    count += static_cast<int32_t>(length);
                    id++;
                } else {
                    count += normalize(begin, end, count, normalized);
                    take(normalized, id, last, emit);
                }
            }
        }
        return count + characters_between(counted, stretch.end, ascii);
    }
    size_t bytes() const { return bytes_.size() * sizeof bytes_[0]; }

  private:
    static constexpr uint16_t SHARED = UINT16_MAX;

    struct Normalized {
        std::vector<uint8_t> bytes;
        std::vector<int32_t> sources;  // for each byte, the character of the stretch it came from
        std::vector<uint32_t> ids;
        bool divides = false;
    };

    // Takes the characters at p that are words of their own, have three bytes each, and have one id; returns their end.
    template <class Emit>
    const uint8_t* take_lone(const uint8_t* p, const uint8_t* end, int32_t& count, const uint8_t*& counted, const uint32_t*& id, const uint32_t* last,
                             Emit&& emit) const {
        const uint8_t* const first = p;
        const uint32_t* at = id;
        for (; p < end && begins_three_bytes(p) && at < last; p += 3, at++) {
            const uint32_t lone = lone_id(p);
            if (lone == NONE) break;
            if (lone != *at) throw OffsetsUnknownError("the ids are not those of the text's words");
        }
        if (p == first) return p;
        count += characters_between(counted, first, false);
        const int32_t after = count + static_cast<int32_t>(at - id);
        emit.each(count, after);
        count = after;
        counted = p;
        id = at;
        return p;
    }
    uint32_t lone_id(const uint8_t* p) const { return encoder_.lone_id(decode_three_bytes(p)); }
    bool is_lone(const uint8_t* p) const { return begins_three_bytes(p) && lone_id(p) != NONE; }
    // Is an id with as many bytes as the word its only id? The word may also have none. Only checks the first byte: a
    // character that is kept has an id, and no character becomes longer.
    bool is_whole(const uint8_t* p, size_t length, bool ascii) const {
        return characters_.ascii_never_grows() && characters_.ascii_image(*p) && (ascii || is_ascii(p, length));
    }
    // Bytes after the word must be readable.
    static bool is_ascii(const uint8_t* p, size_t length) {
        constexpr uint64_t HIGH = 0x8080808080808080u;
        for (; length > 8; length -= 8, p += 8)
            if (load64(p) & HIGH) return false;
        return !(load64(p) << (64 - 8 * length) & HIGH);
    }
    size_t bytes_of(uint32_t id) const { return id < bytes_.size() ? bytes_[id] : 0; }
    // Normalizes [p, end), which follows `count` characters; returns its number of characters.
    int32_t normalize(const uint8_t* p, const uint8_t* end, int32_t count, Normalized& out) const {
        const size_t room = characters_.room_for_image();
        int32_t character = count;
        int length;
        out.sources.clear();
        out.divides = false;
        for (; p < end; p += length, character++) {
            const uint16_t bits = characters_.classes().at(p, end, length);
            out.divides |= (bits & word_bit::divides) != 0;
            if (bits & word_bit::removed) continue;
            const size_t before = out.sources.size();
            if (out.bytes.size() < before + room) out.bytes.resize(2 * out.bytes.size() + room);
            size_t characters = 0;
            const uint8_t* const stop = characters_.copy_image(p, length, bits, out.bytes.data() + before, characters);
            out.sources.resize(static_cast<size_t>(stop - out.bytes.data()), character);
        }
        return character - count;
    }

    template <class Emit>
    void take(Normalized& normalized, const uint32_t*& id, const uint32_t* last, Emit&& emit) const {
        const size_t size = normalized.sources.size();
        if (!normalized.divides) return take_word(normalized, 0, size, id, last, emit);
        const uint8_t* const first = normalized.bytes.data();
        characters_.visit_words(first, first + size, [&](const uint8_t* begin, const uint8_t* end, size_t) {
            take_word(normalized, static_cast<size_t>(begin - first), static_cast<size_t>(end - first), id, last, emit);
        });
    }
    // Takes the ids of bytes [begin, end) of the normalized text.
    template <class Emit>
    void take_word(Normalized& normalized, size_t begin, size_t end, const uint32_t*& id, const uint32_t* last, Emit&& emit) const {
        if (begin == end || id == last) return;
        const int32_t* const sources = normalized.sources.data() + begin;
        // The unknown token may also be a regular piece.
        if (*id == model_.unknown_id() && is_one_id(normalized, begin, end)) {
            emit(sources[0], sources[end - begin - 1] + 1);
            id++;
            return;
        }
        const size_t size = end - begin;
        for (size_t at = 0; at < size && id < last; id++) {
            const size_t prefix = at == 0 ? 0 : prefix_bytes_, name = bytes_of(*id);
            if (name <= prefix || name - prefix > size - at) throw OffsetsUnknownError("the ids are not those of the text's words");
            const size_t after = at + name - prefix;
            emit(sources[at], sources[after - 1] + 1);
            at = after;
        }
    }
    bool is_one_id(Normalized& normalized, size_t begin, size_t end) const {
        const uint8_t* const bytes = normalized.bytes.data();
        normalized.ids.resize(end - begin + 1);
        uint32_t* const ids = normalized.ids.data();
        return model_.encode(bytes + begin, bytes + end, count_characters(bytes + begin, bytes + end), ids) == ids + 1;
    }

    const WordCharacters& characters_;
    const WordPiece& model_;
    const WordPieceEncoder& encoder_;
    RawWordScanner scanner_;
    size_t prefix_bytes_;
    std::vector<uint16_t> bytes_;  // of each id's name; 0: unknown
};

}  // namespace lopt
