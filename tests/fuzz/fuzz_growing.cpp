// Texts divided at seams and at final places: parts join to the whole, and counts are lengths, also those of any part of a text.
#include "checks.hpp"
#include "growing/final_place.hpp"
#include "growing/growing.hpp"
#include "growing/unigram_part.hpp"

namespace lopt::fuzz {
namespace {

template <class Core>
std::optional<Ids> ids_of_part(const Core& core, const Characters& text, size_t from, size_t to, bool inside, bool split_special) {
    EncodeOptions options{1, 0, split_special};
    options.inside = inside;
    return ids_of(core, text.part(from, to), options);
}

template <class Core>
void check_word(const Core& core, const Characters& text, size_t step, bool inside, bool split_special) {
    UnigramPart<Core> part(core, inside, split_special);
    for (size_t at = 0; at < text.length; at += step) {
        const size_t end = std::min(at + step, text.length);
        try {
            if (!part.append(text.part(at, end))) return;
        } catch (const NeedsReference&) {
            return;
        }
        const auto ids = ids_of_part(core, text, 0, end, inside, split_special);
        CHECK(ids && ids->size() == part.count());
        IdBuffer grown;
        part.ids(grown);
        CHECK(Ids(grown.data(), grown.data() + grown.size()) == *ids);
    }
}

// What the beginning of a text says is true of the whole text, unless that undoes it.
template <class Core>
void check_final_place(const Core& core, const Characters& text, size_t to, bool inside, bool split_special, size_t long_word,
                       typename Core::Workspace& space) {
    const OpenRow<Core> row(core, text.part(0, to));
    const auto place = last_final_place(core, text.part(0, to), row, inside, split_special, space, long_word);
    if (!place || (row.is_open() && row.after(text.part(to, text.length)) == RowAfter::undone)) return;
    CHECK(place->at < to);
    const auto whole = ids_of_part(core, text, 0, text.length, inside, split_special);
    auto joined = ids_of_part(core, text, 0, to, inside, split_special);
    EncodeOptions options{1, 0, split_special};
    options.inside = place->inside;
    auto code_points = code_points_of(place->marks);
    for (size_t at = place->at; at < text.length; at++) code_points.push_back(text[at]);
    const PythonText left(code_points);
    const auto rest = ids_of(core, left.characters(), options);
    if (!whole || !joined || !rest) return;
    CHECK(place->count <= joined->size());
    joined->resize(place->count);
    joined->insert(joined->end(), rest->begin(), rest->end());
    CHECK(joined == whole);
}

template <class Core>
void check(const Tokenizer&, const Pair<Core>& cores, Input& in) {
    const uint8_t how = in.byte();
    const bool split_special = how & 1;
    const size_t limit = in.number(), a = in.number(), b = in.number(), chosen = 1 + in.below(200);
    const PythonText owner(in.text());
    const Characters text = owner.characters();
    const size_t step = part_length(chosen, text.length);
    const Core& core = *cores.plain;
    const auto ids = ids_of(core, text, {1, 0, split_special});
    if (!ids) return;
    typename Core::Borrowed space(core);
    CHECK(count_ids(core, text, 0, text.length, false, split_special, SIZE_MAX, *space) == ids->size());
    const size_t least = limit % (ids->size() + 2), counted = count_ids(core, text, 0, text.length, false, split_special, least, *space);
    CHECK(counted == ids->size() || (counted > least && ids->size() > least));
    IdBuffer first;
    first_ids(core, text, least, {1, 0, split_special}, *space, first);
    CHECK(Ids(first.data(), first.data() + first.size()) == Ids(ids->begin(), ids->begin() + static_cast<ptrdiff_t>(std::min(least, ids->size()))));

    // Parts from seam to seam, as a text that grows is encoded.
    Ids joined;
    Parts parts(core.boundaries(), text, 0, text.length, false, how & 2);
    while (!parts.done()) {
        const auto part = parts.next(step);
        const auto own = ids_of_part(core, text, part.begin, part.end, part.inside, split_special);
        CHECK(own.has_value());
        joined.insert(joined.end(), own->begin(), own->end());
    }
    CHECK(joined == *ids);

    const size_t x = a % (text.length + 1), y = b % (text.length + 1), from = std::min(x, y), to = std::max(x, y);
    const auto of_part = ids_of_part(core, text, from, to, false, split_special);
    if (of_part) {
        const Intervals<Core> intervals(core, text, split_special, *space);
        CHECK(intervals.count(text, from, to, *space) == of_part->size());
    }
    // A seam of the text that ends at `to` is one of the whole.
    if (const size_t seam = core.boundaries().last_seam(text, 0, to)) {
        auto both = ids_of_part(core, text, 0, seam, false, split_special);
        const auto rest = ids_of_part(core, text, seam, text.length, true, split_special);
        CHECK(both && rest && core.boundaries().is_seam(text, seam, text.length));
        both->insert(both->end(), rest->begin(), rest->end());
        CHECK(both == ids);
    }
    for (const bool inside : {false, true}) {
        if constexpr (HasLattice<Core>) check_word(core, text, step, inside, split_special);
        check_final_place(core, text, to, inside, split_special, 1 + (how >> 2), *space);
    }
}

}  // namespace
}  // namespace lopt::fuzz

#include "entry.hpp"
