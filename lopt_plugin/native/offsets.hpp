// The offset mapping: the characters of the original text that each id stands for.
//
// The reference library carries, through every step, the range of the original text that each character came from. The
// ids say the same when they are walked over the text again. Tokens of a byte-level model follow one another without
// a gap, so the bytes of the ids before a token say where it begins. A token takes whole characters: those that its
// first and its last byte belong to. The blank of add_prefix_space belongs to the character behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "added_tokens.hpp"
#include "alignment.hpp"
#include "hash.hpp"
#include "unicode.hpp"
#include "vocabulary.hpp"

namespace lopt {

// Where a segment came from. Segments without one lie in the text itself.
struct Origin {
    const uint8_t* begin;        // its first character, behind the blank: in the text or, if aligned, in the normalized form
    const Alignment* alignment;  // null: as in the text
    bool blank;                  // one blank was put in front
};

// What the post-processor does to offsets: blanks at the ends of a token are not part of it.
struct Trim {
    bool blanks = false;
    bool spare_first = false;  // but a single one in front of the first token, which may be that of add_prefix_space
    size_t first = 0;          // which id counts as the first: those before it are going to be cut off
};

// Offsets of one text, segment after segment.
class OffsetWalk {
  public:
    // Of the ids of a text, those at [begin, end) are walked, and their offsets written to the same places of `out`.
    // `ascii`: all texts are.
    OffsetWalk(const uint8_t* text, bool ascii, const uint32_t* ids, size_t begin, size_t end, const Trim& trim, Offset* out)
        : text_(text), at_(text), ascii_(ascii), id_(ids + begin), first_(ids + trim.first), last_(ids + end), trim_(trim), out_(out + begin) {}

    bool done() const { return id_ == last_; }

    // The next id is the added token `segment`.
    void token(const ClassTable& classes, const Segment& segment, const Origin& origin) {
        const uint8_t *begin = segment.begin, *end = segment.end;
        const auto count = static_cast<int32_t>(ascii_ ? end - begin : static_cast<ptrdiff_t>(count_characters(begin, end)));
        Offset offset;
        if (origin.alignment) {
            const size_t first = aligned_character(origin);
            const auto& characters = origin.alignment->characters;
            const int32_t base = character(origin.alignment->original);
            offset = {base + characters[first].begin, base + characters[first + static_cast<size_t>(count) - 1].end};
        } else {
            const int32_t base = character(begin);
            offset = {base, base + count};
        }
        if (trim_.blanks) trim(offset, blanks_in_front(classes, begin, end), blanks_behind(classes, begin, end));
        *out_++ = offset;
        id_++;
    }

    // The next ids are those of a stretch without added tokens; `shapes.of(id)` says how many bytes an id stands for.
    // Throws OffsetsUnknownError if their bytes do not end with the stretch.
    template <class Shapes>
    void stretch(const Shapes& shapes, const Segment& segment, const Origin& origin) {
        const int32_t blank = origin.blank;
        if (origin.alignment) {
            const Offset* characters = origin.alignment->characters.data() + aligned_character(origin);
            const int32_t base = character(origin.alignment->original);
            walk(shapes, segment, [=](int32_t begin, int32_t end) {
                return Offset{base + characters[std::max(begin - blank, 0)].begin, base + characters[std::max(end - blank, 1) - 1].end};
            });
        } else if (blank) {
            const int32_t base = character(origin.begin);
            walk(shapes, segment, [=](int32_t begin, int32_t end) { return Offset{base + std::max(begin - 1, 0), base + std::max(end - 1, 1)}; });
        } else {
            const int32_t base = character(segment.begin);
            const int32_t count = walk(shapes, segment, [=](int32_t begin, int32_t end) { return Offset{base + begin, base + end}; });
            if (!ascii_) {
                at_ = segment.end;
                count_ = base + count;
            }
        }
    }

    // Tells that the text has `count` characters before `at`, for a walk that does not begin with the text.
    void start(const uint8_t* at, int32_t count) {
        at_ = at;
        count_ = count;
    }

  private:
    template <class Shapes, class Place>
    int32_t walk(const Shapes& shapes, const Segment& segment, Place&& place) {
        if (ascii_) return trim_.blanks ? walk<true, true>(shapes, segment, place) : walk<true, false>(shapes, segment, place);
        return trim_.blanks ? walk<false, true>(shapes, segment, place) : walk<false, false>(shapes, segment, place);
    }
    // Returns the number of characters of the ids' bytes. Where the text is not ASCII, 8 bytes behind it may be read.
    template <bool ASCII, bool TRIM, class Shapes, class Place>
    int32_t walk(const Shapes& shapes, const Segment& segment, Place&& place) {
        const uint8_t* p = segment.begin;
        const uint32_t* id = id_;
        Offset* out = out_;
        int32_t count = 0;
        for (; p < segment.end && id < last_; id++) {
            const size_t length = shapes.bytes_of(*id);
            if (length == 0 || length > static_cast<size_t>(segment.end - p)) throw OffsetsUnknownError("the ids are not those of the text's bytes");
            const int32_t begin = ASCII ? count : count - static_cast<int32_t>(is_continuation(*p));
            count += ASCII ? static_cast<int32_t>(length) : characters_of(p, length);
            *out = place(begin, count);
            if constexpr (TRIM) {
                const auto blanks = shapes.blanks_of(*id);
                if (blanks.in_front | blanks.behind) {
                    id_ = id;
                    trim(*out, blanks.in_front, blanks.behind);
                }
            }
            out++;
            p += length;
        }
        if (p < segment.end && id < last_) throw OffsetsUnknownError("the ids are not those of the text's bytes");
        id_ = id;
        out_ = out;
        return count;
    }

    static int32_t characters_of(const uint8_t* p, size_t length) {
        int32_t count = 0;
        for (; length > 8; length -= 8, p += 8) count += leads(load64(p));
        // Bytes behind the token are shifted out.
        return count + leads_shifted(load64(p), length);
    }
    static uint64_t lead_bits(uint64_t bytes) { return (~bytes | bytes << 1) & 0x8080808080808080u; }
    static int32_t sum(uint64_t bits) { return static_cast<int32_t>((bits >> 7) * 0x0101010101010101u >> 56); }
    static int32_t leads(uint64_t bytes) { return sum(lead_bits(bytes)); }
    static int32_t leads_shifted(uint64_t bytes, size_t length) { return sum(lead_bits(bytes) << (64 - 8 * length)); }

    // Characters of the text before p; p never goes back.
    int32_t character(const uint8_t* p) {
        if (ascii_) return static_cast<int32_t>(p - text_);
        count_ += static_cast<int32_t>(count_characters(at_, p));
        at_ = p;
        return count_;
    }
    size_t aligned_character(const Origin& origin) {
        if (alignment_ != origin.alignment) {
            alignment_ = origin.alignment;
            aligned_at_ = alignment_->normalized;
            aligned_count_ = 0;
        }
        aligned_count_ += count_characters(aligned_at_, origin.begin);
        aligned_at_ = origin.begin;
        return aligned_count_;
    }

    // process_offsets of the reference library.
    void trim(Offset& offset, int32_t in_front, int32_t behind) const {
        if (in_front == 1 && trim_.spare_first && (id_ == first_ || offset.begin == 0)) in_front = 0;
        offset.begin = std::min(offset.begin + in_front, offset.end);
        if (offset.end >= behind) offset.end = std::max(offset.end - behind, offset.begin);
    }
    // White space, and the stand-in of the blank, which is taken for one in any token.
    static bool is_blank(const ClassTable& classes, const uint8_t* p, const uint8_t* end, int& length) {
        return (classes.at(p, end, length) & class_bit::strip_space) != 0 || (length == 2 && p[0] == 0xC4 && p[1] == 0xA0);
    }
    static int32_t blanks_in_front(const ClassTable& classes, const uint8_t* p, const uint8_t* end) {
        int32_t count = 0;
        for (int length = 0; p < end && is_blank(classes, p, end, length); p += length) count++;
        return count;
    }
    static int32_t blanks_behind(const ClassTable& classes, const uint8_t* begin, const uint8_t* end) {
        int32_t count = 0;
        int length;
        for (const uint8_t* p = end; p > begin; count++) {
            do p--;
            while (is_continuation(*p));
            if (!is_blank(classes, p, end, length)) break;
        }
        return count;
    }

    const uint8_t* text_;
    const uint8_t* at_;  // up to where characters are counted
    int32_t count_ = 0;
    bool ascii_;
    const uint32_t *id_, *first_, *last_;
    Trim trim_;
    Offset* out_;
    const Alignment* alignment_ = nullptr;
    const uint8_t* aligned_at_ = nullptr;
    size_t aligned_count_ = 0;
};

// What the entries of a byte-level vocabulary look like, by id.
class ByteLevelShapes {
  public:
    struct Blanks {
        uint16_t in_front, behind;
    };

    explicit ByteLevelShapes(const Vocabulary& vocabulary)
        : bytes_(size_t{vocabulary.max_id()} + 1, 0), blanks_(bytes_.size(), Blanks{0, 0}) {
        for (const auto& [bytes, id] : vocabulary.entries()) {
            if (bytes.size() > UINT16_MAX) continue;  // left at 0, which is no length
            bytes_[id] = static_cast<uint16_t>(bytes.size());
            const size_t in_front = std::min(bytes.find_first_not_of(' '), bytes.size());
            const size_t behind = bytes.size() - (bytes.find_last_not_of(' ') + 1);
            blanks_[id] = {static_cast<uint16_t>(in_front), static_cast<uint16_t>(behind)};
        }
        for (size_t byte = 0; byte < 256; byte++) {
            dropped_[byte] = vocabulary.drops_bytes() && vocabulary.byte_id(static_cast<uint8_t>(byte)) == NONE;
            any_dropped_ |= dropped_[byte];
        }
    }

    // 0 for an id that is no entry.
    size_t bytes_of(uint32_t id) const { return id < bytes_.size() ? bytes_[id] : 0; }
    Blanks blanks_of(uint32_t id) const { return blanks_[id]; }
    // Bytes that are dropped stand in no token.
    bool holds_dropped(const uint8_t* p, const uint8_t* end) const {
        return any_dropped_ && std::any_of(p, end, [this](uint8_t byte) { return dropped_[byte]; });
    }
    size_t bytes() const { return bytes_.size() * (sizeof bytes_[0] + sizeof blanks_[0]); }

  private:
    std::vector<uint16_t> bytes_;
    std::vector<Blanks> blanks_;
    std::array<bool, 256> dropped_{};
    bool any_dropped_ = false;
};

}  // namespace lopt
