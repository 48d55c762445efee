// Batches as arrays: the ids of each text, what a post-processor adds around them, and padding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>

#include "python/interpreter_lock.hpp"
#include "python/python_arguments.hpp"

namespace lopt {

using Ids = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RowOffsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

// An id and its type id.
using TypedId = std::pair<int64_t, int64_t>;

// Returns the ids, type ids, special tokens mask and attention mask, int64 [rows, width]. room: the largest number of ids
// of a text that are kept, the last ones if `keeps_end`. padding: on the right if `pads_right`.
inline nb::tuple padded_rows(const Ids& ids, const RowOffsets& row_offsets, size_t room, bool keeps_end, const std::vector<TypedId>& before,
                             const std::vector<TypedId>& after, int64_t type_id, size_t width, TypedId padding, bool pads_right) {
    const std::vector<int64_t> offsets = row_offsets_of(ids, row_offsets, "padded_rows");
    const size_t rows = offsets.size() - 1;
    if (width != 0 && rows > SIZE_MAX / sizeof(int64_t) / width) throw std::bad_alloc();
    std::array<Allocated<int64_t>, 4> columns;
    for (auto& column : columns) column = allocated<int64_t>(rows * width);
    {
        const InterpreterUnlocked unlocked;
        std::array<int64_t*, 4> out;
        for (size_t c = 0; c < out.size(); c++) out[c] = columns[c].get();
        const auto fill = [&out](size_t count, const std::array<int64_t, 4>& values) {
            for (size_t c = 0; c < out.size(); c++) out[c] = std::fill_n(out[c], count, values[c]);
        };
        for (size_t row = 0; row < rows; row++) {
            const int32_t *first = ids.data() + offsets[row], *last = ids.data() + offsets[row + 1];
            const auto length = static_cast<size_t>(last - first), kept = std::min(length, room);
            if (before.size() + after.size() > width || kept > width - before.size() - after.size())
                throw std::invalid_argument("padded_rows: a row is longer than the width");
            const size_t missing = width - before.size() - kept - after.size();
            if (!pads_right) fill(missing, {padding.first, padding.second, 1, 0});
            for (const auto& [id, type] : before) fill(1, {id, type, 1, 1});
            if (keeps_end) first = last - kept;
            int64_t* const text = out[0];
            fill(kept, {0, type_id, 0, 1});
            std::copy_n(first, kept, text);
            for (const auto& [id, type] : after) fill(1, {id, type, 1, 1});
            if (pads_right) fill(missing, {padding.first, padding.second, 1, 0});
        }
    }
    const auto array = [&](size_t c) { return array_over<int64_t, 2>(std::move(columns[c]), {rows, width}); };
    return nb::make_tuple(array(0), array(1), array(2), array(3));
}

}  // namespace lopt
