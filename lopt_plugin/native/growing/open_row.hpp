// A row of equal marks, or of white space, at the end of a growing text. The text is divided inside it, but later text may undo that:
//
// - A row of one mark that comes last in the order of the marks before it. A mark that is appended may be sorted before the
//   row, or compose with the letter before it. If the same mark is appended, or a character that begins apart, nothing moves:
//   equal marks keep their order, and each keeps those after it from composing.
// - A row of white space, where added tokens strip the white space before them. No token begins in the row, so the row stays if
//   the next character begins no token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "growing/growing.hpp"
#include "text/characters.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Once text is appended: is the division of the row still open, final, or undone?
enum class RowAfter { open, final, undone };

template <class Core>
class OpenRow {
  public:
    // Only the last character decides what the row is of. The core must outlive this object.
    OpenRow(const Core& core, const Characters& text) : core_(core), begin_(text.length), end_(text.length) {
        if (text.length == 0) return;
        last_ = text[text.length - 1];
        if constexpr (requires { core.method().repeats_apart(last_); }) of_mark_ = !is_surrogate(last_) && core.method().repeats_apart(last_);
        while (begin_ > 0 && holds(text[begin_ - 1])) begin_--;
        if (of_mark_) begin_ = is_sorted(text) ? std::min(begin_ + JOINED, end_) : end_;
    }
    // Where it begins; the end of the text if there is none.
    size_t begin() const { return begin_; }
    bool is_open() const { return begin_ < end_; }
    // Is the text before this position normalized independently of the rest, as long as the row is open?
    bool divides_marks(size_t at) const { return of_mark_ && at >= begin_; }
    RowAfter after(const Characters& more) const {
        size_t at = 0;
        while (at < more.length && holds(more[at])) at++;
        if (at == more.length) return RowAfter::open;
        const uint32_t next = more[at];
        const bool stays = !is_surrogate(next) && (of_mark_ ? core_.method().begins_apart(next) : begins_no_token(next));
        return stays ? RowAfter::final : RowAfter::undone;
    }

  private:
    static constexpr size_t JOINED = 4;  // marks at the beginning of a row that may compose with what is before it; one is enough

    // Does the row come last when the marks before it are sorted with it?
    bool is_sorted(const Characters& text) const {
        size_t first = begin_;
        while (first > 0 && !is_surrogate(text[first - 1]) && !core_.method().begins_apart(text[first])) first--;
        if (first > 0 && !core_.method().begins_apart(text[first])) return false;
        const auto made = code_points_of(core_.segmenter().normalized(utf8_of(text, first, std::min(begin_ + JOINED, end_))));
        return made.size() >= JOINED - 1 && std::all_of(made.end() - (JOINED - 1), made.end(), [this](uint32_t c) { return c == last_; });
    }
    bool holds(uint32_t c) const {
        if (of_mark_) return c == last_;
        return core_.segmenter().tokens_take_white_space_before() && !is_surrogate(c) && (core_.method().classes().of(c) & class_bit::strip_space) &&
               begins_no_token(c);
    }
    bool begins_no_token(uint32_t c) const {
        if constexpr (requires { core_.method().leaves(c); })
            return !core_.segmenter().may_begin_token(c) && (!core_.segmenter().any_normalized_tokens() || core_.method().leaves(c));
        return false;
    }

    const Core& core_;
    size_t begin_, end_;
    uint32_t last_ = 0;
    bool of_mark_ = false;
};

}  // namespace lopt
