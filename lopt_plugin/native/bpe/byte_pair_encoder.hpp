// Encodes a stretch of normalized text by BPE: the scanner's pre-tokens, cut or refined, are encoded one window at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "bpe/model.hpp"
#include "bpe/scan_cuts.hpp"
#include "bpe/window_filler.hpp"
#include "bpe/window_steps.hpp"
#include "bpe/word_buffer.hpp"
#include "scan/refine.hpp"
#include "scan/scanner.hpp"
#include "text/seam.hpp"
#include "text/text.hpp"

namespace lopt {

class BytePairEncoder {
  public:
    // Scratch space for one scan; not shared between threads.
    struct Workspace : PieceSpace {
        // Frees each buffer larger than `bytes`; returns the size of the remaining buffers in bytes.
        size_t keep_at_most(size_t bytes) {
            return lopt::keep_at_most(bytes, window.parts) + lopt::keep_at_most(bytes, pieces) + words.keep_at_most(bytes);
        }

        std::vector<Span> pieces;
        WordBuffer words;
    };

    BytePairEncoder(const ClassTable& classes, const Model& model, std::string_view scanner, std::vector<Refinement> refinements,
                   std::array<uint8_t, 256> byte_classes, size_t separate_spaces)
        : classes_(classes), model_(model), filler_(model), refinements_(std::move(refinements)), byte_classes_(byte_classes) {
        if (scanner == CutScanner::name || scanner == CutScanner::name_before_spaces) {
            cut_scanner_.emplace(model.cuts(), model.unknown_characters(), scanner == CutScanner::name_before_spaces, separate_spaces);
            divides_words_ = false;
            next_ = &BytePairEncoder::next_cut;
            encode_ = &BytePairEncoder::encode_at_cuts;
            return;
        }
        const bool known = Scanners::visit(scanner, [this]<class Scanner>() {
            next_ = &BytePairEncoder::next_of<Scanner>;
            if constexpr (leaves_out<Scanner>) parts_ = &Scanner::parts;
            if constexpr (!leaves_out<Scanner>) add_windows_ = widest_add_windows<Scanner>();
            separates_lines_ = Scanner::separates_lines;
            separates_capitals_ = Scanner::separates_capitals;
            if (refinements_.empty()) digits_in_group_ = Scanner::digits_in_group;
            if constexpr (requires { &Scanner::starts_among; }) kinds_ = Scanner::kinds(classes_);
            if (leaves_out<Scanner> || model_.ends_words()) encode_ = &BytePairEncoder::encode_words<Scanner>;
            else encode_ = refinements_.empty() ? &BytePairEncoder::encode_cut<Scanner> : &BytePairEncoder::encode_refined<Scanner>;
        });
        if (!known) throw std::invalid_argument("unknown scanner " + std::string(scanner));
        for (const Refinement& step : refinements_) {
            separates_lines_ |= step.pattern->separates_lines;
            separates_capitals_ |= step.pattern->separates_capitals;
        }
        separates_han_ = scanner == Scanners::Kimi::name;
        divides_words_ = scanner != WholeScanner::name || refinements_divide_words(refinements_);
        restarts_ = refinements_restart(refinements_, scanner != WholeScanner::name, scanner == Scanners::Gpt2::name || scanner == Scanners::Falcon::name);
    }

    // Appends the ids of a stretch.
    void encode(const Text& text, Workspace& space, IdBuffer& out) const {
        if (text.begin < text.end) (this->*encode_)(text, space, out);
    }
    // Is a run of this ASCII character encoded independently of its neighbours, and are they encoded independently of it?
    bool stands_alone(uint8_t character) const {
        return cut_scanner_ && character < 0x80 && character != ' ' && model_.cuts().stands_alone(character);
    }
    // The first position after p that is a cut whatever precedes p; `end` if there is none.
    const uint8_t* first_cut(const uint8_t* p, const uint8_t* end) const { return cut_scanner_ ? cut_scanner_->first_cut(p, end) : end; }

    // Is the position between these two characters always a boundary, whatever the context?
    bool divides(uint32_t left, uint32_t right) const {
        if (cut_scanner_) return cut_scanner_->between(left, right);
        if (digits_in_group_ == 1 && (classes_.of(left) & classes_.of(right) & class_bit::number)) return true;
        return divides_words_ && always_divides(classes_, left, right);
    }
    // The number of digits per pre-token, counted from the start of a run of digits; 0 if unknown or unlimited.
    size_t digits_in_group() const { return digits_in_group_; }

    // From the end of a pre-token on, is the text divided as on its own?
    bool restarts() const { return restarts_; }
    // Does a refinement remove some characters?
    bool removes() const {
        return std::any_of(refinements_.begin(), refinements_.end(), [](const Refinement& step) { return step.behavior == SplitBehavior::removed; });
    }
    // Does every character of a stretch belong to a pre-token?
    bool keeps_all() const { return !parts_ && !removes(); }
    // Does every character except white space belong to a pre-token, and no white space?
    bool keeps_all_but_white_space() const { return parts_ && !removes(); }
    size_t bytes() const { return kinds_.size() + (cut_scanner_ ? sizeof *cut_scanner_ : 0); }

    // Appends the pre-tokens of a stretch, refined but not cut.
    void pre_tokens(const uint8_t* p, const uint8_t* end, std::vector<Span>& out) const {
        while (p < end) {
            const uint8_t* stop = (this->*next_)(p, end);
            refine_parts(p, stop, out);
            p = stop;
        }
    }

    // Visits every pre-token of a stretch, refined but not cut, and every gap between them. Calls visit(end) once the ids
    // are in `out`, and stops when it returns false.
    template <class Visit>
    void visit_pre_tokens(const Text& text, Workspace& space, IdBuffer& out, Visit&& visit) const {
        std::vector<Span> spans;
        pre_tokens(text.begin, text.end, spans);
        const uint8_t* at = text.begin;
        for (const Span& span : spans) {
            if (at < span.begin && !visit(span.begin)) return;
            if (model_.ends_words()) {
                const auto length = static_cast<size_t>(span.end - span.begin);
                space.words.start(space.window, length + 1);
                const uint8_t* const word = space.words.copy(space.window, span.begin, length, text.readable_end);
                space.window.add(word + length + 1);
                model_.window_encoder().resolve(space.window, space.words.readable_end(), out);
            } else {
                space.window.start(span.begin);
                space.window.add(span.end);
                model_.window_encoder().resolve(space.window, text.readable_end, out);
            }
            if (!visit(at = span.end)) return;
        }
    }
    // For a pre-token whose first two characters have these classes: every prefix is one pre-token, unless it contains a
    // character with one of the returned class bits and its last character has none. Such a prefix is two pre-tokens, which
    // meet after the last character with one of the bits.
    uint16_t closing_classes(uint16_t first, uint16_t second) const {
        using namespace class_bit;
        if (first & second & space) return separates_lines_ ? newline : 0;
        return separates_capitals_ && ((first | second) & (lower_side | upper_side)) ? lower_side : 0;
    }
    // Do capitals begin words?
    bool separates_capitals() const { return separates_capitals_; }
    // Do Han characters of all classes begin runs of Han, except where symbols or numbers take them?
    bool separates_han() const { return separates_han_; }

  private:
    template <class Scanner>
    static constexpr bool leaves_out = requires { &Scanner::parts; };

    using EncodeFunction = void (BytePairEncoder::*)(const Text&, Workspace&, IdBuffer&) const;

    template <class Scanner>
    const uint8_t* next_of(const uint8_t* p, const uint8_t* end) const {
        return Scanner::next(classes_, p, end);
    }
    const uint8_t* next_cut(const uint8_t* p, const uint8_t* end) const { return cut_scanner_->next(p, end); }

    void encode_at_cuts(const Text& text, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        const uint8_t* p = text.begin;
        window.start(p);
        while (p < text.end) {
            if (leads_script(*p) && model_.character_runs()) {
                const uint8_t* const end = filler_.add_characters(text, p, space, out);
                if (end > p) {
                    p = end;
                    continue;
                }
            }
            filler_.make_room(text, window, out);
            if (text.end - p >= 64) {
                const uint64_t starts = cut_scanner_->starts(p, ~uint64_t{0});
                if (starts) {
                    p = BaselineVectors::add_starts(window, p, starts);
                    continue;
                }
            } else if (text.readable_end - p >= 64) {
                const uint64_t starts = cut_scanner_->starts(p, (uint64_t{1} << (text.end - p)) - 1);
                if (starts) BaselineVectors::add_starts(window, p, starts);
                window.add(text.end);
                break;
            }
            p = cut_scanner_->next(p, text.end);
            window.add(p);
        }
        filler_.flush(text, window, out);
    }

    // Does a run of more than one character begin at p, with one of a script without spaces among the first two?
    static bool begins_run(const uint8_t* p, const uint8_t* end) {
        if (end - p < 4) return false;
        if (*p < 0x80) return leads_script(p[1]) && begins_three_bytes(p + 1);
        return begins_three_bytes(p) && (p[3] < 0x80 ? leads_script(*p) : begins_three_bytes(p + 3) && (leads_script(*p) || leads_script(p[3])));
    }

    template <class Scanner>
    void encode_cut(const Text& text, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        const uint8_t* p = text.begin;
        const uint8_t* run_from = p;
        window.start(p);
        while (p < text.end) {
            filler_.make_room(text, window, out);
            if constexpr (requires { &Scanner::starts_among; }) {
                if (p >= run_from && begins_run(p, text.end) && model_.character_runs()) {
                    const uint8_t* read_end;
                    const uint8_t* const end = filler_.template add_pre_tokens<Scanner>(classes_, kinds_.data(), text, p, read_end, space, out);
                    // Little is read twice, whatever the text.
                    run_from = end - p >= (read_end - p) / 4 ? end : read_end;
                    if (end > p) {
                        p = end;
                        continue;
                    }
                }
            }
            // A window with such a script near its beginning would yield few bounds.
            if (text.end - p >= 64 && first_of_script<16>(p) == 16) {
                const uint8_t* const from = p;
                p = add_windows_(classes_, p, text.end, window);
                if (p != from) continue;
            }
            const uint8_t* end = Scanner::next(classes_, p, text.end);
            filler_.add_cut(text, p, end, space, out);
            p = end;
        }
        filler_.flush(text, window, out);
    }

    template <class Scanner>
    void encode_refined(const Text& text, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        const uint8_t* p = text.begin;
        window.start(p);
        while (p < text.end) {
            const uint8_t* end = Scanner::next(classes_, p, text.end);
            space.pieces.clear();
            refine_one(p, end, space.pieces);
            for (const Span& piece : space.pieces) {
                if (window.full() || piece.begin != window.end()) {
                    if (window.count) model_.window_encoder().resolve(window, text.readable_end, out);
                    window.start(piece.begin);
                }
                window.add(piece.end);
            }
            p = end;
        }
        if (window.count) model_.window_encoder().resolve(window, text.readable_end, out);
    }

    // If text is dropped, or if every word gets an end-of-word byte, the words are copied into one buffer.
    template <class Scanner>
    void encode_words(const Text& text, Workspace& space, IdBuffer& out) const {
        const uint8_t* p = text.begin;
        Window& window = space.window;
        WordBuffer& words = space.words;
        const bool end_words = model_.ends_words();
        const auto make_room = [&](size_t bytes) {
            if (!window.full() && words.fits(window, bytes)) return;
            if (window.count) model_.window_encoder().resolve(window, words.readable_end(), out);
            words.start(window, bytes);
        };
        const auto add = [&](const uint8_t* from, size_t length) {
            const uint8_t* word = words.copy(window, from, length, text.readable_end);
            // The end-of-word byte is never separated from the word by a cut.
            if (WindowFiller::may_be_cut(word, length)) filler_.add_pieces({word, word, words.readable_end()}, word, word + length, window, out);
            window.add(word + length + end_words);
        };
        words.start(window);
        while (p < text.end) {
            const uint8_t* end = Scanner::next(classes_, p, text.end);
            space.pieces.clear();
            refine_parts(p, end, space.pieces);
            for (const Span& piece : space.pieces) {
                const size_t length = static_cast<size_t>(piece.end - piece.begin);
                make_room(length + 1);
                add(piece.begin, length);
            }
            p = end;
        }
        if (window.count) model_.window_encoder().resolve(window, words.readable_end(), out);
    }

    void refine_one(const uint8_t* p, const uint8_t* end, std::vector<Span>& out) const {
        refine(refinements_.data(), refinements_.size(), classes_, byte_classes_.data(), p, end, out);
    }

    void refine_parts(const uint8_t* p, const uint8_t* end, std::vector<Span>& out) const {
        if (parts_ == nullptr) return refine_one(p, end, out);
        if (refinements_.empty()) return parts_(classes_, p, end, out);
        std::vector<Span> parts;
        parts_(classes_, p, end, parts);
        for (const Span& part : parts) refine_one(part.begin, part.end, out);
    }

    const ClassTable& classes_;
    const Model& model_;
    WindowFiller filler_;
    std::vector<Refinement> refinements_;
    std::array<uint8_t, 256> byte_classes_;
    std::optional<CutScanner> cut_scanner_;
    void (*parts_)(const ClassTable&, const uint8_t*, const uint8_t*, std::vector<Span>&) = nullptr;
    bool divides_words_ = false;  // whether `always_divides` holds
    bool restarts_ = true;
    bool separates_lines_ = false, separates_capitals_ = false;  // see `closing_classes`
    bool separates_han_ = false;
    size_t digits_in_group_ = 0;
    const uint8_t* (BytePairEncoder::*next_)(const uint8_t*, const uint8_t*) const = nullptr;  // the end of the scanner's pre-token
    EncodeFunction encode_ = nullptr;
    AddWindows add_windows_ = nullptr;
    std::vector<uint8_t> kinds_;  // see CharacterClasses
};

}  // namespace lopt
