// NFC, NFD, NFKC and NFKD with the reference library's own normalizer, applied only to stretches that it may change.
//
// All four decompose and reorder marks; the C forms also compose. A character is safe if it is unchanged on its own, and
// if the first character of its decomposition has no combining class and is not the second part of a composing pair. Then
// nothing before it affects its normalization. Text between safe characters, including the safe one before it (a mark may
// compose with it), is normalized independently of all other text.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/answer_cache.hpp"
#include "base/hash.hpp"
#include "base/table.hpp"
#include "normalize/normalizer.hpp"
#include "text/alignment.hpp"
#include "text/invalid_utf8.hpp"
#include "text/unicode.hpp"

namespace lopt {

struct ComposingPair {
    uint32_t first, second;
};

// Bits of the table for the forms other than NFC (character_classes.normalizers derives it).
namespace form_bit {
inline constexpr uint16_t nfd_changes = 1u << 0;    // NFD(c) != c
inline constexpr uint16_t nfd_follows = 1u << 1;    // the first of NFD(c) has a combining class
inline constexpr uint16_t nfkc_changes = 1u << 2;   // NFKC(c) != c
inline constexpr uint16_t nfkc_follows = 1u << 3;   // the first of NFKD(c) has a combining class or may compose with a character before it
inline constexpr uint16_t nfkd_changes = 1u << 4;   // NFKD(c) != c
inline constexpr uint16_t nfkd_follows = 1u << 5;   // the first of NFKD(c) has a combining class
}  // namespace form_bit

// The effects of a form on a character, as bits of a class table.
struct FormBits {
    uint16_t changes;     // on its own
    uint16_t follows;     // may be reordered or composed with an earlier character
    uint16_t decomposes;  // has a decomposition, which a C form may recompose
    bool composes;
};

class NormalizationForm final : public NormalizerStep {
  public:
    // `pairs`: all (a, b) that NFC composes into one character. Calls `normalize` for short texts, and `align` for the
    // origins of their characters; both may throw. Throws std::invalid_argument if the form would change ASCII.
    NormalizationForm(std::shared_ptr<const ClassTable> classes, const FormBits& bits, const std::vector<ComposingPair>& pairs,
                      ReferenceNormalize normalize, ReferenceAlign align)
        : shared_classes_(std::move(classes)), classes_(*shared_classes_), bits_(bits),
          involved_(static_cast<uint16_t>(bits.changes | bits.follows)), normalize_(std::move(normalize), MOST_ANSWERS), align_(std::move(align)), pairs_(PAIR_BITS / 64, 0) {
        for (uint32_t c = 0; c < 0x80; c++)
            if (classes_.of(c) & involved_) throw std::invalid_argument("a normalization form that changes ASCII");
        if (!bits.composes) return;
        for (const auto& pair : pairs) pairs_[pair_bit(pair.first, pair.second) >> 6] |= uint64_t{1} << (pair_bit(pair.first, pair.second) & 63);
    }

    bool changes_ascii() const override { return false; }
    void mark_pages(PageMarks& marks) const override {
        for (uint32_t c = 0x80; c < 0x110000; c++)
            if (classes_.of(c) & involved_) marks[c >> 4] = 1;
    }

    bool leaves(uint32_t c) const override { return !(classes_.of(c) & involved_); }
    // A character that is not involved divides the text. It is unchanged unless the next character may be reordered or
    // compose.
    bool passes(Junction& junction) const override {
        if ((classes_.of(junction.left) | classes_.of(junction.right)) & involved_) return false;
        if (junction.has_next ? classes_.of(junction.next) & involved_ : !junction.is_end) return false;
        junction.has_next = false;  // its normalization depends on later characters
        return true;
    }
    bool begins_apart(uint32_t c) const override { return !(classes_.of(c) & bits_.follows); }
    // Equal marks are not sorted, and each blocks those after it from composing.
    bool repeats_apart(uint32_t) const override { return true; }
    // What composes decomposes, too, and does not change.
    std::vector<uint32_t> composed() const override {
        std::vector<uint32_t> found;
        for (uint32_t c = 0x80; c < 0x110000 && bits_.composes; c++)
            if ((classes_.of(c) & bits_.decomposes) && !(classes_.of(c) & bits_.changes)) found.push_back(c);
        return found;
    }
    bool surely_keeps(const uint8_t* begin, const uint8_t* end) const override { return next_stretch(begin, begin, end).begin == end; }
    // No character has a longer canonical decomposition.
    size_t most_in_one() const override { return 4; }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        Rewriting rewriting(begin, end, out, sources);
        for (const uint8_t* p = begin; p < end;) {
            const Stretch stretch = next_stretch(begin, p, end);
            if (stretch.begin == end) break;
            const std::string made = normalize_(stretch.text());
            Sources* const of_made = rewriting.replace(stretch.begin, stretch.end, made);
            if (of_made && only_reorders(stretch, made)) of_made->keep(stretch.begin, stretch.end);
            else if (of_made) of_made->replace(stretch.begin, stretch.end, aligned(stretch.text(), characters_in(made)));
            p = stretch.end;
        }
        return rewriting.finish();
    }

  private:
    static constexpr size_t PAIR_BITS = size_t{1} << 18;
    static constexpr size_t MOST_ANSWERS = 1 << 15;

    struct Stretch {
        const uint8_t *begin, *end;
        std::string_view text() const { return text_between(begin, end); }
    };

    // The next stretch that may change, or an empty one at `end`. It begins before a character that neither changes nor
    // follows, or at one that changes but does not follow (its decomposition begins with a starter that composes with
    // nothing before it). It ends before a character that neither changes nor follows. So nothing outside the stretch
    // affects its normalization.
    Stretch next_stretch(const uint8_t* begin, const uint8_t* p, const uint8_t* end) const {
        while ((p = skip_ascii(p, end)) < end) {
            int length;
            const uint16_t bits = classes_.at(p, end, length);
            const uint8_t* const next = bits & involved_ ? after_unchanged(begin, p, end) : p + length;
            if (next > p) {
                p = next;
                continue;
            }
            const uint8_t* start = p;
            if (bits & bits_.follows)
                while (start > begin) {
                    start = character_before(start);
                    if (!(classes_.at(start, end, length) & involved_)) break;
                }
            return {start, classes_.skip(involved_, next, end)};
        }
        return {end, end};
    }

    // Did the stretch become `made` without decomposing or composing anything? Then the reference gives each character the
    // position of the one whose place it took.
    bool only_reorders(const Stretch& stretch, const std::string& made) const {
        const auto decomposing = static_cast<uint16_t>(bits_.changes | bits_.decomposes);
        return classes_.skip_without(decomposing, stretch.begin, stretch.end) == stretch.end && characters_in(stretch.text()) == characters_in(made);
    }
    // The characters of the text that those of its normalized form came from. Throws OffsetsUnknownError unless these are
    // `count`, and each came from a single one.
    std::vector<Offset> aligned(std::string_view text, size_t count) const {
        if (!align_) throw OffsetsUnknownError("the normalizer does not say where its characters came from");
        std::vector<Offset> answer = align_(text);
        const auto length = static_cast<int32_t>(characters_in(text));
        bool known = answer.size() == count;
        for (const Offset& offset : answer) known = known && 0 <= offset.begin && offset.end == offset.begin + 1 && offset.end <= length;
        if (!known) throw OffsetsUnknownError("a normalized character has no place in the text");
        return answer;
    }

    // A following character is unchanged if it has no decomposition, if the character before it neither follows, changes nor
    // decomposes, and if the two do not compose. So are equal ones in a row, which are not sorted; no character composes with
    // itself. Returns where they end; p if that is not known to be so. Another following character after them begins a
    // stretch, which goes back to the character before them.
    const uint8_t* after_unchanged(const uint8_t* begin, const uint8_t* p, const uint8_t* end) const {
        int length, other;
        if (classes_.at(p, end, length) & (bits_.changes | bits_.decomposes)) return p;
        const uint8_t *const next = p + length, *after = next;
        while (end - after >= length && std::equal(p, next, after)) after += length;
        if (p == begin) return after;
        const uint8_t* const before = character_before(p);
        if (classes_.at(before, end, other) & (involved_ | bits_.decomposes)) return p;
        const uint32_t first = decode_character(before, other);
        return may_compose(first, decode_character(p, other)) ? p : after;
    }

    // A collision only costs a call of the reference.
    bool may_compose(uint32_t first, uint32_t second) const {
        const size_t bit = pair_bit(first, second);
        return pairs_[bit >> 6] >> (bit & 63) & 1;
    }
    static size_t pair_bit(uint32_t first, uint32_t second) {
        return ((static_cast<uint64_t>(first) << 21 | second) * HASH_A) >> (64 - 18);
    }

    std::shared_ptr<const ClassTable> shared_classes_;
    const ClassTable& classes_;
    FormBits bits_;
    uint16_t involved_;
    AnswerCache<std::string> normalize_;
    AnswerCache<std::vector<Offset>> align_;
    Table<uint64_t> pairs_;
};

// The class tables of normalization forms; `forms` may be null if NFC is the only form.
struct FormTables {
    std::shared_ptr<const ClassTable> classes, forms;
    std::vector<ComposingPair> composing_pairs;
};

inline std::unique_ptr<NormalizerStep> normalization_form(std::string_view name, const FormTables& tables, ReferenceNormalize normalize,
                                                          ReferenceAlign align) {
    const struct {
        std::string_view name;
        FormBits bits;
    } known[] = {{"NFC", {class_bit::nfc_changes, class_bit::nfc_follows, class_bit::decomposes, true}},
                 {"NFD", {form_bit::nfd_changes, form_bit::nfd_follows, form_bit::nfd_changes, false}},
                 {"NFKC", {form_bit::nfkc_changes, form_bit::nfkc_follows, form_bit::nfkd_changes, true}},
                 {"NFKD", {form_bit::nfkd_changes, form_bit::nfkd_follows, form_bit::nfkd_changes, false}}};
    for (const auto& form : known) {
        if (form.name != name) continue;
        const auto& classes = name == "NFC" ? tables.classes : tables.forms;
        if (!classes) throw std::invalid_argument("no table of what " + std::string(name) + " changes");
        return std::make_unique<NormalizationForm>(classes, form.bits, tables.composing_pairs, std::move(normalize), std::move(align));
    }
    throw std::invalid_argument("unknown normalization form " + std::string(name));
}

}  // namespace lopt
