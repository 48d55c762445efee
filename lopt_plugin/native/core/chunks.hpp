// Lossless chunks: several threads scan one long stretch from arbitrary characters, and the scans are joined where they
// agree.
//
// A scanner only looks ahead, so two scans of the same text that share a boundary agree on every later one. A worker that
// starts at an arbitrary character reads the true text to its right; only its start is a guess. Its ids are valid from
// the first boundary that it shares with the scan from its left. If none of its noted boundaries is shared, the left scan
// continues through the whole chunk: LoPT's longer chunk. (LoPT matches tokens by position. That is not enough for
// patterns that group digits, so boundaries of pre-tokens are matched instead.)
#pragma once

#include <vector>

#include "base/id_buffer.hpp"
#include "text/text.hpp"

namespace lopt {

// Encoder: scan(text, from, stop, space, ids) appends the ids of the pre-tokens that start in [from, stop), where `from`
// is a boundary, and returns the end of the last one; next(p, end) is the boundary after p.
template <class Encoder>
class Chunk {
  public:
    // The pre-tokens that start in [begin, stop) of the text; `begin` must be the start of a character.
    Chunk(const Text& text, const uint8_t* begin, const uint8_t* stop) : text_(text), begin_(begin), stop_(stop), reached_(begin) {}

    void encode(const Encoder& encoder, typename Encoder::Workspace& space) {
        const uint8_t* p = begin_;
        // If one pre-token covers the whole chunk, there is no boundary to join at, and the left scan encodes it once.
        // Does not look past the chunk, because every chunk of a long pre-token would then read all of it.
        if (!is_first() && encoder.next(p, stop_) >= stop_) return;
        while (p < stop_ && notes_.size() < NOTES) {
            notes_.push_back({p, ids_.size()});
            p = encoder.scan(text_, p, p + 1, space, ids_);
        }
        notes_.push_back({p, ids_.size()});
        reached_ = encoder.scan(text_, p, stop_, space, ids_);
    }

    // Appends the chunk's ids to those of the left scan, which has reached `position`; returns the new position.
    const uint8_t* join(const Encoder& encoder, typename Encoder::Workspace& space, const uint8_t* position, IdBuffer& out) const {
        size_t k = 0;
        while (position < stop_) {
            while (k < notes_.size() && notes_[k].at < position) k++;
            if (k == notes_.size()) return encoder.scan(text_, position, stop_, space, out);
            if (notes_[k].at == position) {
                out.append(ids_.data() + notes_[k].ids, ids_.size() - notes_[k].ids);
                return reached_;
            }
            position = encoder.scan(text_, position, position + 1, space, out);
        }
        return position;
    }

    const uint8_t* begin() const { return begin_; }
    bool is_first() const { return begin_ == text_.begin; }

  private:
    static constexpr size_t NOTES = 32;
    struct Note {
        const uint8_t* at;
        size_t ids;  // number of ids before it
    };

    Text text_;
    const uint8_t *begin_, *stop_, *reached_;
    std::vector<Note> notes_;
    IdBuffer ids_;
};

}  // namespace lopt
