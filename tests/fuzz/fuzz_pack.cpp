// Packed rows hold the bytes of each text between its added tokens, whatever threads write them.
#include <numeric>

#include "checks.hpp"
#include "core/packed_rows.hpp"

namespace lopt::fuzz {
namespace {

using Separators = std::vector<std::pair<int32_t, int32_t>>;

struct Packed {
    std::string bytes;
    Separators separators;
    std::vector<int32_t> row_ends;
    bool operator==(const Packed&) const = default;
};

template <class Core>
std::optional<Packed> packed(const Core& core, const std::vector<Characters>& rows, const PackedRows::Around& around, bool split_special, size_t threads, size_t part) {
    try {
        const Packing packing(rows, core.pool(), threads, part, core.method().page_marks(), [](uint32_t) { return true; });
        std::vector<size_t> all(rows.size());
        std::iota(all.begin(), all.end(), 0);
        size_t room = 0;
        for (const size_t row : all) room += around.before() + packing.bytes(row) + around.after();
        std::vector<uint8_t> out(room);
        const auto written = packing.write(all, around.before(), around.after(), out.data(), room, threads, core.segmenter().longest_token(), [&](const uint8_t* begin, const uint8_t* end) {
            return core.segmenter().any_added_token_in(begin, end);
        });
        const PackedRows made(out.data(), written, around, core.pool(), threads, [&](const uint8_t* begin, const uint8_t* end, auto& segments) {
            core.segmenter().find_added_tokens(begin, end, split_special, segments);
        });
        Packed result{std::string(out.begin(), out.begin() + static_cast<ptrdiff_t>(made.bytes)), {}, made.row_ends};
        for (size_t i = 0; i < made.ids.size(); i++) result.separators.emplace_back(made.positions[i], made.ids[i]);
        return result;
    } catch (const NeedsReference&) {
        return std::nullopt;
    }
}

template <class Core>
std::optional<Packed> naive(const Core& core, const std::vector<Characters>& rows, const PackedRows::Around& around, bool split_special) {
    Packed made;
    const auto separate = [&](int32_t id) {
        made.separators.emplace_back(static_cast<int32_t>(made.bytes.size()), id);
        made.bytes.push_back(static_cast<char>(Packing::SEPARATOR));
    };
    for (const Characters& row : rows) {
        std::string utf8;
        for (size_t i = 0; i < row.length; i++) {
            if (is_surrogate(row[i])) return std::nullopt;
            append_character(row[i], utf8);
        }
        for (const int32_t id : around.prefix) separate(id);
        const auto* begin = reinterpret_cast<const uint8_t*>(utf8.data());
        Segments<Core> segments;
        core.segmenter().find_added_tokens(begin, begin + utf8.size(), split_special, segments);
        const uint8_t* at = begin;
        for (const Segment& segment : segments) {
            CHECK(segment.begin <= at && segment.begin < segment.end);
            if (segment.begin < at) return std::nullopt;  // white space of two tokens
            at = segment.end;
            if (segment.token == NONE) made.bytes.append(segment.begin, segment.end);
            else separate(static_cast<int32_t>(segment.token));
        }
        CHECK(at == begin + utf8.size());
        if (around.suffix.empty()) separate(PackedRows::NO_ID);
        for (const int32_t id : around.suffix) separate(id);
        made.row_ends.push_back(static_cast<int32_t>(made.separators.size()) - 1);
    }
    return made;
}

template <class Core>
void check(const Tokenizer&, const Pair<Core>& cores, Input& in) {
    const uint8_t how = in.byte();
    const bool split_special = how & 1;
    const size_t threads = wants_threads(how) ? 3 : 1, part = 1 + in.number() % 300, rows_wanted = in.below(6);
    const PackedRows::Around around{std::vector<int32_t>((how >> 1) & 3, 7), std::vector<int32_t>((how >> 3) & 3, 9)};
    std::vector<size_t> cuts;
    for (size_t i = 0; i < rows_wanted; i++) cuts.push_back(in.number());
    const auto text = in.text();
    std::vector<PythonText> owners;
    for (size_t& cut : cuts) cut %= text.size() + 1;
    cuts.push_back(text.size());
    std::sort(cuts.begin(), cuts.end());
    size_t from = 0;
    for (const size_t cut : cuts) {
        owners.emplace_back(std::vector<uint32_t>(text.begin() + static_cast<ptrdiff_t>(from), text.begin() + static_cast<ptrdiff_t>(cut)));
        from = cut;
    }
    std::vector<Characters> rows;
    for (const auto& owner : owners) rows.push_back(owner.characters());
    const auto expected = naive(*cores.plain, rows, around, split_special);
    CHECK(packed(*cores.plain, rows, around, split_special, threads, part) == expected);
}

}  // namespace
}  // namespace lopt::fuzz

#include "entry.hpp"
