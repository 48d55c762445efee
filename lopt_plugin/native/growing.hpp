// Texts taken apart at their seams (seam.hpp): parts are encoded and counted one by one, as far as they are wanted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core.hpp"

namespace lopt {

// Characters that are encoded at a time: what they need stays in the caches.
inline constexpr size_t PART = size_t{1} << 14;

// The last seam in (begin, end) that text behind `end` cannot undo; none: 0.
template <class Core>
size_t last_seam(const Core& core, const Characters& text, size_t begin, size_t end) {
    for (size_t at = end; at-- > begin + 1;)
        if (core.is_seam(text, at, end)) return at;
    return 0;
}

// The first seam in [begin, end), 0 < begin; none: end.
template <class Core>
size_t first_seam(const Core& core, const Characters& text, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at++)
        if (core.is_seam(text, at, end)) return at;
    return end;
}

// The parts of text[begin, end), from seam to seam; `inside`: `begin` is a seam as well.
template <class Core>
class Parts {
  public:
    struct Part {
        size_t begin, end;
        bool inside;
    };

    Parts(const Core& core, const Characters& text, size_t begin, size_t end, bool inside)
        : core_(core), text_(text), at_(begin), end_(end), inside_(inside) {}

    bool done() const { return at_ == end_; }
    // The next part: `wanted` characters or fewer, more where there is no seam.
    Part next(size_t wanted) {
        size_t stop = end_, searched = at_;
        while (end_ - at_ > wanted) {
            stop = last_seam(core_, text_, searched, at_ + wanted);
            if (stop) break;
            stop = end_;
            searched = std::max(at_ + wanted, at_ + 2) - 2;  // of what stands there the next character was not known
            wanted *= 2;
        }
        const Part part{at_, stop, inside_};
        at_ = stop;
        inside_ = true;
        return part;
    }

  private:
    const Core& core_;
    const Characters& text_;
    size_t at_, end_;
    bool inside_;
};

// Ids of text[part], in `space.ids`.
template <class Core>
size_t encode_part(const Core& core, const Characters& text, const typename Parts<Core>::Part& part, bool split_special, typename Core::Workspace& space) {
    EncodeOptions options{1, 0, split_special};
    options.inside = part.inside;
    core.encode(text.part(part.begin, part.end), options, space);
    return space.ids.size();
}

// How many ids text[begin, end) has, or, when these are more than `limit`, any number above it.
template <class Core>
size_t count_ids(const Core& core, const Characters& text, size_t begin, size_t end, bool inside, bool split_special, size_t limit,
                 typename Core::Workspace& space) {
    // A token seldom has fewer than two characters: few are encoded behind the limit.
    constexpr size_t LEAST = 512;
    Parts<Core> parts(core, text, begin, end, inside);
    size_t count = 0;
    while (!parts.done() && count <= limit) {
        const size_t wanted = limit - count < PART / 4 ? std::max(LEAST, 4 * (limit - count)) : PART;
        count += encode_part(core, text, parts.next(std::min(wanted, PART)), split_special, space);
    }
    return count;
}

// The length of the longest prefix of the text with at most `most` ids as a text of its own.
//
// Counts of prefixes do not rise steadily, but those that end at seams do: and behind a seam a prefix has as many ids as
// up to there and none or more besides. So the longest prefix ends between the last seam with at most so many ids and the
// next one, where every place is tried.
template <class Core>
size_t cut(const Core& core, const Characters& text, size_t most, bool split_special, typename Core::Workspace& space) {
    size_t before = 0, wanted = PART;
    typename Parts<Core>::Part part{0, text.length, false};
    for (;;) {
        Parts<Core> parts(core, text, part.begin, part.end, part.inside);
        bool found = false;
        while (!parts.done()) {
            part = parts.next(wanted);
            const size_t count = encode_part(core, text, part, split_special, space);
            found = before + count > most;
            if (found) break;
            before += count;
        }
        if (!found) return part.end;  // only where the whole text has no more
        if (wanted == 1) break;
        wanted = wanted > 64 ? 64 : 1;
    }
    for (size_t end = part.end - 1; end > part.begin; end--)
        if (before + encode_part(core, text, {part.begin, end, part.inside}, split_special, space) <= most) return end;
    return part.begin;
}

// The first `most` ids of the text, or all, in `out`. Not much more than these is encoded.
template <class Core>
void first_ids(const Core& core, const Characters& text, size_t most, EncodeOptions options, typename Core::Workspace& space, IdBuffer& out) {
    constexpr size_t LEAST = 512;
    Parts<Core> parts(core, text, 0, text.length, false);
    while (!parts.done() && out.size() < most) {
        const auto part = parts.next(std::max(LEAST, 4 * (most - out.size())));
        options.inside = part.inside;
        core.encode(text.part(part.begin, part.end), options, space);
        out.append(space.ids.data(), std::min(space.ids.size(), most - out.size()));
    }
}

// How many ids any part of one text has as a text of its own. Seams of the text are seams of its parts.
template <class Core>
class Intervals {
  public:
    Intervals(const Core& core, const Characters& text, bool split_special, typename Core::Workspace& space) : core_(core), split_special_(split_special) {
        constexpr size_t APART = 64;  // characters
        Parts<Core> parts(core, text, 0, text.length, false);
        size_t count = 0;
        while (!parts.done()) {
            const auto part = parts.next(APART);
            count += encode_part(core, text, part, split_special, space);
            if (part.end == text.length) break;
            seams_.push_back(static_cast<uint32_t>(part.end));
            counts_.push_back(static_cast<uint32_t>(count));
        }
    }

    // Of text[begin, end), begin <= end <= text.length; the text is the one of the constructor.
    size_t count(const Characters& text, size_t begin, size_t end, typename Core::Workspace& space) const {
        if (begin == end) return 0;
        const auto first = std::upper_bound(seams_.begin(), seams_.end(), begin), behind = std::lower_bound(first, seams_.end(), end);
        if (first == behind) return encode_part(core_, text, {begin, end, false}, split_special_, space);
        const auto last = behind - 1;
        return encode_part(core_, text, {begin, *first, false}, split_special_, space) + counts_[static_cast<size_t>(last - seams_.begin())] -
               counts_[static_cast<size_t>(first - seams_.begin())] + encode_part(core_, text, {*last, end, true}, split_special_, space);
    }
    size_t bytes() const { return (seams_.capacity() + counts_.capacity()) * sizeof(uint32_t); }

  private:
    const Core& core_;
    bool split_special_;
    std::vector<uint32_t> seams_, counts_;  // in order, and how many ids stand before each
};

}  // namespace lopt
