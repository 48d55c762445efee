// Fills windows with pre-tokens and their pieces: bounds, cuts, and runs of three-byte characters.
#pragma once

#include <cstdint>

#include "base/id_buffer.hpp"
#include "bpe/character_runs.hpp"
#include "bpe/model.hpp"
#include "bpe/window.hpp"
#include "bpe/window_steps.hpp"
#include "scan/non_ascii_classes.hpp"
#include "text/text.hpp"
#include "text/utf8.hpp"

namespace lopt {

// A window, and the characters waiting to be added to it.
struct PieceSpace {
    Window window;
    CharacterRun run;
};

class WindowFiller {
  public:
    // The model must outlive this object.
    explicit WindowFiller(const Model& model) : model_(model) {}

    // Encodes the window if it is full.
    void make_room(const Text& text, Window& window, IdBuffer& out) const {
        if (window.full()) flush(text, window, out);
    }
    // Encodes the window and starts the next one at its end.
    void flush(const Text& text, Window& window, IdBuffer& out) const {
        if (!window.count) return;
        const uint8_t* const end = window.end();
        model_.window_encoder().resolve(window, text.readable_end, out);
        window.start(end);
    }

    static bool may_be_cut(const uint8_t* p, size_t length) {
        if (leads_script(*p) || (length > 1 && leads_script(p[1]))) return true;
        const size_t after_sign = *p == 0xE2 ? 3 : length > 1 && p[1] == 0xE2 ? 4 : length;
        return after_sign < length && leads_script(p[after_sign]);
    }
    // Adds a pre-token.
    [[gnu::always_inline]] void add_cut(const Text& text, const uint8_t* p, const uint8_t* end, PieceSpace& space, IdBuffer& out) const {
        Window& window = space.window;
        const bool cut = end - p > CharacterRun::LENGTH && may_be_cut(p, static_cast<size_t>(end - p));
        if (cut && model_.character_runs()) return add_word(text, p, end, space, out);
        if (cut) add_pieces(text, p, end, window, out);
        window.add(end);
    }
    // Adds the cuts inside the pre-token [p, end), but not its end. Does not branch on cuts: they are hard to predict.
    void add_pieces(const Text& text, const uint8_t* p, const uint8_t* end, Window& window, IdBuffer& out) const {
        make_room({p, end, text.readable_end}, window, out);
        uint32_t first = window.count, count = window.count;
        const uint8_t* base = window.base;
        int length;
        uint32_t left = decode_character(p, length);
        bool restarted = false;
        for (p += length; p < end; p += length) {
            const uint32_t right = decode_character(p, length);
            window.bounds[count + 1] = static_cast<uint32_t>(p - base);
            count += is_cut(p, left, right);
            left = right;
            if (count >= WINDOW) {
                window.count = count;
                window.parts.push_back({first, count});
                base = window.end();
                model_.window_encoder().resolve(window, text.readable_end, out);
                window.start(base);
                first = count = 0;
                restarted = true;
            }
        }
        window.count = count;
        if (restarted || count > first) window.parts.push_back({first, count});
    }

    // Adds the pieces of three-byte characters from p on, where a piece begins, up to the first one with another character.
    // Returns the end of the last one.
    const uint8_t* add_characters(const Text& text, const uint8_t* p, PieceSpace& space, IdBuffer& out) const {
        read<0>(space.run, p, text.end);
        const uint8_t* const end = space.run.end();
        add_run(text, space, out);
        return end;
    }

    // Adds the pre-tokens of the three-byte and ASCII characters at p, as far as their bounds are certain. Returns the end of
    // the last one, and sets `read_end` to the end of what was read. `kinds`: see CharacterClasses.
    template <class Scanner>
    const uint8_t* add_pre_tokens(const ClassTable& table, const uint8_t* kinds, const Text& text, const uint8_t* p, const uint8_t*& read_end,
                                  PieceSpace& space, IdBuffer& out) const {
        CharacterRun& run = space.run;
        model_.character_runs()->read<MOST_ASCII>(run, p, text.end);
        read_end = run.end();
        CharacterClasses classes(kinds, run.code_points, run.count);
        if (run.count < CharacterRun::MOST && read_end < text.end) {
            int length;
            run.first_bytes[run.count] = *read_end;
            classes.add(run.count, Scanner::kept(table.at(read_end, text.end, length)));
        }
        const uint64_t starts = Scanner::starts_among(classes, run.first_bytes);
        if (starts) run.divide(starts, model_.character_runs()->shortest_word());
        else run.count = 0;
        add_run(text, space, out);
        return run.end();
    }

  private:
    // More ASCII characters in a row than these take less time in windows.
    static constexpr uint32_t MOST_ASCII = 16;

    // Adds the characters that were read.
    void add_run(const Text& text, PieceSpace& space, IdBuffer& out) const {
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
            if (stop > i) window.add_resolved(run.at(stop), ids);
            if (stop == run.count) break;
            make_room(text, window, out);
            i = stop + run.piece(stop);
            add_part(window, run.at(i), run.words >> stop & 1);
        }
    }
    // Adds the pre-token [word, end).
    void add_word(const Text& text, const uint8_t* word, const uint8_t* end, PieceSpace& space, IdBuffer& out) const {
        CharacterRun& run = space.run;
        for (const uint8_t* p = word; p < end;) {
            read<MOST_ASCII>(run, p, end);
            if (run.count) {
                p = run.end();
                if (p == end && run.begin == word) run.note_word(0, run.count, model_.character_runs()->shortest_word());
                add_run(text, space, out);
            } else {
                make_room(text, space.window, out);
                const uint8_t* const stop = next_piece(p, end);
                add_part(space.window, stop, p == word && stop == end);
                p = stop;
            }
        }
    }
    // Reads the characters of a run at p, up to the last cut among them if `end` comes later.
    template <uint32_t most_ascii>
    void read(CharacterRun& run, const uint8_t* p, const uint8_t* end) const {
        model_.character_runs()->read<most_ascii>(run, p, end);
        if (run.count && run.end() < end && !ends_at_cut(run)) run.drop_last_piece();
    }
    void add_part(Window& window, const uint8_t* end, bool is_word) const {
        if (model_.whole_words_matter() && !is_word) window.parts.push_back({window.count, window.count});
        window.add(end);
    }
    bool is_cut(const uint8_t* p, uint32_t left, uint32_t right) const {
        return (left | right) >= 0x800 && model_.cuts().between(left, right, p[-1], *p);
    }
    // Is the end of the run, inside a pre-token, a cut?
    bool ends_at_cut(const CharacterRun& run) const {
        int length;
        return is_cut(run.end(), run.code_points[run.count - 1], decode_character(run.end(), length));
    }
    // The end of the piece that begins at p, inside a pre-token.
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

    const Model& model_;
};

}  // namespace lopt
