// Batches as arrays: the ids of each text, what a post-processor adds around them, and padding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "python/interpreter_lock.hpp"
#include "python/python_arguments.hpp"
#include "python/row_plan.hpp"
#include "text/alignment.hpp"

namespace lopt {

using Ids = HostArray<const int32_t>;
using RowOffsets = HostArray<const int64_t>;

// A copy of the row offsets of these ids; they begin with 0. Throws ValueError in the name of the function if they are not.
inline std::vector<int64_t> row_offsets_of(const Ids& ids, const RowOffsets& row_offsets, const char* function) {
    std::vector<int64_t> offsets(row_offsets.data(), row_offsets.data() + row_offsets.shape(0));
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<int64_t>(ids.shape(0)) || !std::is_sorted(offsets.begin(), offsets.end()))
        throw nb::value_error((std::string(function) + ": the row offsets are not those of the ids").c_str());
    return offsets;
}

// Adds the same ids before and after those of each text; returns all ids and the row offsets.
inline nb::tuple with_added_ids(const Ids& ids, const RowOffsets& row_offsets, const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
    const std::vector<int64_t> offsets = row_offsets_of(ids, row_offsets, "with_added_ids");
    const auto fits = [](int64_t id) { return id == static_cast<int32_t>(id); };
    if (!std::all_of(before.begin(), before.end(), fits) || !std::all_of(after.begin(), after.end(), fits))
        throw std::overflow_error("an id that the post-processor adds is above 2^31 - 1");
    const size_t added = before.size() + after.size();
    auto moved = allocated<int64_t>(offsets.size());
    for (size_t row = 0; row < offsets.size(); row++) moved[row] = offsets[row] + static_cast<int64_t>(row * added);
    auto all = written_array(static_cast<size_t>(moved[offsets.size() - 1]), [&](int32_t* out) {
        const auto add = [&out](const std::vector<int64_t>& some) {
            for (const int64_t id : some) *out++ = static_cast<int32_t>(id);
        };
        for (size_t row = 0; row + 1 < offsets.size(); row++) {
            add(before);
            out = std::copy(ids.data() + offsets[row], ids.data() + offsets[row + 1], out);
            add(after);
        }
    });
    return nb::make_tuple(std::move(all), array_over<int64_t, 1>(std::move(moved), {offsets.size()}));
}

// The columns of rows, one row after the other.
struct RowColumns {
    std::array<Allocated<int64_t>, 4> numbers;  // ids, type ids, special tokens mask, attention mask
    Allocated<Offset> offsets;                  // null if they are not wanted
    std::vector<size_t> begins{0};              // of each row, and the end of the last one
};

using TextOffsets = nb::ndarray<const int32_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

// Writes the rows; those shorter than `width` are padded.
inline RowColumns written_rows(const std::vector<PlannedRow>& rows, const Ids& ids, const std::vector<int64_t>& text_begins,
                               const std::optional<TextOffsets>& text_offsets, const RowPadding& padding) {
    const auto& [padded_length, multiple, side, padding_id, padding_type_id] = padding;
    const size_t width = padded_width(rows, padding);
    RowColumns columns;
    for (const PlannedRow& row : rows) {
        columns.begins.push_back(columns.begins.back() + std::max(row.length(), width));
        if (columns.begins.back() > SIZE_MAX >> 8 || width > SIZE_MAX >> 8) throw std::bad_alloc();
    }
    std::array<int64_t*, 4> out;
    for (size_t c = 0; c < out.size(); c++) out[c] = (columns.numbers[c] = allocated<int64_t>(columns.begins.back())).get();
    if (text_offsets) columns.offsets = allocated<Offset>(columns.begins.back());
    Offset* offsets = columns.offsets.get();
    const auto fill = [&](size_t count, const std::array<int64_t, 4>& values) {
        for (size_t c = 0; c < out.size(); c++) out[c] = std::fill_n(out[c], count, values[c]);
        if (offsets) offsets = std::fill_n(offsets, count, Offset{0, 0});
    };
    const InterpreterUnlocked unlocked;
    for (const PlannedRow& row : rows) {
        const auto& [pieces, overflow_type_ids, room] = *row.layout;
        const size_t missing = width - std::min(width, row.length());
        if (side == "left") fill(missing, {padding_id, padding_type_id, 1, 0});
        for (const auto& [text, id, type_id] : pieces) {
            if (!text) {
                fill(1, {id, type_id, 1, 1});
                continue;
            }
            const auto [begin, end] = row.ranges[*text];
            const size_t count = end - begin, first = static_cast<size_t>(text_begins[row.first_text + *text]) + begin;
            fill(count, {0, row.overflows[*text] ? overflow_type_ids->at(*text) : type_id, 0, 1});
            std::copy_n(ids.data() + first, count, out[0] - count);
            if (offsets && count) std::memcpy(offsets - count, text_offsets->data() + 2 * first, count * sizeof(Offset));
        }
        if (side != "left") fill(missing, {padding_id, padding_type_id, 1, 0});
    }
    return columns;
}

}  // namespace lopt
