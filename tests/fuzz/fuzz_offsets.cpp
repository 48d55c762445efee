// Offsets lie in the text, in order, say where the bytes of an id stand, and do not depend on threads or on a limit of ids.
#include <cstring>

#include "checks.hpp"

namespace lopt::fuzz {
namespace {

bool same(const Offset& a, const Offset& b) { return a.begin == b.begin && a.end == b.end; }

template <class Core>
std::optional<std::vector<Offset>> offsets_of(const Core& core, const typename Core::Workspace& space, size_t threads, size_t count, const Trim& trim) {
    std::vector<Offset> offsets(count, Offset{-1, -1});
    try {
        core.offsets(space, threads, count, trim, offsets.data());
    } catch (const NeedsReference&) {
        return std::nullopt;
    }
    return offsets;
}

// Where the bytes of each id stand, for texts that the normalizer leaves alone; nothing where the naive model does not know.
std::optional<std::vector<Offset>> naive_offsets(const Tokenizer& tokenizer, const Segments<BytePairCore>& segments, const Ids& ids, const Text& text) {
    std::vector<Offset> offsets;
    const auto characters = [&](const uint8_t* p) { return static_cast<int32_t>(count_characters(text.begin, p)); };
    size_t at = 0;
    for (const Segment& segment : segments) {
        if (segment.token != NONE) {
            offsets.push_back({characters(segment.begin), characters(segment.end)});
            at++;
            continue;
        }
        for (const uint8_t* p = segment.begin; p < segment.end; at++) {
            if (at == ids.size()) return std::nullopt;
            const auto& bytes = tokenizer.naive->bytes(ids[at]);
            if (!bytes || bytes->size() > static_cast<size_t>(segment.end - p) || std::memcmp(bytes->data(), p, bytes->size())) return std::nullopt;
            const uint8_t* const end = p + bytes->size();
            offsets.push_back({characters(p) - is_continuation(*p), characters(end)});
            p = end;
        }
    }
    return at == ids.size() ? std::optional(offsets) : std::nullopt;
}

template <class Core>
void check(const Tokenizer& tokenizer, const Pair<Core>& cores, Input& in) {
    const uint8_t how = in.byte();
    const bool split_special = how & 1, with_threads = wants_threads(how);
    const size_t chosen = 1 + in.number() % 700, limit = in.number();
    Trim trim{bool(how & 2), bool(how & 4), 0};
    const PythonText owner(in.text());
    const Characters text = owner.characters();
    const size_t chunk = part_length(chosen, text.length);
    const Core& core = *cores.plain;
    typename Core::Borrowed space(core);
    const auto without = ids_of(core, text, {1, 0, split_special});
    const auto ids = ids_of(core, text, {1, 0, split_special, true}, *space);
    if (!ids) return;  // the place of a character may not be known where the character is
    CHECK(ids == without);
    const auto offsets = offsets_of(core, *space, 1, ids->size(), trim);
    if (offsets) {
        Offset before{0, 0};
        for (size_t i = 0; i < offsets->size(); i++) {
            const Offset& offset = (*offsets)[i];
            CHECK(0 <= offset.begin && offset.begin <= offset.end && static_cast<size_t>(offset.end) <= text.length);
            // White space that an added token has taken may contain further ones.
            const bool after_token = i > 0 && tokenizer.added.contains((*ids)[i - 1]);
            CHECK(trim.white_space || (before.begin <= offset.begin && (after_token || before.end <= offset.end)));
            before = offset;
        }
        if constexpr (std::is_same_v<Core, BytePairCore>) {
            const auto naive = !trim.white_space && space->origins.empty() ? naive_offsets(tokenizer, space->segments, *ids, space->text) : std::nullopt;
            if (naive) CHECK(std::equal(naive->begin(), naive->end(), offsets->begin(), offsets->end(), same));
        }
        // The first of them alone; with `first` set, those before it do not matter.
        const size_t count = limit % (ids->size() + 1);
        const auto some = offsets_of(core, *space, 1, count, trim);
        CHECK(some && std::equal(some->begin(), some->end(), offsets->begin(), same));
        trim.first = count;
        const auto later = offsets_of(core, *space, 1, ids->size(), trim);
        CHECK(later.has_value());
        for (size_t i = 0; i < later->size(); i++) CHECK((*later)[i].begin >= 0 && static_cast<size_t>((*later)[i].end) <= text.length);
        trim.first = 0;
    }
    const size_t threads = with_threads ? 3 : 1;
    CHECK(ids_of(core, text, {threads, chunk, split_special, true}, *space) == ids);
    const auto divided = offsets_of(core, *space, with_threads ? 3 : 1, ids->size(), trim);
    CHECK(divided.has_value() == offsets.has_value());
    if (offsets) CHECK(std::equal(divided->begin(), divided->end(), offsets->begin(), offsets->end(), same));
}

}  // namespace
}  // namespace lopt::fuzz

#include "entry.hpp"
