// Divides packed texts at their added tokens, into the rows that the GPU route sends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/buffer.hpp"
#include "base/parallel_for.hpp"
#include "base/thread_pool.hpp"
#include "core/pack.hpp"

namespace lopt {

// One Packing::SEPARATOR byte stands for each added token of a text, for each id that precedes or follows every text, and
// for the end of a text if no ids follow it.
struct PackedRows {
    static constexpr int32_t NO_ID = -2;

    // Ids before and after each text.
    struct Around {
        std::vector<int32_t> prefix, suffix;
        size_t before() const { return prefix.size(); }
        size_t after() const { return std::max<size_t>(suffix.size(), 1); }
    };

    // out: what a Packing wrote, with the room around each text that `around` needs; it has `found` the texts that may have
    // added tokens. find: appends the segments of a text, from `begin` to `end`, to a vector; several threads call it.
    template <class Find>
    PackedRows(uint8_t* out, const Packing::Written& written, const Around& around, ThreadPool& pool, size_t threads, Find&& find) {
        const std::vector<size_t>& offsets = written.offsets;
        if (offsets.back() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
            throw NeedsReference("the texts are longer than a batch may be");
        }
        const size_t rows = offsets.size() - 1;
        const auto text_of = [&](size_t row) {
            return std::pair{out + offsets[row] + around.before(), out + offsets[row + 1] - around.after()};
        };
        const std::vector<size_t> firsts = groups_of(rows, SHARE_BYTES, [&](size_t row) { return offsets[row + 1] - offsets[row]; });
        std::vector<std::vector<Found>> found(firsts.size() - 1);
        pool.run(found.size(), threads, [&](size_t share) {
            Buffer<Segment> segments;
            for (size_t row = firsts[share]; row < firsts[share + 1]; row++) {
                if (!written.found[row]) continue;
                const auto [begin, end] = text_of(row);
                segments.clear();
                find(begin, end, segments);
                const uint8_t* after = begin;
                for (const Segment& segment : segments) {
                    // A token that begins in white space that the previous token stripped (rstrip) would claim part of it
                    // again.
                    if (segment.begin < after) throw NeedsReference("added tokens that share white space");
                    after = segment.end;
                    if (segment.token != NONE) found[share].push_back({row, segment});
                }
            }
        });
        positions.reserve(rows * (around.before() + around.after()));
        ids.reserve(positions.capacity());
        row_ends.reserve(rows);
        uint8_t* to = out;  // never overtakes the read position
        for (size_t share = 0; share < found.size(); share++) {
            auto token = found[share].begin();
            for (size_t row = firsts[share]; row < firsts[share + 1]; row++) {
                const auto [begin, end] = text_of(row);
                for (const int32_t id : around.prefix) separate(out, to, id);
                const uint8_t* from = begin;
                for (; token != found[share].end() && token->row == row; ++token) {
                    move(from, token->segment.begin, to);
                    from = token->segment.end;
                    separate(out, to, static_cast<int32_t>(token->segment.token));
                }
                move(from, end, to);
                if (around.suffix.empty()) separate(out, to, NO_ID);
                for (const int32_t id : around.suffix) separate(out, to, id);
                row_ends.push_back(static_cast<int32_t>(ids.size()) - 1);
            }
        }
        bytes = static_cast<size_t>(to - out);
    }

    size_t bytes = 0;
    // Of the separators: positions in the buffer, and ids; NO_ID for those that only end a text.
    std::vector<int32_t> positions, ids;
    std::vector<int32_t> row_ends;  // indexes of the separators that end a row

  private:
    static constexpr size_t SHARE_BYTES = 1 << 16;

    struct Found {
        size_t row;
        Segment segment;
    };

    void separate(const uint8_t* out, uint8_t*& to, int32_t id) {
        positions.push_back(static_cast<int32_t>(to - out));
        ids.push_back(id);
        *to++ = Packing::SEPARATOR;
    }
    static void move(const uint8_t* from, const uint8_t* end, uint8_t*& to) {
        const size_t size = static_cast<size_t>(end - from);
        if (from != to) std::memmove(to, from, size);
        to += size;
    }
};

}  // namespace lopt
