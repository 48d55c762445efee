// Ids are those of the naive model, and the same in chunks, by several threads, and with what earlier texts began with.
#include "checks.hpp"

namespace lopt::fuzz {
namespace {

template <class Core>
void check(const Tokenizer& tokenizer, const Pair<Core>& cores, Input& in) {
    const uint8_t how = in.byte();
    const bool split_special = how & 1, with_threads = wants_threads(how), repeat = how & 4;
    const size_t chosen = 1 + in.number() % 700, threads = 2 + in.below(3);
    const PythonText owner(in.text());
    const Characters text = owner.characters();
    const size_t chunk = part_length(chosen, text.length);
    typename Core::Borrowed space(*cores.plain);
    const auto ids = ids_of(*cores.plain, text, {1, 0, split_special}, *space);
    if constexpr (std::is_same_v<Core, BytePairCore>)
        if (ids && (text.length <= 64 || (how & 2 && text.length <= 600))) CHECK(naive_ids(*cores.plain, *tokenizer.naive, space->segments) == *ids);
    CHECK(ids_of(*cores.plain, text, {1, chunk, split_special}) == ids);
    if (with_threads) CHECK(ids_of(*cores.plain, text, {threads, chunk, split_special}) == ids);
    const EncodeOptions recalling{with_threads ? threads : 1, how & 8 ? chunk : 0, split_special, false, true};
    CHECK(ids_of(*cores.recalling, text, recalling) == ids);
    if (!repeat) return;
    CHECK(ids_of(*cores.recalling, text, recalling) == ids);
    const Characters beginning = text.part(0, text.length - text.length / 5);
    CHECK(ids_of(*cores.recalling, beginning, recalling) == ids_of(*cores.plain, beginning, {1, 0, split_special}));
}

}  // namespace
}  // namespace lopt::fuzz

#include "entry.hpp"
