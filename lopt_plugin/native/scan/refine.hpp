// Refinements: the split steps that follow the scanner of a pipeline, applied in order to every pre-token.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "scan/split_patterns.hpp"
#include "text/text.hpp"
#include "text/unicode.hpp"

namespace lopt {

// SplitDelimiterBehavior of the reference library.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

struct Refinement {
    const SplitPattern* pattern;
    SplitBehavior behavior;
    bool invert;            // swaps the matches and the stretches between them
    bool after_byte_level;  // the step sees one stand-in character per byte
};

// Throws std::invalid_argument for an unknown name, and for a pattern that is not supported after ByteLevel.
inline Refinement make_refinement(std::string_view pattern, std::string_view behavior, bool invert, bool after_byte_level) {
    constexpr std::string_view behaviors[] = {"isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"};
    const auto* const known = std::find_if(std::begin(split_patterns), std::end(split_patterns), [pattern](const SplitPattern& one) { return one.name == pattern; });
    if (known == std::end(split_patterns)) throw std::invalid_argument("unknown split pattern " + std::string(pattern));
    if (after_byte_level && !known->knows_byte_level) throw std::invalid_argument("split pattern " + std::string(pattern) + " after ByteLevel");
    const auto* const found = std::find(std::begin(behaviors), std::end(behaviors), behavior);
    if (found == std::end(behaviors)) throw std::invalid_argument("unknown split behavior " + std::string(behavior));
    return {known, static_cast<SplitBehavior>(found - std::begin(behaviors)), invert, after_byte_level};
}

// Does the step have one of these patterns?
inline bool is_one_of(const Refinement& step, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), step.pattern->name) != names.end();
}

// Do the steps divide wherever `always_divides` says so? One step must have a pattern that covers every text, and isolate
// its matches. The steps before it may only match single characters of one class, or groups of digits.
inline bool refinements_divide_words(const std::vector<Refinement>& steps) {
    for (const Refinement& step : steps) {
        const bool covers = step.pattern->covers;
        if (covers && step.behavior == SplitBehavior::isolated && !step.invert) return true;
        if (!covers && !is_one_of(step, {"numeric", "punctuation", "three_digits", "deepseek_numbers"})) return false;
    }
    return false;
}

// Do the steps divide the rest of a text, from any boundary on that they make, as they divide it in the whole text? One step,
// or the scanner if `scanner_is_pattern`, may have a pattern that reads on, the others match single characters of one class, or
// groups of digits. `is_gpt2`: the scanner's pattern is GPT-2's. In the others, symbols take the newlines after them; divided
// from the symbols, these would join later ones.
inline bool refinements_restart(const std::vector<Refinement>& steps, bool scanner_is_pattern, bool is_gpt2) {
    bool any_pattern = scanner_is_pattern;
    for (const Refinement& step : steps) {
        const bool joins = step.behavior == SplitBehavior::contiguous;
        if (step.behavior != SplitBehavior::isolated && !joins) return false;
        if (is_one_of(step, {"numeric"}) || (is_one_of(step, {"punctuation"}) && (!any_pattern || is_gpt2))) continue;
        if (!joins && is_one_of(step, {"three_digits", "deepseek_numbers"})) continue;
        if (joins || any_pattern) return false;
        any_pattern = true;
        is_gpt2 = is_one_of(step, {"gpt2"});
    }
    return true;
}

// Calls emit(begin, end, is_match) for the matches in a text and for the stretches between them, in order.
template <class Emit>
void for_each_match(MatchEnd match_end, const SplitText& text, Emit&& emit) {
    const uint8_t* unmatched = text.begin;
    const uint8_t* p = text.begin;
    while (p < text.end) {
        const uint8_t* stop = match_end(text, p);
        if (stop == nullptr) {
            p += text.length_at(p);
            continue;
        }
        if (unmatched < p) emit(unmatched, p, false);
        emit(p, stop, true);
        p = unmatched = stop;
    }
    if (unmatched < p) emit(unmatched, p, false);
}

// Do two adjacent matches or stretches stay together? The reference library folds over the list and merges into the
// previous piece (or, from the right, the next one), but the outcome depends only on the two neighbours.
inline bool stay_together(SplitBehavior behavior, bool left_is_match, bool right_is_match) {
    switch (behavior) {
        case SplitBehavior::merged_with_previous: return !left_is_match && right_is_match;
        case SplitBehavior::merged_with_next: return left_is_match && !right_is_match;
        case SplitBehavior::contiguous: return left_is_match == right_is_match;
        default: return false;
    }
}

// Appends the pieces that the `count` steps make of [begin, end), in order. byte_classes: see split_patterns.hpp.
inline void refine(const Refinement* steps, size_t count, const ClassTable& classes, const uint8_t byte_classes[256],
                   const uint8_t* begin, const uint8_t* end, std::vector<Span>& out) {
    if (begin == end) return;
    if (count == 0) {
        out.push_back({begin, end});
        return;
    }
    const Refinement& step = *steps;
    Span piece{begin, begin};
    bool piece_ends_in_match = false;
    const auto close = [&] { refine(steps + 1, count - 1, classes, byte_classes, piece.begin, piece.end, out); };
    for_each_match(step.pattern->match_end, {classes, byte_classes, step.after_byte_level, begin, end},
                   [&](const uint8_t* from, const uint8_t* to, bool matched) {
                       const bool is_match = matched != step.invert;
                       if (step.behavior == SplitBehavior::removed && is_match) return;
                       const bool joined = piece.end == from && stay_together(step.behavior, piece_ends_in_match, is_match);
                       if (!joined) {
                           close();
                           piece.begin = from;
                       }
                       piece.end = to;
                       piece_ends_in_match = is_match;
                   });
    close();
}

}  // namespace lopt
