// Runs of characters of one kind, of which it is known what a split pattern makes of them, whatever their length.
//
// A run of letters, symbols, spaces or newlines is one pre-token, and so is every part of it. In GPT-2's pattern that is also
// true of numbers, and of spaces and newlines together. The other patterns take numbers in groups, counted from the first one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scan/scanner.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Kinds are bits: a character that may be in runs of several kinds has them all.
inline constexpr unsigned ALL_RUNS = 31;

class UniformRuns {
  public:
    // No runs are known.
    UniformRuns() = default;
    UniformRuns(std::string_view scanner) {
        using namespace class_bit;
        using Known = Scanners;
        const bool is_gpt2 = scanner == Known::Gpt2::name, is_deepseek = scanner == Known::Deepseek::name;
        const bool takes_marks_as_letters = scanner == Known::O200k::name || scanner == Known::Tekken::name;
        kinds_[0] = {takes_marks_as_letters ? letter | lower_side : letter, mark | hf_punctuation | (is_deepseek ? deepseek_cjk : 0)};
        if (!is_gpt2 && !is_deepseek && !takes_marks_as_letters && scanner != Known::Qwen2::name && scanner != Known::Cl100k::name) return;
        // A mark after symbols begins a word in patterns that take it as a letter.
        const bool minds_marks = is_deepseek || takes_marks_as_letters;
        // All others take what is neither letter nor number nor space: joiners and unassigned characters as well.
        kinds_[1] = {is_deepseek ? punctuation_or_symbol : 0, letter | number | space | (minds_marks ? mark : 0) | (is_deepseek ? deepseek_cjk : 0)};
        // Elsewhere what stands after the last newline is a pre-token of its own.
        kinds_[2] = {space, is_gpt2 ? 0 : newline};
        kinds_[3] = {newline, 0};
        if (is_gpt2) kinds_[4] = {number, letter | space};
    }
    // Of a character with these classes: the bits of the kinds.
    unsigned kinds(uint16_t classes) const {
        unsigned found = 0;
        for (size_t i = 0; i < kinds_.size(); i++)
            if ((kinds_[i].wanted || kinds_[i].unwanted) && (classes & kinds_[i].wanted) == kinds_[i].wanted && !(classes & kinds_[i].unwanted)) found |= 1u << i;
        return found;
    }

  private:
    struct Kind {
        int wanted = 0, unwanted = 0;  // class bits; neither: there are no such rows
    };
    std::array<Kind, 5> kinds_;
};

// How many numbers of a run are in a pre-token, from the first one on; 0 where there are no such groups.
inline size_t digits_in_group(std::string_view scanner) {
    using Known = Scanners;
    if (scanner == Known::Qwen2::name || scanner == Known::Tekken::name) return 1;
    return scanner == Known::Cl100k::name || scanner == Known::O200k::name || scanner == Known::Deepseek::name ? 3 : 0;
}

}  // namespace lopt
