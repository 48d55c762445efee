// Builds the core that a sequence of values describes: those of a compiled file (FileReader) or of a Python list
// (PythonValues). Reads them in the order in which lopt_plugin/routes/core_values.py writes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bpe/model_json.hpp"
#include "compiled/file_reader.hpp"
#include "core/byte_pair_description.hpp"
#include "core/unigram_method.hpp"
#include "core/word_piece_method.hpp"
#include "normalize/map_characters.hpp"
#include "normalize/normalization_form.hpp"
#include "normalize/precompiled.hpp"
#include "normalize/replace.hpp"
#include "normalize/strip_and_prepend.hpp"

namespace lopt {

using AnyCore = std::variant<std::unique_ptr<BytePairCore>, std::unique_ptr<UnigramCore>, std::unique_ptr<WordPieceCore>>;

// A core, and an id that none of its ids exceeds.
template <class Core>
struct BuiltCore {
    std::unique_ptr<Core> core;
    uint32_t largest_id;
};

namespace detail {

template <class Values>
ClassTable class_table(Values& in) {
    const auto pages = read_array<uint16_t>(in), cells = read_array<uint16_t>(in);
    return {pages.data(), pages.size(), cells.data(), cells.size()};
}

template <class Values>
FormTables form_tables(Values& in) {
    FormTables tables{std::make_shared<const ClassTable>(class_table(in)), nullptr, read_array<ComposingPair>(in)};
    if (in.flag()) tables.forms = std::make_shared<const ClassTable>(class_table(in));
    return tables;
}

template <class Values>
CharacterSet character_set(Values& in) {
    return CharacterSet(code_points_of(in.text()));
}

template <class Values>
std::unique_ptr<NormalizerStep> normalizer_step(Values& in, const FormTables& tables) {
    const std::string_view kind = in.text();
    if (kind == "form") {
        const std::string_view name = in.text();
        auto [normalize, align] = in.form();
        return normalization_form(name, tables, std::move(normalize), std::move(align));
    }
    if (kind == "prepend") return std::make_unique<Prepend>(std::string(in.text()));
    if (kind == "replace") {
        const std::string_view text = in.text();
        return std::make_unique<ReplaceText>(std::string(text), std::string(in.text()));
    }
    if (kind == "replace_runs") {
        CharacterSet of = character_set(in);
        const size_t least = in.number();
        const bool each = in.flag();
        return std::make_unique<ReplaceRuns>(std::move(of), least, each, std::string(in.text()));
    }
    if (kind == "strip") {
        CharacterSet of = character_set(in);
        const bool left = in.flag();
        return std::make_unique<Strip>(std::move(of), left, in.flag());
    }
    if (kind == "precompiled") {
        const Charsmap map(in.bytes());
        const auto joining = code_points_of(in.text()), preceding = code_points_of(in.text());
        return std::make_unique<Precompiled>(map, joining, preceding, in.function());
    }
    if (kind == "reference") return std::make_unique<ReferenceStep>(in.function());
    if (kind != "characters") in.fail("unknown normalizer step");
    MapCharacters::Texts texts;
    read_rows(in, [&] {
        const uint32_t code_point = in.number();
        texts[code_point] = in.text();
    });
    return std::make_unique<MapCharacters>(std::move(texts));
}

template <class Values>
std::vector<std::unique_ptr<NormalizerStep>> normalizer_steps(Values& in, const FormTables& tables) {
    std::vector<std::unique_ptr<NormalizerStep>> steps;
    read_rows(in, [&] { steps.push_back(normalizer_step(in, tables)); });
    return steps;
}

template <class Values>
AddedTokenSets added_tokens(Values& in) {
    AddedTokenSets sets;
    read_rows(in, [&] {
        AddedToken token{std::string(in.text()), in.number(), in.flag(), in.flag(), in.flag(), false};
        const bool normalized = in.flag();
        token.special = in.flag();
        sets.add(std::move(token), normalized);
    });
    return sets;
}

template <class Values>
std::unique_ptr<const WordCharacters> word_characters(Values& in) {
    ClassTable classes = class_table(in);
    const auto changed = read_array<uint32_t>(in), ends = read_array<uint32_t>(in);
    const std::string_view images = in.text();
    for (const uint32_t end : ends)
        if (end < images.size() && is_continuation(static_cast<uint8_t>(images[end]))) in.fail("half a character");
    return std::make_unique<const WordCharacters>(std::move(classes), changed, ends, std::vector<uint8_t>(images.begin(), images.end()));
}

}  // namespace detail

// These throw what the values' `fail` throws, or std::invalid_argument for anything that a core rejects.
template <class Values>
BuiltCore<BytePairCore> byte_pair_core(Values& in) {
    BytePairDescription description;
    description.names = in.vocabulary();
    ModelJson json(in.text());
    description.merges = json.merges();
    description.ignore_merges = in.flag();
    description.add_prefix_space = in.flag();
    description.dropped_bytes = in.bytes();
    description.end_of_word_suffix = in.text();
    read_rows(in, [&] {
        std::optional<std::string> token;
        read_rows(in, [&] { token = in.text(); });
        const bool fused = in.flag();
        description.unknown = UnknownOptions{token, fused, in.flag()};
    });
    const FormTables tables = detail::form_tables(in);
    BytePairConfiguration& configuration = description.configuration;
    configuration.classes = tables.classes;
    configuration.normalizer = detail::normalizer_steps(in, tables);
    configuration.scanner = in.text();
    read_rows(in, [&] {
        const std::string_view matcher = in.text(), behavior = in.text();
        const bool invert = in.flag();
        configuration.refinements.push_back(make_refinement(matcher, behavior, invert, in.flag()));
    });
    const std::string_view byte_classes = in.take(configuration.byte_classes.size());
    std::copy(byte_classes.begin(), byte_classes.end(), configuration.byte_classes.begin());
    read_rows(in, [&] {
        const bool in_normalizer = in.flag(), prepends = in.flag();
        configuration.metaspace = Metaspace{in_normalizer, prepends, prepend_scheme(in.text())};
    });
    description.added = detail::added_tokens(in);
    const uint32_t largest_id = description.largest_id();
    return {in.build([&] { return make_core(std::move(description)); }), largest_id};
}

template <class Values>
BuiltCore<UnigramCore> unigram_core(Values& in) {
    std::vector<std::string_view> names;
    read_rows(in, [&] { names.push_back(in.text()); });
    auto scores = read_array<double>(in);
    const uint32_t unknown_id = in.number();
    const bool byte_fallback = in.flag();
    const FormTables tables = detail::form_tables(in);
    auto steps = detail::normalizer_steps(in, tables);
    const WordDivision division = word_division(in.text());
    const auto white_space = code_points_of(in.text());
    const PrependScheme scheme = prepend_scheme(in.text());
    AddedTokenSets added = detail::added_tokens(in);
    UnigramConfiguration configuration{tables.classes, std::move(steps), UnigramWords(division, white_space), scheme, std::move(scores), unknown_id, byte_fallback};
    const uint32_t largest_id = std::max(added.largest_id, static_cast<uint32_t>(names.size()) - 1);
    const auto make = [&] { return std::make_unique<UnigramCore>(std::make_unique<UnigramMethod>(std::move(configuration), names), std::move(added), false); };
    return {in.build(make), largest_id};
}

template <class Values>
BuiltCore<WordPieceCore> word_piece_core(Values& in) {
    const auto names = in.vocabulary();
    NameTable{names};  // throws if two entries have the same name
    const uint32_t unknown_id = in.number();
    const std::string_view prefix = in.text();
    const size_t most_characters = in.number();
    auto words = detail::word_characters(in);
    std::unique_ptr<const WordCharacters> text;
    if (in.flag()) text = detail::word_characters(in);
    CanonicalOrder::Order order = in.function();
    AddedTokenSets added = detail::added_tokens(in);
    WordPieceConfiguration configuration{std::move(words), std::move(text), std::move(order), prefix, unknown_id, most_characters};
    uint32_t largest_id = std::max(added.largest_id, unknown_id);
    for (const auto& item : names) largest_id = std::max(largest_id, item.id);
    const auto make = [&] { return std::make_unique<WordPieceCore>(std::make_unique<WordPieceMethod>(std::move(configuration), names), std::move(added), false); };
    return {in.build(make), largest_id};
}

inline AnyCore read_core(FileReader& in) {
    const std::string_view kind = in.text();
    if (kind == "byte pair") return byte_pair_core(in).core;
    if (kind == "unigram") return unigram_core(in).core;
    if (kind == "word piece") return word_piece_core(in).core;
    FileReader::fail("unknown kind of model");
}

}  // namespace lopt
