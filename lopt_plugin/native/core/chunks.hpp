// Lossless chunks: one long stretch, scanned by several threads from arbitrary characters, spliced where scans agree.
//
// A scanner looks only ahead, so two scans of the same text that share a boundary agree on every later one. A worker
// that starts at an arbitrary character reads the true text to its right; only its start is a guess. Its ids count
// from the first boundary that the scan from its left has too. If there is none among those it noted, the left scan
// goes on through the whole chunk: LoPT's longer chunk. (LoPT matches tokens by their position; with patterns that
// group digits that is not enough, so boundaries of pre-tokens are matched instead.)
#pragma once

#include <vector>

#include "base/id_buffer.hpp"
#include "text/text.hpp"

namespace lopt {

// Encoder: scan(text, from, stop, space, ids) appends the ids of what starts in [from, stop), `from` being a boundary,
// and returns the end of the last; next(p, end) is the boundary after p.
template <class Encoder>
class Chunk {
  public:
    // Pre-tokens that start in [begin, stop) of the text; `begin` is the start of a character.
    Chunk(const Text& text, const uint8_t* begin, const uint8_t* stop) : text_(text), begin_(begin), stop_(stop), reached_(begin) {}

    void encode(const Encoder& encoder, typename Encoder::Workspace& space) {
        const uint8_t* p = begin_;
        // A pre-token that covers the whole chunk leaves no boundary to meet at; the scan from the left will do it once.
        // What lies after the chunk is not looked at: a pre-token over many chunks would be read by all of them.
        if (!is_first() && encoder.next(p, stop_) >= stop_) return;
        while (p < stop_ && notes_.size() < NOTES) {
            notes_.push_back({p, ids_.size()});
            p = encoder.scan(text_, p, p + 1, space, ids_);
        }
        notes_.push_back({p, ids_.size()});
        reached_ = encoder.scan(text_, p, stop_, space, ids_);
    }

    // Appends the chunk's ids to those of the scan from its left, which has reached `position`; returns how far it is now.
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
        size_t ids;  // how many ids lie before it
    };

    Text text_;
    const uint8_t *begin_, *stop_, *reached_;
    std::vector<Note> notes_;
    IdBuffer ids_;
};

}  // namespace lopt
