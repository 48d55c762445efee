// CLIP's pre-tokens.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "scan/contraction.hpp"
#include "scan/non_ascii_classes.hpp"
#include "text/ascii_masks.hpp"
#include "text/span.hpp"
#include "text/unicode.hpp"

namespace lopt {

// <\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
// What it leaves out is white space: each run of that is a step of the scan, and no pre-token. Of its matches ByteLevel's
// own pattern divides the two literals only, into three: the others are letters, a number, a contraction, or a run
// without letters and numbers, all of which that pattern takes whole.
template <class Masks = VectorMasks>
struct ClipScanner {
    static constexpr const char* name = "clip";

    static const uint8_t* next(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        const uint8_t* match = match_end(table, p, end);
        return match != nullptr ? match : table.skip(class_bit::space, p, end);
    }

    // End of the match of the pattern at p < end, nullptr before white space.
    static const uint8_t* match_end(const ClassTable& table, const uint8_t* p, const uint8_t* end) {
        using namespace class_bit;
        int length;
        const uint16_t first = table.at(p, end, length);
        if ((first & letter) != 0) return table.skip(letter, p + length, end);
        if ((first & number) != 0) return p + length;
        if ((first & space) != 0) return nullptr;
        if (const size_t literal = literal_length(p, end); literal != 0) return p + literal;
        if (*p == '\'') {
            const int contraction = lower_case_contraction_length(p, end);
            if (contraction != 0) return p + contraction;
        }
        return table.skip_without(letter | number | space, p + length, end);
    }

    // Appends the pre-tokens of the step [p, end).
    static void parts(const ClassTable& table, const uint8_t* p, const uint8_t* end, std::vector<Span>& out) {
        int length;
        if ((table.at(p, end, length) & class_bit::space) != 0) return;
        if (literal_length(p, end) == 0) return out.push_back({p, end});
        out.push_back({p, p + 2});
        out.push_back({p + 2, end - 2});
        out.push_back({end - 2, end});
    }

    static uint64_t starts(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        if (m.high != 0) return starts_beyond_ascii(table, p);
        return starts_in(p, m, m.letter, {});
    }

  private:
    // Apart, so that the step for ASCII stays small.
    [[gnu::noinline]]
    static uint64_t starts_beyond_ascii(const ClassTable& table, const uint8_t* p) {
        const AsciiMasks m = Masks::of(p);
        const NonAsciiClasses<Masks> high(table, p, m.high);
        return starts_in(p, m, m.letter | high.having(class_bit::letter), high.bounds());
    }

    [[gnu::always_inline]]
    static uint64_t starts_in(const uint8_t* p, const AsciiMasks& m, uint64_t letter, WindowBounds bounds) {
        const uint64_t other = ~(letter | m.digit | m.white);
        uint64_t starts = (letter & ~(letter << 1)) | m.digit | (other & ~(other << 1)) | (m.white & ~(m.white << 1));

        uint64_t apostrophes = m.apostrophe & starts & bounds.valid;
        while (apostrophes != 0) {
            const int at = __builtin_ctzll(apostrophes);
            apostrophes &= apostrophes - 1;
            if (at > 60 || (bounds.valid >> (at + 2) & 1) == 0) {
                bounds.end_below(uint64_t{2} << at);  // what follows decides whether this is a contraction
                break;
            }
            const int contraction = lower_case_contraction_length(p + at, p + 64);
            if (contraction == 0) continue;
            starts &= ~(uint64_t{2} << at);
            starts |= letter & (uint64_t{1} << (at + contraction));
        }
        // Where a literal may begin the window ends, and where it begins with one it knows nothing.
        if (const int at = literal_start(p); at < 64) bounds.end_below(uint64_t{2} << at);
        if (p[0] == '<' && p[1] == '|') return 0;
        return starts & bounds.valid & ~uint64_t{1};
    }

    // The first place of the 64 where a literal may begin, 64 if there is none.
    static int literal_start(const uint8_t* p) {
        for (int at = 0; at < 64; at++) {
            const void* found = std::memchr(p + at, '<', static_cast<size_t>(64 - at));
            if (found == nullptr) return 64;
            at = static_cast<int>(static_cast<const uint8_t*>(found) - p);
            if (at == 63 || p[at + 1] == '|') return at;
        }
        return 64;
    }
    static size_t literal_length(const uint8_t* p, const uint8_t* end) {
        const std::string_view text(reinterpret_cast<const char*>(p), static_cast<size_t>(end - p));
        for (const std::string_view literal : {"<|startoftext|>", "<|endoftext|>"})
            if (text.starts_with(literal)) return literal.size();
        return 0;
    }
};

}  // namespace lopt
