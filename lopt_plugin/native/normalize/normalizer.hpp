// A normalizer: steps that are applied in order to a stretch between added tokens, or to an added token's content.
//
// A step of the reference library depends only on its text, so each step is an independent function, and a Sequence is
// their composition.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/none.hpp"
#include "base/table.hpp"
#include "text/alignment.hpp"
#include "text/seam.hpp"
#include "text/utf8.hpp"

namespace lopt {

// These call the reference library, and may throw. The second returns, for each character of the normalized form, the
// characters of the text that it came from.
using ReferenceNormalize = std::function<std::string(std::string_view)>;
using ReferenceAlign = std::function<std::vector<Offset>(std::string_view)>;

// One mark per 16 code points: zero if no step affects any of them.
using PageMarks = Table<uint8_t>;
inline void mark_all(PageMarks& marks) { marks.assign(marks.size(), 1); }

class NormalizerStep {
  public:
    NormalizerStep() = default;
    NormalizerStep(const NormalizerStep&) = delete;
    NormalizerStep& operator=(const NormalizerStep&) = delete;
    virtual ~NormalizerStep() = default;

    // Returns false if [begin, end) certainly does not change; otherwise true, with the new text in `out`. `sources`:
    // null, or empty; receives where the characters of `out` came from. Throws OffsetsUnknownError if that is unknown.
    virtual bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const = 0;
    // Can the step change a text without characters of marked pages?
    virtual bool changes_ascii() const = 0;
    // Marks the pages of all non-ASCII characters that the step needs to change anything.
    virtual void mark_pages(PageMarks& marks) const = 0;
    // Is a text unchanged if it consists of repetitions of this non-ASCII character, and of ASCII if that is unchanged?
    virtual bool leaves(uint32_t) const { return false; }
    // True if both sides of a position are normalized independently; then replaces the characters there with what the
    // step makes of them. False if that is uncertain.
    virtual bool passes(Junction&) const { return false; }
    // True if the text before such a character, and the text from it on, are always normalized independently of each
    // other.
    virtual bool begins_apart(uint32_t) const { return false; }
    // True if, in a row of a character that the step keeps, that is so before each but the first ones, as long as such a
    // row goes on, or is followed by a character that begins apart.
    virtual bool repeats_apart(uint32_t c) const { return begins_apart(c); }
    // Is that true of every character?
    virtual bool maps_each() const { return false; }
    // The characters that such a character may become together with those after it, apart from what it becomes alone.
    virtual std::vector<uint32_t> composed() const { return {}; }
    // The same of the position between two characters; of each of them, it requires something on its own.
    virtual bool divides(uint32_t, uint32_t right) const { return begins_apart(right); }
    // The last such position inside these characters that is certain because of all of them; 0 if there is none. `goes_on`: it
    // was the last time, of the characters before them.
    virtual size_t last_place_among(const std::vector<uint32_t>&, bool) const { return 0; }
    // Is [begin, end), and therefore every part of it, unchanged? Its first character and the one after it must begin
    // apart.
    virtual bool keeps(const uint8_t* begin, const uint8_t* end) const {
        std::string out;
        return !apply(begin, end, out, nullptr) || std::equal(begin, end, out.begin(), out.end(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
    }
    // True only if a text is unchanged, and then for every text of which each character is in one that is kept, together with
    // the characters beside it. Never calls the reference library, so it may be called without the interpreter.
    virtual bool surely_keeps(const uint8_t*, const uint8_t*) const { return false; }
    // May it make of several characters, but not of the first of them alone, what a pre-tokenizer or another step removes? Or of
    // one that an earlier step has put together?
    virtual bool may_remove_several() const { return false; }
    // The maximum number of characters that one character may come from; 0 if unknown.
    virtual size_t most_in_one() const { return 0; }
    // The character that such characters become, one or more of them, where at least eight follow each other, whatever is
    // beside these; NONE if that is uncertain.
    virtual uint32_t image_in_run(uint32_t c) const {
        if (!begins_apart(c)) return NONE;
        const std::vector<uint32_t> image = image_of(c);
        return image.size() == 1 ? image[0] : NONE;
    }
    // What a character becomes alone.
    std::vector<uint32_t> image_of(uint32_t c) const {
        std::string character, image;
        append_character(c, character);
        const auto* const begin = reinterpret_cast<const uint8_t*>(character.data());
        return code_points_of(apply(begin, begin + character.size(), image, nullptr) ? image : character);
    }
};

class Normalizer {
  public:
    explicit Normalizer(std::vector<std::unique_ptr<NormalizerStep>> steps) : steps_(std::move(steps)), page_marks_(0x110000 >> 4, 0) {
        for (const auto& step : steps_) {
            changes_ascii_ |= step->changes_ascii();
            step->mark_pages(page_marks_);
        }
        while (mapping_from_ > 0 && steps_[mapping_from_ - 1]->maps_each()) mapping_from_--;
        for (size_t i = 0; i + 1 < mapping_from_; i++)
            for (const uint32_t c : steps_[i]->composed()) composed_apart_ = composed_apart_ && begins_apart(c, i + 1);
    }

    bool empty() const { return steps_.empty(); }
    bool changes_ascii() const { return changes_ascii_; }
    const uint8_t* page_marks() const { return page_marks_.data(); }
    // See NormalizerStep; covers all steps.
    bool leaves(uint32_t c) const {
        return !page_marks_[c >> 4] || std::all_of(steps_.begin(), steps_.end(), [c](const auto& step) { return step->leaves(c); });
    }
    bool passes(Junction& junction) const {
        return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->passes(junction); });
    }

    bool begins_apart(uint32_t c) const { return composed_apart_ && begins_apart(c, 0); }
    // See NormalizerStep; false of characters that begin apart anyway.
    bool repeats_apart(uint32_t c) const {
        std::string row;
        for (int i = 0; i < 4; i++) append_character(c, row);
        return !begins_apart(c) && std::all_of(steps_.begin(), steps_.end(), [c](const auto& step) { return step->repeats_apart(c); }) && keeps(row);
    }
    // Does the first step normalize what is before and after a position between two characters independently?
    bool first_divides(uint32_t left, uint32_t right) const { return steps_.empty() || steps_.front()->divides(left, right); }
    size_t first_divides_among(const std::vector<uint32_t>& characters, bool goes_on) const {
        return steps_.empty() ? 0 : steps_.front()->last_place_among(characters, goes_on);
    }
    // Normalizes a text, or its part between two such positions. Returns whether the later steps divide the text there, too: at
    // the beginning, and at the end.
    std::pair<bool, bool> apply_to_part(std::string& text) const {
        std::pair<bool, bool> divided{true, true};
        std::string next;
        for (const auto& step : steps_) {
            const auto *const begin = reinterpret_cast<const uint8_t*>(text.data()), *const end = begin + text.size();
            if (step != steps_.front() && !text.empty()) {
                const uint32_t first = first_character(text), last = last_character(text);
                divided.first &= step->divides(first, first);
                divided.second &= step->divides(last, last);
            }
            if (step->apply(begin, end, next, nullptr)) text.swap(next);
        }
        return divided;
    }
    bool keeps(std::string_view text) const {
        const auto* const begin = reinterpret_cast<const uint8_t*>(text.data());
        return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->keeps(begin, begin + text.size()); });
    }
    bool may_remove_several() const {
        return std::any_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->may_remove_several(); });
    }
    bool surely_keeps(const uint8_t* begin, const uint8_t* end) const {
        return std::all_of(steps_.begin(), steps_.end(), [&](const auto& step) { return step->surely_keeps(begin, end); });
    }
    uint32_t image_in_run(uint32_t c) const {
        for (const auto& step : steps_)
            if (c != NONE) c = step->image_in_run(c);
        return c;
    }
    size_t most_in_one() const {
        size_t most = 1;
        for (const auto& step : steps_) most *= step->most_in_one();
        return most;
    }

    // See NormalizerStep. `marked`: the text may contain characters of marked pages. `sources`: null, or receives where
    // the characters of the new text came from.
    bool apply(const uint8_t* begin, const uint8_t* end, bool marked, std::string& out, Sources* sources = nullptr) const {
        bool changed = false;
        std::string next;
        for (const auto& step : steps_) {
            // Once a step has changed the text, it may contain new characters.
            if (!marked && !changed && !step->changes_ascii()) continue;
            Sources of_step;
            if (!step->apply(begin, end, next, sources ? &of_step : nullptr)) continue;
            if (sources) {
                if (of_step.size() != characters_in(next)) throw OffsetsUnknownError("a normalized character has no place in the text");
                if (changed) of_step.follow(*sources);
                *sources = std::move(of_step);
            }
            out.swap(next);
            begin = reinterpret_cast<const uint8_t*>(out.data());
            end = begin + out.size();
            changed = true;
        }
        return changed;
    }

  private:
    // The same from a step on, which gets the text as the ones before it made it.
    bool begins_apart(uint32_t c, size_t from) const {
        for (size_t i = from; i < mapping_from_; i++) {
            if (!steps_[i]->begins_apart(c)) return false;
            const bool stays = c < 0x80 ? !steps_[i]->changes_ascii() : !page_marks_[c >> 4] || steps_[i]->leaves(c);
            if (stays || i + 1 == mapping_from_) continue;
            const std::vector<uint32_t> image = steps_[i]->image_of(c);
            if (image.empty()) return false;  // the next step gets what follows
            c = image[0];
        }
        return true;
    }

    std::vector<std::unique_ptr<NormalizerStep>> steps_;
    PageMarks page_marks_;
    size_t mapping_from_ = steps_.size();  // from there on, all steps map each character
    bool changes_ascii_ = false, composed_apart_ = true;
};

// The slow, straightforward fallback for everything that no other step supports: the reference library normalizes the
// whole stretch.
class ReferenceStep final : public NormalizerStep {
  public:
    explicit ReferenceStep(ReferenceNormalize normalize) : normalize_(std::move(normalize)) {}
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        if (sources) throw OffsetsUnknownError("the normalizer does not say where its characters came from");
        out = normalize_(text_between(begin, end));
        return true;
    }
    bool changes_ascii() const override { return true; }
    bool may_remove_several() const override { return true; }
    void mark_pages(PageMarks& marks) const override { mark_all(marks); }

  private:
    ReferenceNormalize normalize_;
};

}  // namespace lopt
