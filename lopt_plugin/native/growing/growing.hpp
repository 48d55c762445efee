// Divides texts at seams (seam.hpp), to encode and count them part by part, only as far as needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "growing/parts.hpp"
#include "text/utf8.hpp"

namespace lopt {

// text[begin, end) in UTF-8.
inline std::string utf8_of(const Characters& text, size_t begin, size_t end) {
    std::string bytes;
    for (size_t i = begin; i < end; i++) append_character(text[i], bytes);
    return bytes;
}

// Core: of Unigram.
template <class Core>
concept HasLattice = requires(const Core& core) { core.method().encoder().growing_lattice(); };

// What the normalizer makes of text[begin, end), which it must treat independently of the rest.
template <class Core>
std::string normalized_part(const Core& core, const Characters& text, size_t begin, size_t end) {
    const std::string part = utf8_of(text, begin, end);
    if (end - begin == 1 && core.method().leaves(text[begin])) return part;
    if (core.method().metaspace()) return " ";
    return core.segmenter().normalized(part);
}

// The normalized beginning of a stretch, with the space that it gets. `inside`: see EncodeOptions.
template <class Core>
std::string with_space(const Core& core, std::string beginning, bool inside) {
    if (beginning.empty()) return beginning;
    if (core.segmenter().prepends_space(first_character(beginning), inside)) beginning.insert(0, 1, ' ');
    return beginning;
}

// What the normalizer makes of text[begin, end), with that space if the stretch begins there.
template <class Core>
std::string spaced_part(const Core& core, const Characters& text, size_t begin, size_t end, bool begins, bool inside) {
    std::string part = normalized_part(core, text, begin, end);
    return begins ? with_space(core, std::move(part), inside) : part;
}

// Number of characters to encode at a time, chosen so that the working memory fits in the caches.
inline constexpr size_t PART = size_t{1} << 14;

// Writes the ids of text[part] to `space.ids`.
template <class Core>
size_t encode_part(const Core& core, const Characters& text, const TextPart& part, bool split_special, typename Core::Workspace& space) {
    core.encode(text.part(part.begin, part.end), {.split_special = split_special, .inside = part.inside}, space);
    return space.ids.size();
}

// Estimates how many characters hold a number of ids, from what was read so far. Errs on the low side.
class Estimate {
  public:
    size_t characters(size_t wanted_ids) const {
        constexpr size_t LEAST = 128, MANY = size_t{1} << 31;  // ids; no text has that many
        const size_t wanted = std::min(wanted_ids, MANY);
        if (ids_ == 0) return std::clamp(wanted, LEAST, PART);
        const size_t expected = wanted * characters_ / ids_;
        return std::max(LEAST, expected - expected / 8);
    }
    void read(size_t characters, size_t ids) { characters_ += characters, ids_ += ids; }

  private:
    size_t characters_ = 0, ids_ = 0;
};

// The number of ids of text[begin, end), or any number above `limit` if it exceeds the limit.
template <class Core>
size_t count_ids(const Core& core, const Characters& text, size_t begin, size_t end, bool inside, bool split_special, size_t limit,
                 typename Core::Workspace& space) {
    Parts parts(core.boundaries(), text, begin, end, inside);
    Estimate estimate;
    size_t count = 0;
    while (!parts.done() && count <= limit) {
        const auto part = parts.next(std::min(estimate.characters(limit - count), PART));
        const size_t ids = encode_part(core, text, part, split_special, space);
        estimate.read(part.end - part.begin, ids);
        count += ids;
    }
    return count;
}

// A part without a seam is counted with a GrowingWord if it is at least this long in characters; shorter ones are
// encoded.
inline constexpr size_t LONG_WORD = 512;

// Writes the first `most` ids of the text, or all of them, to `out`. Encodes little more text than that.
template <class Core>
void first_ids(const Core& core, const Characters& text, size_t most, EncodeOptions options, typename Core::Workspace& space, IdBuffer& out) {
    Parts parts(core.boundaries(), text, 0, text.length, false);
    Estimate estimate;
    while (!parts.done() && out.size() < most) {
        const auto part = parts.next(estimate.characters(most - out.size()));
        options.inside = part.inside;
        core.encode(text.part(part.begin, part.end), options, space);
        estimate.read(part.end - part.begin, space.ids.size());
        out.append(space.ids.data(), std::min(space.ids.size(), most - out.size()));
    }
}

// Counts the ids of any part of one text, encoded on its own. A seam of the text is also a seam of its parts.
template <class Core>
class Intervals {
  public:
    Intervals(const Core& core, const Characters& text, bool split_special, typename Core::Workspace& space) : core_(core), split_special_(split_special) {
        constexpr size_t APART = 64;  // characters
        Parts parts(core.boundaries(), text, 0, text.length, false, true);
        size_t count = 0;
        while (!parts.done()) {
            const auto part = parts.next(APART);
            count += encode_part(core, text, part, split_special, space);
            if (part.end == text.length) break;
            seams_.push_back(static_cast<uint32_t>(part.end));
            counts_.push_back(static_cast<uint32_t>(count));
        }
    }

    // Requires begin <= end <= text.length and the text given to the constructor.
    size_t count(const Characters& text, size_t begin, size_t end, typename Core::Workspace& space) const {
        if (begin == end) return 0;
        const auto first = std::upper_bound(seams_.begin(), seams_.end(), begin), after = std::lower_bound(first, seams_.end(), end);
        if (first == after) return encode_part(core_, text, {begin, end, false}, split_special_, space);
        const auto last = after - 1;
        const size_t between = counts_[static_cast<size_t>(last - seams_.begin())] - counts_[static_cast<size_t>(first - seams_.begin())];
        return encode_part(core_, text, {begin, *first, false}, split_special_, space) + between + encode_part(core_, text, {*last, end, true}, split_special_, space);
    }

  private:
    const Core& core_;
    bool split_special_;
    std::vector<uint32_t> seams_, counts_;  // in ascending order; the number of ids before each seam
};

}  // namespace lopt
