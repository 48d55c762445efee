// Builds the core that a compiled file describes. Reads the values in the order in which lopt_plugin/routes/compiled.py
// writes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "bpe/model_json.hpp"
#include "compiled/file_reader.hpp"
#include "core/byte_pair_description.hpp"
#include "core/unigram_method.hpp"
#include "core/word_piece_method.hpp"
#include "normalize/character_forms.hpp"
#include "normalize/map_characters.hpp"
#include "normalize/normalization_form.hpp"
#include "normalize/precompiled.hpp"
#include "normalize/replace.hpp"
#include "normalize/strip_and_prepend.hpp"

namespace lopt {

using AnyCore = std::variant<std::unique_ptr<BytePairCore>, std::unique_ptr<UnigramCore>, std::unique_ptr<WordPieceCore>>;

namespace detail {

// Stands in for the reference, which is not available.
inline std::string no_reference(std::string_view) {
    throw NeedsReference("the normalizer of the Hugging Face library has to be asked about this text");
}

inline ClassTable class_table(FileReader& in) {
    const auto pages = in.array<uint16_t>(), cells = in.array<uint16_t>();
    return {pages.data(), pages.size(), cells.data(), cells.size()};
}

inline FormTables form_tables(FileReader& in) {
    FormTables tables{std::make_shared<const ClassTable>(class_table(in)), nullptr, in.array<ComposingPair>()};
    if (in.flag()) tables.forms = std::make_shared<const ClassTable>(class_table(in));
    return tables;
}

inline CharacterSet character_set(FileReader& in) { return CharacterSet(code_points_of(in.text())); }

inline uint32_t code_point(FileReader& in) {
    const uint32_t c = in.number();
    if (c >= 0x110000) throw InvalidFileError("the compiled file is damaged: a number is no code point");
    return c;
}

inline std::unique_ptr<NormalizerStep> normalization_form(FileReader& in, const FormTables& tables) {
    const std::string_view name = in.text();
    const auto forms = std::make_shared<CharacterForms>();
    in.each([&] {
        const uint32_t c = in.number();
        forms->decompositions[c] = code_points_of(in.text());
    });
    in.each([&] {
        const uint32_t c = in.number();
        forms->ranks[c] = in.number();
    });
    in.each([&] {
        const uint64_t first = in.number(), second = in.number();
        forms->compositions[first << 32 | second] = code_point(in);
    });
    return normalization_form(name, tables, [forms](std::string_view text) { return forms->normalize(text); });
}

inline std::unique_ptr<NormalizerStep> normalizer_step(FileReader& in, const FormTables& tables) {
    const std::string_view kind = in.text();
    if (kind == "form") return normalization_form(in, tables);
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
        const auto joining = code_points_of(in.text());
        return std::make_unique<Precompiled>(map, joining, code_points_of(in.text()), no_reference);
    }
    if (kind != "characters") throw InvalidFileError("the compiled file is damaged: unknown normalizer step");
    std::vector<MappedCharacter> mapped;
    in.each([&] {
        const uint32_t code_point = in.number();
        mapped.push_back({code_point, std::string(in.text())});
    });
    return std::make_unique<MapCharacters>(mapped);
}

inline std::vector<std::unique_ptr<NormalizerStep>> normalizer_steps(FileReader& in, const FormTables& tables) {
    std::vector<std::unique_ptr<NormalizerStep>> steps;
    in.each([&] { steps.push_back(normalizer_step(in, tables)); });
    return steps;
}

inline std::vector<VocabularyItem> vocabulary(FileReader& in) {
    std::vector<VocabularyItem> items;
    std::unordered_set<std::string_view> names;
    in.each([&] {
        const std::string_view name = in.text();
        if (!names.insert(name).second) throw InvalidFileError("the compiled file is damaged: two entries have the same name");
        items.push_back({name, in.number()});
    });
    return items;
}

inline AddedTokenSets added_tokens(FileReader& in) {
    AddedTokenSets sets;
    in.each([&] {
        AddedToken token{std::string(in.text()), in.number(), in.flag(), in.flag(), in.flag(), false};
        const bool normalized = in.flag();
        token.special = in.flag();
        sets.add(std::move(token), normalized);
    });
    sets.check();
    return sets;
}

inline std::unique_ptr<BytePairCore> byte_pair_core(FileReader& in) {
    BytePairDescription description;
    description.names = vocabulary(in);
    MergesJson merges(in.text());
    description.merges = merges.take_items();
    description.ignore_merges = in.flag();
    description.add_prefix_space = in.flag();
    description.dropped_bytes = in.bytes();
    description.end_of_word_suffix = in.text();
    in.each([&] {
        std::optional<std::string> token;
        in.each([&] { token = in.text(); });
        const bool fused = in.flag();
        description.unknown = UnknownOptions{token, fused, in.flag()};
    });
    const FormTables tables = form_tables(in);
    BytePairConfiguration& configuration = description.configuration;
    configuration.classes = tables.classes;
    configuration.normalizer = normalizer_steps(in, tables);
    configuration.scanner = in.text();
    in.each([&] {
        const std::string_view matcher = in.text(), behavior = in.text();
        const bool invert = in.flag();
        configuration.refinements.push_back(make_refinement(matcher, behavior, invert, in.flag()));
    });
    const std::string_view byte_classes = in.take(configuration.byte_classes.size());
    std::copy(byte_classes.begin(), byte_classes.end(), configuration.byte_classes.begin());
    in.each([&] {
        const bool in_normalizer = in.flag(), prepends = in.flag();
        configuration.metaspace = Metaspace{in_normalizer, prepends, prepend_scheme(in.text())};
    });
    description.added = added_tokens(in);
    return make_core(std::move(description));
}

inline std::unique_ptr<UnigramCore> unigram_core(FileReader& in) {
    std::vector<std::string_view> names;
    in.each([&] { names.push_back(in.text()); });
    auto scores = in.array<double>();
    const uint32_t unknown_id = in.number();
    const bool byte_fallback = in.flag();
    const FormTables tables = form_tables(in);
    auto steps = normalizer_steps(in, tables);
    const WordDivision division = word_division(in.text());
    const auto white_space = code_points_of(in.text());
    const PrependScheme scheme = prepend_scheme(in.text());
    AddedTokenSets added = added_tokens(in);
    UnigramConfiguration configuration{tables.classes, std::move(steps), UnigramWords(division, white_space), scheme, std::move(scores), unknown_id, byte_fallback};
    return std::make_unique<UnigramCore>(std::make_unique<UnigramMethod>(std::move(configuration), names), std::move(added.raw),
                                         std::move(added.normalized), false);
}

inline std::unique_ptr<const WordCharacters> word_characters(FileReader& in) {
    ClassTable classes = class_table(in);
    const auto changed = in.array<uint32_t>(), ends = in.array<uint32_t>();
    const std::string_view images = in.text();
    for (const uint32_t end : ends)
        if (end < images.size() && is_continuation(static_cast<uint8_t>(images[end]))) throw InvalidFileError("the compiled file is damaged: half a character");
    return std::make_unique<const WordCharacters>(std::move(classes), changed, ends, std::vector<uint8_t>(images.begin(), images.end()));
}

inline std::unique_ptr<WordPieceCore> word_piece_core(FileReader& in) {
    const auto names = vocabulary(in);
    const uint32_t unknown_id = in.number();
    const std::string_view prefix = in.text();
    const size_t most_characters = in.number();
    auto words = word_characters(in);
    std::unique_ptr<const WordCharacters> text;
    if (in.flag()) text = word_characters(in);
    AddedTokenSets added = added_tokens(in);
    WordPieceConfiguration configuration{std::move(words), std::move(text), no_reference, prefix, unknown_id, most_characters};
    return std::make_unique<WordPieceCore>(std::make_unique<WordPieceMethod>(std::move(configuration), names), std::move(added.raw),
                                           std::move(added.normalized), false);
}

}  // namespace detail

// Throws InvalidFileError, or std::invalid_argument for anything that a core rejects.
inline AnyCore read_core(FileReader& in) {
    const std::string_view kind = in.text();
    if (kind == "byte pair") return detail::byte_pair_core(in);
    if (kind == "unigram") return detail::unigram_core(in);
    if (kind == "word piece") return detail::word_piece_core(in);
    throw InvalidFileError("the compiled file is damaged: unknown kind of model");
}

}  // namespace lopt
