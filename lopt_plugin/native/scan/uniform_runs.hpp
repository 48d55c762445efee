// Runs of characters of one kind that a split pattern treats in a known way, whatever their length.
//
// A run of letters or symbols is one pre-token, and so is every part of it. Some runs are two: one up to the last character
// that closes a pre-token (BytePairEncoder::closes_run), a newline among white space for instance, and the rest. In GPT-2's
// pattern this is also true of numbers. The other patterns group numbers, counted from the start of the run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scan/scanner.hpp"
#include "text/unicode.hpp"

namespace lopt {

// Kinds are bits; a character has the bit of every kind of run that it can occur in.
inline constexpr unsigned ALL_RUNS = 127;
// The kinds that no space precedes in a pre-token.
inline constexpr unsigned RUNS_WITHOUT_SPACE = 32 | 64;

class UniformRuns {
  public:
    // No known runs.
    UniformRuns() = default;
    UniformRuns(std::string_view scanner) {
        using namespace class_bit;
        using Known = Scanners;
        const bool is_gpt2 = scanner == Known::Gpt2::name, is_deepseek = scanner == Known::Deepseek::name;
        const bool takes_marks_as_letters = scanner == Known::O200k::name || scanner == Known::Tekken::name;
        // If capitals begin words, small letters and capitals are runs of their own. Letters without case, and marks, are in both.
        if (takes_marks_as_letters) {
            kinds_[0] = {lower_side, hf_punctuation};
            kinds_[3] = {upper_side, hf_punctuation};
        } else if (is_deepseek) {
            kinds_[0] = {0, hf_punctuation | deepseek_cjk, upper_side | lower_side};  // letters and marks
        } else {
            kinds_[0] = {letter, mark | hf_punctuation};
        }
        if (!is_gpt2 && !is_deepseek && !takes_marks_as_letters && scanner != Known::Qwen2::name && scanner != Known::Cl100k::name) return;
        // If a pattern treats marks as letters, a mark after symbols begins a word.
        const bool minds_marks = is_deepseek || takes_marks_as_letters;
        // Symbols are everything but letters, numbers and spaces, including joiners and unassigned characters (not in
        // DeepSeek).
        kinds_[1] = {is_deepseek ? punctuation_or_symbol : 0, letter | number | space | (minds_marks ? mark : 0) | (is_deepseek ? deepseek_cjk : 0)};
        kinds_[2] = {space, 0};
        if (is_gpt2) kinds_[4] = {number, letter | space};
        if (!is_deepseek) return;
        kinds_[5] = {deepseek_cjk | letter, mark | hf_punctuation};
        // What the pattern does not match, such as control characters.
        kinds_[6] = {0, letter | mark | number | space | punctuation_or_symbol | hf_punctuation | deepseek_cjk};
    }
    // The kinds of a character with these classes.
    unsigned kinds(uint16_t classes) const {
        unsigned found = 0;
        for (size_t i = 0; i < kinds_.size(); i++)
            if (kinds_[i].holds(classes)) found |= 1u << i;
        return found;
    }

  private:
    struct Kind {
        int wanted = 0, unwanted = 0, any_wanted = 0;  // class bits; if all are 0, this kind does not exist

        bool holds(int classes) const {
            return (wanted || unwanted) && (classes & wanted) == wanted && !(classes & unwanted) && (!any_wanted || (classes & any_wanted));
        }
    };
    std::array<Kind, 7> kinds_;
};

// Number of digits per pre-token, counted from the start of a run; 0 if the pattern does not group digits.
inline size_t digits_in_group(std::string_view scanner) {
    using Known = Scanners;
    if (scanner == Known::Qwen2::name || scanner == Known::Tekken::name) return 1;
    return scanner == Known::Cl100k::name || scanner == Known::O200k::name || scanner == Known::Deepseek::name ? 3 : 0;
}

}  // namespace lopt
