// The characters of a WordPiece pipeline: their classes, and the normalized form (image) of each.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "text/alignment.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Bits of the class table of a WordPiece pipeline (see unicode_tables/bert.py). The table also has class_bit::word and
// class_bit::strip_space, for added tokens.
namespace word_bit {
inline constexpr uint16_t raw_white_space = 1u << 0;     // separates raw words and belongs to none
inline constexpr uint16_t raw_isolated = 1u << 1;  // a raw word of its own
inline constexpr uint16_t removed = 1u << 2;       // becomes nothing
inline constexpr uint16_t changes = 1u << 3;       // has an image
inline constexpr uint16_t spaced = 1u << 4;        // the image, or the character, gets a space on both sides
inline constexpr uint16_t divides = 1u << 5;       // the image is not, as a whole, a word or part of one
inline constexpr uint16_t reordered = 1u << 6;     // may change places with its neighbours
inline constexpr uint16_t white_space = 1u << 7;         // removed by the pre-tokenizer
inline constexpr uint16_t punctuation = 1u << 8;   // isolated by the pre-tokenizer
}  // namespace word_bit

class WordCharacters {
  public:
    struct Image {
        const uint8_t* data;  // COPIED bytes are readable
        uint32_t bytes, characters;
    };
    // Most images are copied as this many bytes, whatever their length.
    static constexpr size_t COPIED = 8;

    // changed: code points in ascending order; ends: the end of each one's image in `images`, which is UTF-8. Throws
    // std::invalid_argument if the parts do not match.
    WordCharacters(ClassTable classes, const std::vector<uint32_t>& changed, const std::vector<uint32_t>& ends, std::vector<uint8_t> images)
        : classes_(std::move(classes)), images_(std::move(images)), rows_(ClassTable::page_count, NO_ROW) {
        if (changed.size() != ends.size()) throw std::invalid_argument("word characters: one end for each image expected");
        const size_t total = images_.size();
        images_.resize(total + COPIED);
        uint32_t start = 0;
        for (size_t i = 0; i < changed.size(); i++) {
            const uint32_t c = changed[i], end = ends[i];
            if (c >= 0x110000 || end <= start || end > total) throw std::invalid_argument("word characters: an image lies outside");
            uint32_t& row = rows_[c >> 7];
            if (row == NO_ROW) {
                row = static_cast<uint32_t>(places_.size());
                places_.resize(places_.size() + 128, {nullptr, 0, 0});
            }
            const uint8_t *const first = images_.data() + start, *const last = images_.data() + end;
            places_[row + (c & 127)] = {first, end - start, static_cast<uint32_t>(count_characters(first, last))};
            longest_image_ = std::max<size_t>(longest_image_, end - start);
            start = end;
        }
        for (uint32_t c = 0; c < 0x110000; c++) {
            const uint16_t bits = classes_.of(c);
            any_divides_ |= (bits & word_bit::divides) != 0;
            any_reordered_ |= (bits & word_bit::reordered) != 0;
            if ((bits & word_bit::changes) && !image(c).data) throw std::invalid_argument("word characters: an image is missing");
        }
        for (uint32_t c = 0; c < 0x80; c++) {
            const uint16_t bits = classes_.of(c);
            if (!(bits & (word_bit::removed | word_bit::divides))) {
                if (!(bits & word_bit::changes)) ascii_images_[c] = static_cast<uint8_t>(c);
                else if (image(c).bytes == 1) ascii_images_[c] = image(c).data[0];
            }
            ascii_never_grows_ &= (bits & (word_bit::raw_white_space | word_bit::removed)) || ascii_images_[c];
        }
    }
    WordCharacters(const WordCharacters&) = delete;
    WordCharacters& operator=(const WordCharacters&) = delete;

    const ClassTable& classes() const { return classes_; }
    // For a character that changes.
    const Image& image(uint32_t code_point) const {
        static constexpr Image none{nullptr, 0, 0};
        const uint32_t row = rows_[code_point >> 7];
        return row == NO_ROW ? none : places_[row + (code_point & 127)];
    }
    // The last or first character of the image of a character that is not removed, including spaces.
    uint32_t edge_of_image(uint32_t code_point, bool last) const {
        const uint16_t bits = classes_.of(code_point);
        if (bits & word_bit::spaced) return ' ';
        if (!(bits & word_bit::changes)) return code_point;
        const Image& made = image(code_point);
        int length;
        return decode_character(last ? character_before(made.data + made.bytes) : made.data, length);
    }
    // The single byte that an ASCII byte becomes, without the spaces around it; 0 if it does not become one, and for
    // other bytes.
    uint8_t ascii_image(uint8_t byte) const { return ascii_images_[byte]; }
    // Does each ASCII character inside a word become at most one byte of the same word?
    bool ascii_never_grows() const { return ascii_never_grows_; }
    // Copies the image of the character at p, which has `length` bytes and is not removed, to `out`, without the spaces
    // around it. `out` needs room for `room_for_image` bytes. Returns the end, and counts the characters.
    uint8_t* copy_image(const uint8_t* p, int length, uint16_t bits, uint8_t* out, size_t& characters) const {
        if (!(bits & word_bit::changes)) {
            characters++;
            for (int i = 0; i < length; i++) out[i] = p[i];
            return out + length;
        }
        const Image& made = image(decode_character(p, length));
        characters += made.characters;
        if (made.bytes <= COPIED) std::memcpy(out, made.data, COPIED);
        else std::memcpy(out, made.data, made.bytes);
        return out + made.bytes;
    }
    size_t room_for_image() const { return longest_image_; }
    bool any_divides() const { return any_divides_; }
    bool any_reordered() const { return any_reordered_; }

    // Calls visit(begin, end, characters) for each word, possibly empty, into which the pre-tokenizer divides a normalized text.
    template <class Visit>
    void visit_words(const uint8_t* p, const uint8_t* end, Visit&& visit) const {
        const uint8_t* word = p;
        size_t characters = 0;
        int length;
        for (; p < end; p += length) {
            const uint16_t bits = classes_.at(p, end, length);
            characters++;
            if (!(bits & (word_bit::white_space | word_bit::punctuation))) continue;
            visit(word, p, characters - 1);
            word = p + length;
            characters = 0;
            if (bits & word_bit::punctuation) visit(p, word, size_t{1});
        }
        visit(word, end, characters);
    }

    // Appends the images of the characters in [p, end): the normalized text if nothing is reordered. `sources`: null,
    // or receives where its characters came from.
    void append_images(const uint8_t* p, const uint8_t* end, std::string& out, Sources* sources) const {
        int length;
        for (; p < end; p += length) {
            const uint16_t bits = classes_.at(p, end, length);
            const size_t before = out.size();
            if (!(bits & word_bit::removed)) {
                if (bits & word_bit::spaced) out.push_back(' ');
                if (bits & word_bit::changes) {
                    const Image& made = image(decode_character(p, length));
                    out.append(reinterpret_cast<const char*>(made.data), made.bytes);
                } else {
                    out.append(reinterpret_cast<const char*>(p), static_cast<size_t>(length));
                }
                if (bits & word_bit::spaced) out.push_back(' ');
            }
            if (sources) sources->replace(p, p + length, characters_in(std::string_view(out).substr(before)), false);
        }
    }
    size_t memory_bytes() const {
        return classes_.memory_bytes() + images_.size() + rows_.size() * sizeof(uint32_t) + places_.size() * sizeof(Image);
    }

  private:
    static constexpr uint32_t NO_ROW = ~uint32_t{0};

    ClassTable classes_;
    std::vector<uint8_t> images_;
    std::array<uint8_t, 256> ascii_images_{};
    std::vector<uint32_t> rows_;
    std::vector<Image> places_;
    size_t longest_image_ = COPIED;
    bool any_divides_ = false, any_reordered_ = false, ascii_never_grows_ = true;
};

}  // namespace lopt
