// Descriptions of tokenizers: what is not refused gives the ids of the naive model. Vocabulary, merges, added tokens, scanner
// and options are the input's; the character classes are those of a real tokenizer.
#include "checks.hpp"
#include "bpe/model_json.hpp"

namespace lopt::fuzz {
namespace {

std::string stand_in(uint8_t byte) {
    static const NaiveModel names({}, {}, {});
    return names.spelled(std::string_view(reinterpret_cast<const char*>(&byte), 1));
}

template <class Of>
const auto& one_of(Input& in, const Of& choices) { return choices[in.below(std::size(choices))]; }

constexpr const char* SCANNERS[] = {"whole", "gpt2", "qwen2", "qwen3_5", "seed", "cl100k", "cl100k_tiktoken", "o200k", "tekken", "kimi", "deepseek_v3", "falcon", "clip", "",
                                    "no such"};
constexpr const char* MATCHERS[] = {"numeric", "punctuation", "three_digits", "gpt2", "deepseek_numbers", "clip", "cl100k"};
constexpr const char* BEHAVIORS[] = {"isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"};
constexpr const char* CHARACTERS[] = {"a", "b", "é", "中", "丁", "😀", "▁", "\n", "0", "<0x0A>", "<0x61>", "<unk>", "̃", ""};

// Of bytes or of characters: at first what a vocabulary must have, then what merges make of what there is, by the input.
void describe_names(Input& in, bool of_characters, Names& names) {
    uint32_t id = in.below(3);
    const auto add = [&](std::string name) { names.entries.emplace_back(std::move(name), id++); };
    const uint8_t flaws = in.byte();  // rare ones
    if (of_characters) {
        add("<unk>");
        add("▁");
        for (size_t left = in.below(24); left > 0; left--) add(one_of(in, CHARACTERS));
        if (in.flag())
            for (unsigned byte = flaws == 1; byte < 256; byte++) {
                char name[8];
                std::snprintf(name, sizeof name, "<0x%02X>", byte);
                add(name);
            }
    } else {
        for (unsigned byte = flaws == 1; byte < 256; byte++) add(stand_in(static_cast<uint8_t>(byte)));
        if (flaws & 2)
            for (unsigned byte = 0; byte < 256; byte++) add(stand_in(static_cast<uint8_t>(byte)) + "</w>");
    }
    for (size_t left = in.below(48); left > 0 && !in.empty(); left--) {
        // Neighbours of few: that names grow.
        const size_t recent = std::min<size_t>(names.entries.size(), 16), a = in.number(), b = in.number();
        const auto name = [&](size_t n) {
            const size_t count = names.entries.size();
            if (n % 4 == 0) return names.entries[count - 1 - n / 4 % recent].first;
            if (n % 4 == 1 && !of_characters) return stand_in(static_cast<uint8_t>("abc \n1'\xE4\xB8\x80"[n / 4 % 10]));
            return names.entries[n / 4 % count].first;
        };
        const std::string left_name = name(a), right_name = name(b), product = left_name + right_name;
        const uint8_t how = in.byte();
        const bool known = std::any_of(names.entries.begin(), names.entries.end(), [&](const auto& entry) { return entry.first == product; });
        if (!known && how != 255) add(product);          // otherwise the result of this merge is not in the vocabulary
        if (how % 16 != 15) names.pairs.emplace_back(left_name, right_name);  // else an entry that no merge makes
        if (how % 16 == 14 && names.pairs.size() > 1) std::swap(names.pairs.back(), names.pairs[names.pairs.size() / 2]);
        if (how % 64 == 13) id += how;
        if (how == 12) id = names.entries.front().second;  // an id of two entries
        if (how == 11) id = MAX_ID;
        if (product.size() > 400) break;
    }
    std::sort(names.entries.begin(), names.entries.end());  // a dictionary of Python's has each name once
    names.entries.erase(std::unique(names.entries.begin(), names.entries.end(), [](const auto& a, const auto& b) { return a.first == b.first; }), names.entries.end());
}

AddedToken added_token(Input& in, const Names& names, uint32_t id) {
    constexpr const char* CONTENTS[] = {"<s>", "<|end|>", "a", "\n", "\n\n", " ", "  ", "ab", "é", "中", "<s", "s>", "▁", "aa", "<|", "\xE2\x80\xA8x"};
    std::string content = in.below(4) ? one_of(in, CONTENTS) : names.entries[in.number() % names.entries.size()].first;
    if (content.empty()) content = "<s>";
    const uint8_t flags = in.byte();
    return {std::move(content), id, bool(flags & 1), bool(flags & 2), bool(flags & 4), bool(flags & 8)};
}

BytePairDescription described(Input& in) {
    BytePairDescription made;
    const uint8_t kind = in.byte();
    const bool of_characters = kind % 4 == 3;
    describe_names(in, of_characters, made.names);
    made.ignore_merges = !of_characters && (kind & 4);
    if (!of_characters && kind % 8 == 1) made.suffix = "</w>";
    if (!of_characters && kind % 16 == 2) made.dropped_bytes = "\x01\x02\xF0\xF1\xF2\xF3\xF4";
    made.scanner = of_characters ? (kind & 8 ? CutScanner::name : CutScanner::name_before_spaces) : one_of(in, SCANNERS);
    if (of_characters) {
        made.unknown = UnknownOptions{kind & 16 ? std::nullopt : std::optional<std::string>("<unk>"), bool(kind & 32), bool(kind & 64)};
        constexpr PrependScheme SCHEMES[] = {PrependScheme::never, PrependScheme::first, PrependScheme::always};
        const bool in_normalizer = in.flag();
        made.metaspace = Metaspace{in_normalizer, in_normalizer && in.flag(), in_normalizer ? PrependScheme::never : one_of(in, SCHEMES)};
    } else {
        for (size_t left = in.below(5) / 2; left > 0; left--) {
            const char *matcher = one_of(in, MATCHERS), *behavior = one_of(in, BEHAVIORS);
            const bool invert = in.flag();
            made.refinements.push_back(make_refinement(matcher, behavior, invert, in.flag()));
        }
        made.add_prefix_space = kind & 128;
    }
    uint32_t id = 5000;
    for (size_t left = in.below(5); left > 0; left--) {
        AddedToken token = added_token(in, made.names, id++);
        (in.flag() ? made.normalized : made.raw).push_back(std::move(token));
    }
    return made;
}

void check_merges_json(Input& in) {
    std::string json;
    for (const uint32_t c : in.text()) append_character(c, json);
    std::string names;
    try {
        ModelJson parsed(json);
        for (const auto& [left, right] : parsed.merges()) names.append(left).append(right);
    } catch (const std::invalid_argument&) {
        return;
    }
    CHECK(names.size() <= json.size());
}

void check(Input& in) {
    if (in.below(64) == 63) return check_merges_json(in);
    static const auto classes = tokenizers().front().classes;
    std::unique_ptr<BytePairCore> core;
    std::optional<BytePairDescription> description;
    try {
        description = described(in);
        core = description->core(classes, {});
    } catch (const std::invalid_argument&) {
        return;
    }
    const NaiveModel naive = description->naive();
    CHECK(naive.complete());
    const size_t chunk = 1 + in.number() % 200;
    const PythonText owner(in.text(512));
    const Characters text = owner.characters();
    BytePairCore::Borrowed space(*core);
    const auto ids = ids_of(*core, text, {1, 0, false}, *space);
    if (!ids) return;
    CHECK(naive_ids(*core, naive, space->segments) == *ids);
    CHECK(ids_of(*core, text, {1, chunk, false}) == ids);
    std::vector<Offset> offsets(ids->size());
    if (const auto again = ids_of(*core, text, {1, 0, false, true}, *space)) {
        CHECK(again == ids);
        try {
            core->offsets(*space, 1, ids->size(), {}, offsets.data());
        } catch (const NeedsReference&) {
            return;
        }
        for (const Offset& offset : offsets) CHECK(0 <= offset.begin && offset.begin <= offset.end && static_cast<size_t>(offset.end) <= text.length);
    }
}

}  // namespace
}  // namespace lopt::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    lopt::fuzz::tokenizers();  // before anything is timed
    return 0;
}
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    lopt::fuzz::Input in(data, size);
    lopt::fuzz::current_tokenizer = "of the input";
    lopt::fuzz::check(in);
    return 0;
}
