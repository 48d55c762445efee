// Builds the steps of a normalizer from Python objects.
#pragma once

#include "normalize/map_characters.hpp"
#include "normalize/metaspace.hpp"
#include "normalize/normalization_form.hpp"
#include "normalize/precompiled.hpp"
#include "normalize/replace.hpp"
#include "normalize/strip_and_prepend.hpp"
#include "python/python_arguments.hpp"

namespace lopt {

// form_pages, form_cells: empty if NFC is the only form.
inline FormTables form_tables(std::shared_ptr<const ClassTable> classes, nb::bytes form_pages, nb::bytes form_cells, nb::bytes compose_pairs) {
    auto forms = form_cells.size() ? std::make_shared<const ClassTable>(class_table(form_pages, form_cells)) : nullptr;
    return {std::move(classes), std::move(forms), copy_of<ComposingPair>(compose_pairs)};
}

// A function that asks the reference library where each character of a normalized text came from; empty for None.
inline Aligner::Ask aligner(nb::object function) {
    const auto ask = reference_function(std::move(function));
    if (!ask) return {};
    return [ask](std::string_view text) {
        const InterpreterLocked locked;
        const nb::object result = (*ask)(nb::str(text.data(), text.size()));
        std::vector<Offset> offsets;
        for (nb::handle item : result) {
            const auto [begin, end] = nb::cast<std::tuple<int32_t, int32_t>>(item);
            offsets.push_back({begin, end});
        }
        return offsets;
    };
}

inline CharacterSet character_set(const std::string& members) { return CharacterSet(code_points_of(members)); }

// A step is a tuple: its kind, followed by the values described in _core.pyi.
inline std::unique_ptr<NormalizerStep> normalizer_step(nb::tuple step, const FormTables& tables) {
    if (nb::len(step) == 0) throw std::invalid_argument("a normalizer step is empty");
    const auto kind = nb::cast<std::string>(step[0]);
    const auto has = [&step, &kind](std::string_view name, size_t arguments) { return kind == name && nb::len(step) == arguments + 1; };
    const auto text = [&step](size_t i) { return nb::cast<std::string>(step[i]); };
    if (has("form", 2)) return normalization_form(text(1), tables, normalizer(step[2]));
    if (has("form", 3)) return normalization_form(text(1), tables, normalizer(step[2]), aligner(step[3]));
    if (has("replace", 2)) return std::make_unique<ReplaceText>(text(1), text(2));
    if (has("replace_runs", 4))
        return std::make_unique<ReplaceRuns>(character_set(text(1)), nb::cast<size_t>(step[2]), nb::cast<bool>(step[3]), text(4));
    if (has("strip", 3)) return std::make_unique<Strip>(character_set(text(1)), nb::cast<bool>(step[2]), nb::cast<bool>(step[3]));
    if (has("prepend", 1)) return std::make_unique<Prepend>(text(1));
    if (has("precompiled", 4)) {
        const auto map = nb::cast<nb::bytes>(step[1]);
        return std::make_unique<Precompiled>(Charsmap({map.c_str(), map.size()}), code_points_of(text(2)), code_points_of(text(3)), normalizer(step[4]));
    }
    if (has("reference", 1)) return std::make_unique<ReferenceStep>(normalizer(step[1]));
    if (has("characters", 1)) {
        std::vector<MappedCharacter> mapped;
        for (const auto& [code_point, becomes] : nb::cast<std::vector<std::tuple<uint32_t, std::string>>>(step[1])) mapped.push_back({code_point, becomes});
        return std::make_unique<MapCharacters>(mapped);
    }
    throw std::invalid_argument("unknown normalizer step " + kind);
}

inline std::vector<std::unique_ptr<NormalizerStep>> normalizer_steps(nb::list steps, const FormTables& tables) {
    std::vector<std::unique_ptr<NormalizerStep>> made;
    for (nb::handle step : steps) made.push_back(normalizer_step(nb::cast<nb::tuple>(step), tables));
    return made;
}

}  // namespace lopt
