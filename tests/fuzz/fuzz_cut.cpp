// The longest prefix with so many ids is the one that trying them all from the longest down finds.
#include "checks.hpp"
#include "growing/longest_prefix.hpp"

namespace lopt::fuzz {
namespace {

template <class Core>
void check(const Tokenizer&, const Pair<Core>& cores, Input& in) {
    const bool split_special = in.flag();
    const size_t limit = in.number(), long_word = 1 + in.below(100);
    const PythonText owner(in.text());
    const Characters text = owner.characters();
    const Core& core = *cores.plain;
    const auto ids = ids_of(core, text, {1, 0, split_special});
    if (!ids) return;
    constexpr size_t TRIED = 12;  // prefixes; a longer way down is checked in steps
    const size_t most = limit % (ids->size() + 2);
    typename Core::Borrowed space(core);
    size_t end;
    try {
        end = longest_prefix(core, text, most, split_special, *space, long_word);
    } catch (const NeedsReference&) {
        return;
    }
    const auto count = [&](size_t characters) {
        const auto own = ids_of(core, text.part(0, characters), {1, 0, split_special});
        return own ? own->size() : SIZE_MAX;
    };
    CHECK(end <= text.length);
    CHECK(count(end) <= most);
    const size_t step = 1 + (text.length - end) / TRIED;
    for (size_t longer = end + 1; longer <= text.length; longer += longer < end + TRIED ? 1 : step) CHECK(count(longer) > most);
}

}  // namespace
}  // namespace lopt::fuzz

#include "entry.hpp"
