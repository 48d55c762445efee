// Where a text can be divided, judged by the characters at the position, and what kind of word an undivided part is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/segmenter.hpp"
#include "text/characters.hpp"
#include "text/seam.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Method: see core.hpp.
template <class Method>
class Boundaries {
  public:
    // Both must outlive this object.
    Boundaries(const Method& method, const Segmenter<Method>& segmenter) : method_(method), segmenter_(segmenter) {}

    // Is the position before character `at` a seam in every text that begins or continues with these characters up to
    // `end`? Requires 0 < at < end. See seam.hpp.
    bool is_seam(const Characters& text, size_t at, size_t end) const {
        Junction junction{text[at - 1], text[at], at + 1 < end ? text[at + 1] : 0, at + 1 < end};
        if (is_surrogate(junction.left) || is_surrogate(junction.right) || is_surrogate(junction.next)) return false;
        if (!segmenter_.divides(junction)) return false;
        if (!junction.has_next) return true;  // whatever follows
        junction.has_next = false;
        junction.is_end = true;
        return segmenter_.divides(junction);
    }

    // The last seam in (begin, end) that text after `end` cannot remove; 0 if there is none.
    size_t last_seam(const Characters& text, size_t begin, size_t end) const {
        for (size_t at = end; at-- > begin + 1;)
            if (is_seam(text, at, end)) return at;
        return 0;
    }
    // The first seam in [begin, end), where begin > 0; `end` if there is none.
    size_t first_seam(const Characters& text, size_t begin, size_t end) const {
        for (size_t at = begin; at < end; at++)
            if (is_seam(text, at, end)) return at;
        return end;
    }
    // The first seam among the `searched` characters after a multiple of `distance` from `from` on; the text's length if there
    // is none. Few texts have no seam there, and not every position has to be tested.
    size_t next_seam(const Characters& text, size_t from, size_t distance, size_t searched) const {
        while (text.length - from > distance) {
            from += distance;
            for (size_t at = from; at < std::min(from + searched, text.length); at++)
                if (is_seam(text, at, text.length)) return at;
        }
        return text.length;
    }
    // Called once it is verified that dividing texts at seams does not change their ids. Until then, `encode` divides none.
    void trust_seams() { trusts_seams_.store(true, std::memory_order_release); }
    bool trusts_seams() const { return trusts_seams_.load(std::memory_order_acquire); }

    // The last position in (begin, end) that has whole groups of digits before it and another group after it; 0 if there
    // is none. Only spaces and newlines may precede the digits. The position is a boundary if text[begin, end) is a text
    // of its own or follows a seam.
    size_t last_group(const Characters& text, size_t begin, size_t end) const {
        const size_t group = method_.digits_in_group();
        if (segmenter_.adds_space_to_stretches() || group == 0) return 0;
        size_t first = begin;
        while (first < end && (text[first] == ' ' || text[first] == '\n') && !may_begin_token(text[first])) first++;
        size_t stop = first;
        while (stop < end && text[stop] >= '0' && text[stop] <= '9' && !may_begin_token(text[stop])) stop++;
        return stop - first > group ? first + (stop - first - 1) / group * group : 0;
    }

  private:
    // A lone surrogate may not be a character at all.
    bool may_begin_token(uint32_t c) const { return is_surrogate(c) || segmenter_.may_begin_token(c); }

    const Method& method_;
    const Segmenter<Method>& segmenter_;
    std::atomic<bool> trusts_seams_{false};
};

}  // namespace lopt
