// The offset mapping: the characters of the original text that each id covers.
//
// The reference library tracks, through every step, the range of the original text that each character came from. Walking
// the ids over the text again gives the same result. Tokens in a pre-token are contiguous, so a token begins after the
// bytes of the ids before it. A token covers whole characters: those that contain its first and its last byte. A space
// that is prepended to a text belongs to the character after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/hash.hpp"
#include "offsets/byte_pair_shapes.hpp"
#include "text/alignment.hpp"
#include "text/text.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Where a segment came from. Without origins, all segments lie in the text itself.
struct Origin {
    const uint8_t* begin;        // its first character, after the prepended space: in the text or, if aligned, in the normalized form
    const Alignment* alignment;  // null: unchanged from the text
    bool spaced;                 // a space was prepended
};

// What the post-processor does to offsets: it excludes white space at the ends of a token.
struct Trim {
    bool white_space = false;
    bool spare_first = false;  // except for one space before the first token, which may come from add_prefix_space
    size_t first = 0;          // index of the id that counts as the first; earlier ids will be cut off
};

// Computes the offsets of one text, segment by segment.
class OffsetWalk {
  public:
    // Walks the ids at [begin, end) of a text, and writes their offsets to the same positions of `out`. They are those of `text`,
    // which `characters` precede. `ascii`: it is ASCII.
    OffsetWalk(const uint8_t* text, bool ascii, size_t characters, const uint32_t* ids, size_t begin, size_t end, const Trim& trim, Offset* out)
        : at_(text), count_(static_cast<int32_t>(characters)), ascii_(ascii), id_(ids + begin), first_(ids + trim.first), last_(ids + end), trim_(trim), out_(out + begin) {}

    bool done() const { return id_ == last_; }

    // The next id is the added token `segment`.
    void token(const ClassTable& classes, const Segment& segment, const Origin& origin) {
        const uint8_t *begin = segment.begin, *end = segment.end;
        const int32_t count = characters_between(begin, end, ascii_ && !origin.alignment);
        Offset offset;
        if (origin.alignment) {
            const int32_t first = aligned_character(origin), base = character(origin.alignment->original);
            offset.begin = base + sources_[first];
            offset.end = base + sources_[first + count - 1] + 1;
        } else {
            const int32_t base = character(begin);
            offset = {base, base + count};
        }
        if (trim_.white_space) offset = trimmed(offset, leading_white_space(classes, begin, end), trailing_white_space(classes, begin, end), id_);
        *out_++ = offset;
        id_++;
    }

    // The next ids are those of a stretch without added tokens. `spans` are its pre-tokens (null: a single one without
    // gaps), and `shapes` gives the number of bytes per id. `white_space`: null, or, for a single pre-token, identifies
    // the white space that no id covers. Throws OffsetsUnknownError if the bytes of the ids do not end at the end of a
    // span.
    void stretch(const BytePairShapes& shapes, const std::vector<Span>* spans, const Segment& segment, const Origin& origin,
                 const ClassTable* white_space = nullptr) {
        if (trim_.white_space && !shapes.knows_white_space()) throw OffsetsUnknownError("the names of tokens do not show their spaces");
        const bool ascii = ascii_ && !origin.alignment;  // normalized text may be non-ASCII even if the text is ASCII
        with_places(segment, origin, [&](const auto& place) {
            const auto skip_nothing = [](const uint8_t*&, const uint8_t*) { return 0; };
            const auto skip_white_space = [white_space](const uint8_t*& p, const uint8_t* end) {
                if (*p > ' ' && *p < 0xC2) return 0;  // not white space, or inside a character
                const uint8_t* const from = p;
                p = white_space->skip(class_bit::space, p, end);
                return static_cast<int32_t>(count_characters(from, p));
            };
            if (white_space) return walk(shapes, ascii, {segment.begin, segment.end}, 0, place, skip_white_space);
            if (!spans) return walk(shapes, ascii, {segment.begin, segment.end}, 0, place, skip_nothing);
            int32_t count = 0;
            const uint8_t* at = segment.begin;
            for (const Span& span : *spans) {
                if (done()) break;
                count += static_cast<int32_t>(count_characters(at, span.begin));
                count = walk(shapes, ascii, span, count, place, skip_nothing);
                at = span.end;
            }
            return count + static_cast<int32_t>(count_characters(at, segment.end));
        });
    }
    // The same with `words`, which finds the characters of each id itself.
    template <class Words>
    void stretch(const Words& words, const Segment& segment, const Origin& origin) {
        if (trim_.white_space) throw OffsetsUnknownError("the names of tokens do not show their spaces");
        const bool ascii = ascii_ && !origin.alignment;
        with_places(segment, origin, [&](const auto& place) {
            return words.walk({segment.begin, segment.end}, ascii, id_, last_, Emit<std::decay_t<decltype(place)>>{place, out_});
        });
    }

  private:
    // Receives the positions of ids.
    template <class Place>
    struct Emit {
        void operator()(int32_t begin, int32_t end) const { *out++ = place(begin, end); }
        // Receives the positions of characters that have one id each.
        void each(int32_t begin, int32_t end) const {
            Offset* const first = out;
            out += end - begin;
            for (int32_t i = 0; i < end - begin; i++) first[i] = place(begin + i, begin + i + 1);
        }
        const Place& place;
        Offset*& out;
    };
    // Calls walk(place), which must return the segment's number of characters; place(begin, end) returns the offset of
    // these characters.
    template <class Walk>
    void with_places(const Segment& segment, const Origin& origin, Walk&& walk_with) {
        const int32_t spaced = origin.spaced;
        if (origin.alignment) {
            const int32_t first = aligned_character(origin), base = character(origin.alignment->original);
            Sources::Reader sources = sources_;
            walk_with([=, &sources](int32_t begin, int32_t end) __attribute__((always_inline)) {
                const int32_t from = base + sources[first + std::max(begin - spaced, 0)];
                return Offset{from, base + sources[first + std::max(end - spaced, 1) - 1] + 1};
            });
            sources_ = sources;
        } else if (spaced) {
            const int32_t base = character(origin.begin);
            walk_with([=](int32_t begin, int32_t end) { return Offset{base + std::max(begin - 1, 0), base + std::max(end - 1, 1)}; });
        } else {
            const int32_t base = character(segment.begin);
            const int32_t count = walk_with([=](int32_t begin, int32_t end) { return Offset{base + begin, base + end}; });
            if (!ascii_) {
                at_ = segment.end;
                count_ = base + count;
            }
        }
    }
    // Walks the ids of a span that starts after `count` characters of its stretch; returns the number of characters
    // before its end. skip(p, end) skips text that no id covers, and returns its number of characters.
    template <class Place, class Skip>
    int32_t walk(const BytePairShapes& shapes, bool ascii, const Span& span, int32_t count, const Place& place, const Skip& skip) {
        if (ascii) return trim_.white_space ? walk<true, true>(shapes, span, count, place, skip) : walk<true, false>(shapes, span, count, place, skip);
        return trim_.white_space ? walk<false, true>(shapes, span, count, place, skip) : walk<false, false>(shapes, span, count, place, skip);
    }
    // If the text is not ASCII, 8 bytes after it must be readable.
    template <bool ASCII, bool TRIM, class Place, class Skip>
    int32_t walk(const BytePairShapes& shapes, const Span& span, int32_t count, const Place& place, const Skip& skip) {
        const uint8_t* p = span.begin;
        const uint32_t* id = id_;
        Offset* out = out_;
        constexpr ptrdiff_t AHEAD = 16;
        for (; p < span.end && id < last_; id++) {
            count += skip(p, span.end);
            if (p == span.end) break;
            if (last_ - id > AHEAD) shapes.fetch(id[AHEAD]);
            const BytePairShapes::Shape shape = shapes.shape_of(*id);
            size_t length = shape.bytes;
            if (length == 0) length = shapes.bytes_at(*id, p, span.end);
            if (length == 0 || length > static_cast<size_t>(span.end - p)) throw OffsetsUnknownError("the ids are not those of the text's bytes");
            const int32_t begin = ASCII ? count : count - static_cast<int32_t>(is_continuation(*p));
            count += ASCII ? static_cast<int32_t>(length) : characters_of(p, length);
            const Offset whole = place(begin, count);
            *out++ = TRIM ? trimmed(whole, shape.leading, shape.trailing, id) : whole;
            p += length;
        }
        if (p < span.end && id < last_) throw OffsetsUnknownError("the ids are not those of the text's bytes");
        id_ = id;
        out_ = out;
        return count;
    }

    [[gnu::always_inline]] static int32_t characters_of(const uint8_t* p, size_t length) {
        // Shifts out the bytes after the token.
        return length <= 8 ? leads_shifted(load64(p), length) : characters_of_long(p, length);
    }
    [[gnu::noinline]] static int32_t characters_of_long(const uint8_t* p, size_t length) {
        int32_t count = 0;
        for (; length > 8; length -= 8, p += 8) count += leads(load64(p));
        return count + leads_shifted(load64(p), length);
    }
    static uint64_t lead_bits(uint64_t bytes) { return (~bytes | bytes << 1) & 0x8080808080808080u; }
    static int32_t sum(uint64_t bits) { return static_cast<int32_t>((bits >> 7) * 0x0101010101010101u >> 56); }
    static int32_t leads(uint64_t bytes) { return sum(lead_bits(bytes)); }
    static int32_t leads_shifted(uint64_t bytes, size_t length) { return sum(lead_bits(bytes) << (64 - 8 * length)); }

    // Number of characters of the text before p; p never moves back.
    int32_t character(const uint8_t* p) {
        count_ += characters_between(at_, p, ascii_);
        at_ = p;
        return count_;
    }
    // The index of the segment's first character among those of its alignment.
    int32_t aligned_character(const Origin& origin) {
        if (alignment_ != origin.alignment) {
            alignment_ = origin.alignment;
            sources_ = Sources::Reader(alignment_->sources);
            aligned_at_ = alignment_->normalized;
            aligned_count_ = 0;
        }
        aligned_count_ += count_characters(aligned_at_, origin.begin);
        aligned_at_ = origin.begin;
        return static_cast<int32_t>(aligned_count_);
    }

    // Like process_offsets in the reference library.
    Offset trimmed(const Offset& offset, int32_t leading, int32_t trailing, const uint32_t* id) const {
        if (leading == 1 && trim_.spare_first && (id == first_ || offset.begin == 0)) leading = 0;
        const int32_t begin = std::min(offset.begin + leading, offset.end);
        return {begin, offset.end >= trailing ? std::max(offset.end - trailing, begin) : offset.end};
    }
    // Is this white space, or the stand-in for the space, which counts as white space in any token?
    static bool is_white_space(const ClassTable& classes, const uint8_t* p, const uint8_t* end, int& length) {
        return (classes.at(p, end, length) & class_bit::strip_space) != 0 || (length == 2 && p[0] == 0xC4 && p[1] == 0xA0);
    }
    static int32_t leading_white_space(const ClassTable& classes, const uint8_t* p, const uint8_t* end) {
        int32_t count = 0;
        for (int length = 0; p < end && is_white_space(classes, p, end, length); p += length) count++;
        return count;
    }
    static int32_t trailing_white_space(const ClassTable& classes, const uint8_t* begin, const uint8_t* end) {
        int32_t count = 0;
        int length;
        for (const uint8_t* p = end; p > begin; count++) {
            p = character_before(p);
            if (!is_white_space(classes, p, end, length)) break;
        }
        return count;
    }

    const uint8_t* at_;  // characters are counted up to this position
    int32_t count_;
    bool ascii_;
    const uint32_t *id_, *first_, *last_;
    Trim trim_;
    Offset* out_;
    const Alignment* alignment_ = nullptr;
    const uint8_t* aligned_at_ = nullptr;
    size_t aligned_count_ = 0;
    Sources::Reader sources_;
};

}  // namespace lopt
