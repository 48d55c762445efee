// One stretch of normalized text to ids: pre-tokens from the scanner, cut or refined, resolved a window at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "refine.hpp"
#include "rows.hpp"
#include "scan_cuts.hpp"
#include "scanner.hpp"
#include "seam.hpp"
#include "single_characters.hpp"
#include "text.hpp"
#include "word_buffer.hpp"

namespace lopt {

class StretchEncoder {
  public:
    // The working space of one scan; not shared by threads.
    struct Workspace {
        // For each id, memory that the caller will read when it has all ids; asked for while they are found. May be null.
        void read_later(const void* const* memory) { window.read_later = memory; }

        Window window;
        CharacterRun run;
        std::vector<Span> pieces;
        WordBuffer words;
        const uint8_t* readable_end = nullptr;  // behind the pieces of the window, where stretches are joined
    };

    StretchEncoder(const ClassTable& classes, const Model& model, std::string_view scanner, std::vector<Refinement> refinements,
                   std::array<uint8_t, 256> byte_classes, size_t separate_blanks)
        : classes_(classes), model_(model), refinements_(std::move(refinements)), byte_classes_(byte_classes) {
        if (scanner == CutScanner::name || scanner == CutScanner::name_with_blanks) {
            cut_scanner_.emplace(model.cuts(), model.unknown_characters(), scanner == CutScanner::name_with_blanks, separate_blanks);
            if (model.unknown_characters().become_bytes()) singles_.emplace(*cut_scanner_, model);
            divides_words_ = false;
            next_ = &StretchEncoder::next_cut;
            scan_ = &StretchEncoder::scan_at_cuts;
            return;
        }
        const bool known = visit_scanner(scanner, [this]<class Scanner>() {
            next_ = &StretchEncoder::next_of<Scanner>;
            if constexpr (leaves_out<Scanner>) parts_ = &Scanner::parts;
            if (leaves_out<Scanner> || model_.ends_words()) scan_ = &StretchEncoder::scan_words<Scanner>;
            else scan_ = refinements_.empty() ? &StretchEncoder::scan_cut<Scanner> : &StretchEncoder::scan_refined<Scanner>;
        });
        if (!known) throw std::invalid_argument("unknown scanner " + std::string(scanner));
        divides_words_ = scanner != WholeScanner::name || refinements_divide_words(refinements_);
        if (scanner == WholeScanner::name || !refinements_.empty() || parts_) return;
        rows_ = {scanner};
        digits_in_group_ = lopt::digits_in_group(scanner);
    }

    // Appends the ids of all pre-tokens that start in [from, stop), `from` being the start of one; returns the end of
    // the last. Reads the text up to its end.
    const uint8_t* scan(const Text& text, const uint8_t* from, const uint8_t* stop, Workspace& space, IdBuffer& out) const {
        return from < stop ? (this->*scan_)(text, from, stop, space, out) : from;
    }
    // Whether stretches may be given to `join`, which resolves many short ones together.
    bool joins() const { return cut_scanner_.has_value(); }
    // Is a run of this character of ASCII encoded as if nothing stood beside it, and what stands beside it likewise?
    bool stands_alone(uint8_t character) const {
        return cut_scanner_ && character < 0x80 && character != ' ' && model_.cuts().stands_alone(character);
    }
    // To be called first: a call that ended in an exception may have left something.
    void begin(Workspace& space) const { space.window.start(nullptr); }
    // Takes in a whole stretch; its ids, and those of all before, are appended by `finish` at the latest.
    void join(const Text& stretch, Workspace& space, IdBuffer& out) const {
        continue_at(stretch, space, out);
        add_cuts(stretch, stretch.begin, stretch.end, space.window, out);
    }
    // The same for a stretch that is one piece.
    void join_piece(const Text& piece, Workspace& space, IdBuffer& out) const {
        continue_at(piece, space, out);
        make_room(piece, space.window, out);
        space.window.add(piece.end);
    }
    void finish(Workspace& space, IdBuffer& out) const {
        flush({nullptr, nullptr, space.readable_end}, space.window, out);
    }
    // End of the scanner's pre-token that starts at p.
    const uint8_t* next(const uint8_t* p, const uint8_t* end) const { return (this->*next_)(p, end); }

    // The first place behind p, or the end, that divides the text from p on whatever stands before p.
    const uint8_t* first_cut(const uint8_t* p, const uint8_t* end) const { return cut_scanner_ ? cut_scanner_->first_cut(p, end) : end; }

    // Is the place between these neighbours a boundary, whatever stands around them?
    bool divides(uint32_t left, uint32_t right) const {
        if (cut_scanner_) return cut_scanner_->between(left, right);
        if (digits_in_group_ == 1 && (classes_.of(left) & classes_.of(right) & class_bit::number)) return true;
        return divides_words_ && always_divides(classes_, left, right);
    }
    // In rows of which kinds (rows.hpp) the character stands.
    unsigned row_kinds(uint32_t c) const { return rows_.kinds(classes_.of(c)); }
    // How many digits of a row stand in a pre-token, counted from the first one on; 0: that is not known, or all of them.
    size_t digits_in_group() const { return digits_in_group_; }

    // Does every character of a stretch lie in a pre-token?
    bool keeps_all() const { return !parts_ && !removes(); }
    // Or is it just the white space, of which no pre-token holds any?
    bool keeps_all_but_blanks() const { return parts_ && !removes(); }
    size_t bytes() const { return (cut_scanner_ ? sizeof *cut_scanner_ : 0) + (singles_ ? singles_->bytes() : 0); }

    // Appends the pre-tokens of a stretch, refined but not cut.
    void pre_tokens(const uint8_t* p, const uint8_t* end, std::vector<Span>& out) const {
        while (p < end) {
            const uint8_t* stop = next(p, end);
            refine_parts(p, stop, out);
            p = stop;
        }
    }

  private:
    template <class Scanner>
    static constexpr bool leaves_out = requires { &Scanner::parts; };

    using ScanFunction = const uint8_t* (StretchEncoder::*)(const Text&, const uint8_t*, const uint8_t*, Workspace&, IdBuffer&) const;

    template <class Scanner>
    const uint8_t* next_of(const uint8_t* p, const uint8_t* end) const {
        return Scanner::next(classes_, p, end);
    }
    const uint8_t* next_cut(const uint8_t* p, const uint8_t* end) const { return cut_scanner_->next(p, end); }

    const uint8_t* scan_at_cuts(const Text& text, const uint8_t* p, const uint8_t* stop, Workspace& space, IdBuffer& out) const {
        space.window.start(p);
        p = add_cuts(text, p, stop, space.window, out);
        flush(text, space.window, out);
        return p;
    }
    // Adds the pieces that start in [p, stop) to the window, and resolves it where it is full; returns the end of the last.
    const uint8_t* add_cuts(const Text& text, const uint8_t* p, const uint8_t* stop, Window& window, IdBuffer& out) const {
        constexpr ptrdiff_t TRY_AGAIN = 256;
        const uint8_t* try_singles = p;
        while (p < stop) {
            make_room(text, window, out);
            if (singles_ && p >= try_singles && *p >= 0xE0) {
                if (singles_->begins(p, text.end)) {
                    flush(text, window, out);
                    p = add_singles(text, p, stop, window, out);
                    continue;
                }
                try_singles = p + (text.end - p < TRY_AGAIN ? text.end - p : TRY_AGAIN);
            }
            if (stop - p >= 64) {
                const uint64_t starts = cut_scanner_->starts(p, ~uint64_t{0});
                if (starts) {
                    p = add_starts(window, p, starts);
                    continue;
                }
            } else if (stop == text.end && text.readable_end - p >= 64) {
                const uint64_t starts = cut_scanner_->starts(p, (uint64_t{1} << (stop - p)) - 1);
                if (starts) add_starts(window, p, starts);
                window.add(stop);
                return stop;
            }
            p = cut_scanner_->next(p, text.end);
            window.add(p);
        }
        return p;
    }
    const uint8_t* add_singles(const Text& text, const uint8_t* p, const uint8_t* stop, Window& window, IdBuffer& out) const {
        constexpr size_t AT_ONCE = 1024;
        uint32_t* const begin = out.reserve(3 * AT_ONCE);
        uint32_t* end = begin;
        p = singles_->encode(p, stop, text.end, AT_ONCE, end);
        out.set_end(end);
        if (window.read_later)
            for (const uint32_t* id = begin; id < end; id++) __builtin_prefetch(window.read_later[*id], 1);
        window.start(p);
        return p;
    }
    void continue_at(const Text& stretch, Workspace& space, IdBuffer& out) const {
        if (space.window.count == 0 || space.window.end() != stretch.begin) {
            finish(space, out);
            space.window.start(stretch.begin);
        }
        space.readable_end = stretch.readable_end;
    }
    void make_room(const Text& text, Window& window, IdBuffer& out) const {
        if (window.full()) flush(text, window, out);
    }
    void flush(const Text& text, Window& window, IdBuffer& out) const {
        if (!window.count) return;
        const uint8_t* const end = window.end();
        model_.words().resolve(window, text.readable_end, out);
        window.start(end);
    }

    template <class Scanner>
    const uint8_t* scan_cut(const Text& text, const uint8_t* p, const uint8_t* stop, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        window.start(p);
        space.run.start(p);
        while (p < stop) {
            make_room(text, window, out);
            // A window that begins with characters of three bytes would find little.
            if (stop - p >= 64 && p[0] < 0xE0 && p[1] < 0xE0) {
                const uint64_t starts = Scanner::starts(classes_, p);
                if (starts) {
                    if (!holds_three_bytes(p)) {
                        flush_run(text, space, out);
                        p = add_starts(window, p, starts);
                        continue;
                    }
                    const uint8_t* const at = p;
                    for (uint64_t left = starts; left; left &= left - 1) {
                        const uint8_t* end = at + __builtin_ctzll(left);
                        add_cut(text, p, end, space, out);
                        p = end;
                    }
                    continue;
                }
            }
            const uint8_t* end = Scanner::next(classes_, p, text.end);
            add_cut(text, p, end, space, out);
            p = end;
        }
        flush_run(text, space, out);
        flush(text, window, out);
        return p;
    }

    template <class Scanner>
    const uint8_t* scan_refined(const Text& text, const uint8_t* p, const uint8_t* stop, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        window.start(p);
        while (p < stop) {
            const uint8_t* end = Scanner::next(classes_, p, text.end);
            space.pieces.clear();
            refine_one(p, end, space.pieces);
            for (const Span& piece : space.pieces) {
                if (window.full() || piece.begin != window.end()) {
                    if (window.count) model_.words().resolve(window, text.readable_end, out);
                    window.start(piece.begin);
                }
                window.add(piece.end);
            }
            p = end;
        }
        if (window.count) model_.words().resolve(window, text.readable_end, out);
        return p;
    }

    // Where text is left out, or every word is ended, the words are copied together.
    template <class Scanner>
    const uint8_t* scan_words(const Text& text, const uint8_t* p, const uint8_t* stop, Workspace& space, IdBuffer& out) const {
        constexpr size_t STEP = 64;
        Window& window = space.window;
        WordBuffer& words = space.words;
        const bool end_words = model_.ends_words();
        const auto make_room = [&](size_t bytes) {
            if (!window.full() && words.fits(window, bytes)) return;
            if (window.count) model_.words().resolve(window, words.readable_end(), out);
            words.start(window, bytes);
        };
        const auto add = [&](const uint8_t* from, size_t length) {
            const uint8_t* word = words.copy(window, from, length, text.readable_end);
            // No cut is made before the sign for the word's end.
            if (may_be_cut(word, length)) add_pieces({word, word, words.readable_end()}, word, word + length, window, out);
            window.add(word + length + end_words);
        };
        words.start(window);
        while (p < stop) {
            if (refinements_.empty() && stop - p >= static_cast<ptrdiff_t>(STEP) && p[0] < 0xE0 && p[1] < 0xE0) {
                if (uint64_t starts = Scanner::starts(classes_, p)) {
                    make_room(2 * STEP);
                    const uint8_t* const at = p;
                    for (; starts; starts &= starts - 1) {
                        const uint8_t* end = at + __builtin_ctzll(starts);
                        int length;
                        const bool left_out = leaves_out<Scanner> && (classes_.at(p, end, length) & class_bit::space);
                        if (!left_out) add(p, static_cast<size_t>(end - p));
                        p = end;
                    }
                    continue;
                }
            }
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
        if (window.count) model_.words().resolve(window, words.readable_end(), out);
        return p;
    }

    // Adds the bounds of a window step, eight at a time: how many there are is hard to predict. Returns the last.
    static const uint8_t* add_starts(Window& window, const uint8_t* p, uint64_t starts) {
        const uint32_t at = static_cast<uint32_t>(p - window.base), n = static_cast<uint32_t>(__builtin_popcountll(starts));
        uint32_t* bound = window.bounds + window.count;
        for (uint32_t i = 0; i < n; i += 8)
            for (uint32_t j = 1; j <= 8; j++) {
                bound[i + j] = at + static_cast<uint32_t>(__builtin_ctzll(starts | uint64_t{1} << 63));
                starts &= starts - 1;
            }
        window.count += n;
        return window.end();
    }

    // Does one of the 64 bytes at p lead a character of three bytes or more?
    static bool holds_three_bytes(const uint8_t* p) {
        uint64_t leads = 0;
        for (int i = 0; i < 64; i += 8) {
            const uint64_t bytes = load64(p + i);
            leads |= bytes & bytes << 1 & bytes << 2;
        }
        return leads & 0x8080808080808080u;
    }
    static bool may_be_cut(const uint8_t* p, size_t length) { return *p >= 0xE0 || (length > 1 && p[1] >= 0xE0); }
    // Adds a pre-token. Characters of three bytes and more mean scripts without spaces, whose words fall into pieces.
    void add_cut(const Text& text, const uint8_t* p, const uint8_t* end, Workspace& space, IdBuffer& out) const {
        Window& window = space.window;
        const bool cut = may_be_cut(p, static_cast<size_t>(end - p));
        if (cut && model_.character_runs()) return add_to_run(text, p, end, space, out);
        flush_run(text, space, out);
        if (cut) add_pieces(text, p, end, window, out);
        window.add(end);
    }
    // Adds the cuts inside the pre-token [p, end), not its end. Without a branch on what is a cut: that is hard to predict.
    void add_pieces(const Text& text, const uint8_t* p, const uint8_t* end, Window& window, IdBuffer& out) const {
        const Cuts& cuts = model_.cuts();
        make_room({p, end, text.readable_end}, window, out);
        uint32_t first = window.count, count = window.count;
        const uint8_t* base = window.base;
        int length;
        uint32_t left = decode_character(p, length);
        bool restarted = false;
        for (p += length; p < end; p += length) {
            const uint32_t right = decode_character(p, length);
            window.bounds[count + 1] = static_cast<uint32_t>(p - base);
            count += (left | right) >= 0x800 && cuts.between(left, right, p[-1], *p);
            left = right;
            if (count >= WINDOW) {
                window.count = count;
                window.parts.push_back({first, count});
                base = window.end();
                model_.words().resolve(window, text.readable_end, out);
                window.start(base);
                first = count = 0;
                restarted = true;
            }
        }
        window.count = count;
        if (restarted || count > first) window.parts.push_back({first, count});
    }

    // Adds the pre-token [word, end). Characters of three bytes are gathered in the run of characters, over several
    // pre-tokens; what is added to the window next must flush it first.
    void add_to_run(const Text& text, const uint8_t* word, const uint8_t* end, Workspace& space, IdBuffer& out) const {
        const CharacterRuns& runs = *model_.character_runs();
        CharacterRun& run = space.run;
        if (run.count == 0) run.start(word);
        uint32_t first = run.count;
        for (const uint8_t* p = word;;) {
            runs.read(run, end);
            if (run.end() == end) {
                if (p == word && model_.tells_words() && run.is_one_piece(first)) run.set_word(first);
                return;
            }
            if (run.count > first && !ends_at_cut(run.end())) run.drop_last_piece(first);
            if (run.count == first) {
                const bool full = first > 0 && CharacterRuns::begins(p);
                flush_run(text, space, out);
                if (!full) {
                    make_room(text, space.window, out);
                    const uint8_t* const stop = next_piece(p, end);
                    add_part(space.window, stop, p == word && stop == end);
                    p = stop;
                }
            } else {
                p = run.end();
                flush_run(text, space, out);
            }
            if (p == end) return;
            run.start(p);
            first = 0;
        }
    }
    void flush_run(const Text& text, Workspace& space, IdBuffer& out) const {
        CharacterRun& run = space.run;
        if (run.count == 0) return;
        const CharacterRuns& runs = *model_.character_runs();
        Window& window = space.window;
        runs.find(run);
        const uint64_t special = run.special();
        for (uint32_t i = 0; i < run.count;) {
            make_room(text, window, out);
            uint32_t* ids = window.ready_end();
            uint32_t stop = i;
            for (;;) {
                const uint32_t plain = run.next(special, stop);
                ids = CharacterRuns::write(run, stop, plain, ids);
                stop = plain;
                if (stop == run.count || run.hard >> stop & 1) break;
                ids = runs.write_several(run, stop++, ids);
            }
            if (stop > i) window.add_settled(run.begin + stop * CharacterRun::LENGTH, ids);
            if (stop == run.count) break;
            make_room(text, window, out);
            i = stop + run.piece(stop);
            add_part(window, run.begin + i * CharacterRun::LENGTH, run.words >> stop & 1);
        }
        run.count = 0;
    }
    void add_part(Window& window, const uint8_t* end, bool is_word) const {
        if (model_.tells_words() && !is_word) window.parts.push_back({window.count, window.count});
        window.add(end);
    }
    bool is_cut(const uint8_t* p, uint32_t left, uint32_t right) const {
        return (left | right) >= 0x800 && model_.cuts().between(left, right, p[-1], *p);
    }
    // Is the place behind a character of three bytes, inside a pre-token, a cut?
    bool ends_at_cut(const uint8_t* p) const {
        int length;
        const uint32_t left = decode_character(p - CharacterRun::LENGTH, length);
        return is_cut(p, left, decode_character(p, length));
    }
    // The end of the piece of a pre-token that begins at p.
    const uint8_t* next_piece(const uint8_t* p, const uint8_t* end) const {
        int length;
        uint32_t left = decode_character(p, length);
        for (p += length; p < end; p += length) {
            const uint32_t right = decode_character(p, length);
            if (is_cut(p, left, right)) return p;
            left = right;
        }
        return end;
    }

    bool removes() const {
        return std::any_of(refinements_.begin(), refinements_.end(), [](const Refinement& step) { return step.behavior == SplitBehavior::removed; });
    }
    void refine_one(const uint8_t* p, const uint8_t* end, std::vector<Span>& out) const {
        if (refinements_.empty()) out.push_back({p, end});
        else refine(refinements_.data(), refinements_.size(), classes_, byte_classes_.data(), p, end, out);
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
    std::vector<Refinement> refinements_;
    std::array<uint8_t, 256> byte_classes_;
    std::optional<CutScanner> cut_scanner_;
    void (*parts_)(const ClassTable&, const uint8_t*, const uint8_t*, std::vector<Span>&) = nullptr;
    std::optional<SingleCharacters> singles_;
    bool divides_words_ = false;  // whether `always_divides` holds
    Rows rows_;
    size_t digits_in_group_ = 0;
    const uint8_t* (StretchEncoder::*next_)(const uint8_t*, const uint8_t*) const = nullptr;
    ScanFunction scan_ = nullptr;
};

}  // namespace lopt
