// Divides a text into parts that are encoded independently: from seam to seam (seam.hpp).
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/boundaries.hpp"
#include "text/characters.hpp"

namespace lopt {

// Characters [begin, end) of a text. `inside`: it does not start a stretch, see EncodeOptions.
struct TextPart {
    size_t begin, end;
    bool inside;
};

// The parts of text[begin, end). `inside`: `begin` is also a seam. Where there is no seam, a part may end after a group of
// digits. That is a boundary in this text, but not in a text that starts inside the run of digits.
template <class Method>
class Parts {
  public:
    // only_seams: parts only end at seams.
    Parts(const Boundaries<Method>& boundaries, const Characters& text, size_t begin, size_t end, bool inside, bool only_seams = false)
        : boundaries_(boundaries), text_(text), at_(begin), end_(end), inside_(inside), only_seams_(only_seams) {}

    bool done() const { return at_ == end_; }
    // The next part: at most `wanted` characters if there is a place to end, otherwise more.
    TextPart next(size_t wanted) {
        size_t stop = end_, searched = at_;
        while (end_ - at_ > wanted) {
            stop = boundaries_.last_seam(text_, searched, at_ + wanted);
            if (!stop && !only_seams_) stop = boundaries_.last_group(text_, at_, at_ + wanted);
            if (stop) break;
            stop = end_;
            searched = std::max(at_ + wanted, at_ + 2) - 2;  // the last position was tested without its next character
            wanted *= 2;
        }
        const TextPart part{at_, stop, inside_};
        at_ = stop;
        inside_ = true;
        return part;
    }

  private:
    const Boundaries<Method>& boundaries_;
    const Characters& text_;
    size_t at_, end_;
    bool inside_, only_seams_;
};

}  // namespace lopt
