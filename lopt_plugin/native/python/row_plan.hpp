// Which ids of its texts each row of a batch has, by the rules of the reference library's `truncate_encodings`,
// `Encoding.truncate` and `Encoding.merge_with`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/needs_reference.hpp"

namespace lopt {

// A row has one text, and an empty second one, or two.
template <class Value>
using OfTexts = std::array<Value, 2>;

// The number of a text, if it is one; otherwise an id; its type id.
using RowPiece = std::tuple<std::optional<size_t>, int64_t, int64_t>;
// How a post-processor arranges rows: the pieces; the type id of each text in overflowing parts, unless these differ in other
// respects too; and how many ids of the texts there is room for.
using RowLayout = std::tuple<std::vector<RowPiece>, std::optional<std::vector<int64_t>>, size_t>;
// strategy, keeps_end, stride, overflow; see EncodeRequest.
using Truncation = std::tuple<std::string, bool, size_t, bool>;
// length, multiple, side, id, type_id; see Padding.
using RowPadding = std::tuple<std::optional<size_t>, std::optional<size_t>, std::string, int64_t, int64_t>;

// Ids [begin, end) of a text.
struct IdRange {
    size_t begin = 0, end = 0;
};

// sample: the given row that it comes from. first_text: its first text in the batch. overflows: whether the row has a part of
// the text that truncation removed.
struct PlannedRow {
    const RowLayout* layout;
    size_t sample, first_text;
    OfTexts<IdRange> ranges{};
    OfTexts<bool> overflows{};

    size_t length() const {
        size_t all = 0;
        for (const auto& [text, id, type_id] : std::get<0>(*layout)) all += text ? ranges.at(*text).end - ranges[*text].begin : 1;
        return all;
    }
};

// How many ids of each text are kept.
inline OfTexts<size_t> kept_of(OfTexts<size_t> lengths, size_t room, const std::string& strategy) {
    const size_t all = lengths[0] + lengths[1];
    if (all <= room) return lengths;
    if (strategy == "longest_first") {
        // The longer one is cut down to the shorter one first, then both by turns; the second keeps the odd id if the
        // first is not longer.
        size_t less = std::min(lengths[0], lengths[1]), more = less > room ? less : std::max(less, room - less);
        if (less + more > room) {
            less = room / 2;
            more = less + room % 2;
        }
        return lengths[0] > lengths[1] ? OfTexts<size_t>{more, less} : OfTexts<size_t>{less, more};
    }
    size_t& cut = lengths[strategy == "only_first" ? 0 : 1];
    if (cut <= all - room) throw NeedsReference("the text to be cut is too short for that");
    cut -= all - room;
    return lengths;
}

// The first part of a text of `length` ids, of `kept` ids, then those that overflow. Neighbours share `stride` ids; with
// `keeps_end` they go from the end of the text to its beginning. If nothing is kept, the whole text overflows.
inline std::vector<IdRange> parts_of_text(size_t length, size_t kept, const Truncation& truncation) {
    const auto& [strategy, keeps_end, stride, overflow] = truncation;
    if (length <= kept) return {{0, length}};
    if (kept == 0) return overflow ? std::vector<IdRange>{{0, 0}, {0, length}} : std::vector<IdRange>{{0, 0}};
    if (kept <= stride) throw NeedsReference("stride is not smaller than what is kept of a text");
    std::vector<IdRange> parts;
    for (size_t begin = 0;; begin += kept - stride) {
        const size_t end = std::min(begin + kept, length);
        parts.push_back(keeps_end ? IdRange{length - end, length - begin} : IdRange{begin, end});
        if (end == length || !overflow) return parts;
    }
}

// Adds the row, and those of its parts that overflow, in the reference library's order.
inline void plan_row(PlannedRow row, const OfTexts<size_t>& lengths, const Truncation& truncation, std::vector<PlannedRow>& rows) {
    const auto& [pieces, overflow_type_ids, room] = *row.layout;
    const OfTexts<size_t> kept = kept_of(lengths, room, std::get<0>(truncation));
    const OfTexts<std::vector<IdRange>> parts{parts_of_text(lengths[0], kept[0], truncation), parts_of_text(lengths[1], kept[1], truncation)};
    const auto add = [&](const OfTexts<size_t>& numbers) {
        row.ranges = {parts[0][numbers[0]], parts[1][numbers[1]]};
        row.overflows = {numbers[0] > 0, numbers[1] > 0};
        rows.push_back(row);
    };
    add({0, 0});
    if (parts[0].size() * parts[1].size() == 1) return;
    if (!overflow_type_ids) throw NeedsReference("a post-processor that treats truncated parts differently");
    // The text that comes first in the row.
    size_t first = 0;
    for (size_t i = pieces.size(); i-- > 0;) first = std::get<0>(pieces[i]).value_or(first);
    const size_t of_first = parts.at(first).size(), of_second = parts[1 - first].size();
    // Its own part of the row comes last.
    for (size_t i = 1; i <= of_first; i++)
        for (size_t j = i == of_first ? 1 : 0; j < of_second; j++) add(first == 0 ? OfTexts<size_t>{i % of_first, j} : OfTexts<size_t>{j, i % of_first});
}

// pairs: for each row, whether it has two texts. layouts: of one text, and of two if there are such rows. text_begins: where
// the ids of each text begin, and the end of the last one.
inline std::vector<PlannedRow> planned_rows(const std::vector<int64_t>& text_begins, const std::vector<bool>& pairs, const std::vector<RowLayout>& layouts,
                                            const Truncation& truncation) {
    if (pairs.size() + static_cast<size_t>(std::count(pairs.begin(), pairs.end(), true)) != text_begins.size() - 1)
        throw std::invalid_argument("not as many texts as the rows have");
    const auto length = [&](size_t text) { return static_cast<size_t>(text_begins[text + 1] - text_begins[text]); };
    std::vector<PlannedRow> rows;
    size_t text = 0;
    for (size_t sample = 0; sample < pairs.size(); sample++) {
        plan_row({&layouts.at(pairs[sample]), sample, text}, {length(text), pairs[sample] ? length(text + 1) : 0}, truncation, rows);
        text += pairs[sample] ? 2 : 1;
    }
    return rows;
}

// Shorter rows are padded to this.
inline size_t padded_width(const std::vector<PlannedRow>& rows, const RowPadding& padding) {
    size_t width = std::get<0>(padding).value_or(0);
    for (const PlannedRow& row : rows)
        if (!std::get<0>(padding) && row.overflows == OfTexts<bool>{}) width = std::max(width, row.length());
    const size_t step = std::max<size_t>(std::get<1>(padding).value_or(1), 1);
    return width % step == 0 ? width : width - width % step + step;
}

}  // namespace lopt
