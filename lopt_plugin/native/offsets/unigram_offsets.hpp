// Finds the characters of a stretch that each id of a Unigram model covers.
//
// The names of the ids give their lengths, except for unknown characters and for the bytes that represent them. Words
// with such ids are segmented again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/alignment.hpp"
#include "text/text.hpp"
#include "unigram/unigram.hpp"
#include "unigram/unigram_encoder.hpp"

namespace lopt {

class UnigramOffsets {
  public:
    // Both must outlive this object.
    UnigramOffsets(const Unigram& model, const UnigramEncoder& encoder, const std::vector<std::string_view>& names)
        : model_(model), encoder_(encoder), bytes_(names.size()) {
        for (size_t id = 0; id < names.size(); id++) {
            size_t bytes = names[id].size();
            const auto* p = reinterpret_cast<const uint8_t*>(names[id].data());
            const uint8_t* const end = p + bytes;
            for (; (p = find_metaspace(p, end)) < end; p += 3) bytes -= 2;  // a space in a word
            if (bytes <= UINT16_MAX) bytes_[id] = static_cast<uint16_t>(bytes);
        }
        bytes_[model.unknown_id()] = 0;
        for (const uint32_t id : model.byte_ids())
            if (id != NONE) bytes_[id] = 0;
    }

    // See WordPieceOffsets::walk.
    template <class Emit>
    int32_t walk(const Span& stretch, bool ascii, const uint32_t*& id, const uint32_t* last, Emit&& emit) const {
        std::vector<uint8_t> spelled;
        Lattice lattice;
        int32_t count = 0;
        const uint8_t* counted = stretch.begin;
        encoder_.visit_words(stretch, spelled, [&](const Span& word, const Span& text, bool prepended) {
            if (id == last) return false;
            count += characters_between(counted, word.begin, ascii);
            counted = word.begin;
            // A space that was prepended to the word belongs to its first character.
            const auto take = [&](int32_t begin, int32_t end) { emit(count + std::max(begin - prepended, 0), count + std::max(end - prepended, 1)); };
            if (!take_named(text, ascii, id, last, take)) take_divided(text, ascii, lattice, id, last, take);
            return true;
        });
        return count + characters_between(counted, stretch.end, ascii);
    }
    size_t bytes() const { return bytes_.size() * sizeof bytes_[0]; }

  private:
    // Takes the next ids if their names give the length of each; returns whether they do.
    template <class Take>
    bool take_named(const Span& text, bool ascii, const uint32_t*& id, const uint32_t* last, Take&& take) const {
        const auto size = static_cast<size_t>(text.end - text.begin);
        const uint32_t* next = id;
        for (size_t at = 0; at < size && next < last; at += bytes_[*next++]) {
            if (*next >= bytes_.size() || bytes_[*next] == 0) return false;
            if (bytes_[*next] > size - at) throw OffsetsUnknownError("the ids are not those of the text's words");
        }
        const uint8_t* p = text.begin;
        for (int32_t begin = 0; id < next; id++) {
            const int32_t end = begin + characters_between(p, p + bytes_[*id], ascii);
            p += bytes_[*id];
            take(begin, end);
            begin = end;
        }
        return true;
    }
    template <class Take>
    void take_divided(const Span& text, bool ascii, Lattice& lattice, const uint32_t*& id, const uint32_t* last, Take&& take) const {
        model_.divide(text.begin, text.end, lattice);
        int32_t begin = 0;
        for (const Piece& piece : lattice.pieces) {
            const int32_t end = begin + characters_between(text.begin + piece.begin, text.begin + piece.end, ascii);
            for (size_t left = model_.ids_of(text.begin, piece); left > 0 && id < last; left--, id++) take(begin, end);
            begin = end;
        }
    }

    const Unigram& model_;
    const UnigramEncoder& encoder_;
    std::vector<uint16_t> bytes_;  // of each id's name, as in a word; 0: the name does not give the length
};

}  // namespace lopt
