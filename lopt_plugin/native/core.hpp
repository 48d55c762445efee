// A whole text to ids: transcode, added tokens, normalizer, stretches, chunks. No Python objects here.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "added_tokens.hpp"
#include "characters.hpp"
#include "chunks.hpp"
#include "id_buffer.hpp"
#include "idle_cores.hpp"
#include "offsets.hpp"
#include "prefix_store.hpp"
#include "rows.hpp"
#include "seam.hpp"
#include "segmenter.hpp"
#include "text.hpp"
#include "thread_pool.hpp"
#include "utf8_text.hpp"
#include "workspace.hpp"

namespace lopt {

// Method: what is done to the text between added tokens. It has
//   Encoder             stretches of normalized text to ids, as Chunk wants it
//   encoder()
//   classes()           the table that added tokens ask
//   page_marks()        one mark for every 16 code points: zero where none of them makes the normalizer necessary
//   normalizes_ascii()  whether a text of ASCII may need the normalizer as well
//   normalize(begin, end, marked, out, sources)   false: [begin, end) stays as it is; else `out` is what it becomes. May
//                       throw. `marked`: it may hold characters of marked pages. `sources`: null, or what says where the
//                       characters came from; throws OffsetsUnknownError where that cannot be told.
//   walks_apart()       whether the offsets of a part of a stretch between two boundaries can be told without the rest
//   walk(walk, segment, origin)   the offsets of the ids of a stretch
//   blank_signs()       for pipelines that spell blanks as signs, instead of a normalizer; null for the others
//   is_word(text, id)   whether a text that is just that has that id alone
//   bytes()             of its tables
template <class Method>
class Core {
  public:
    using Encoder = typename Method::Encoder;
    using Workspace = lopt::Workspace<typename Encoder::Workspace>;

    // See Segmenter.
    Core(std::unique_ptr<const Method> method, std::vector<AddedToken> raw_tokens, std::vector<AddedToken> normalized_tokens, bool add_prefix_space)
        : method_(std::move(method)), encoder_(method_->encoder()),
          segmenter_(*method_, std::move(raw_tokens), std::move(normalized_tokens), add_prefix_space) {
        if constexpr (MAY_JOIN) {
            if (!encoder_.joins()) return;
            segmenter_.for_each_token([this](const AddedToken& token) { note_piece(token); });
            segmenter_.leave_runs([this](const AddedToken& token) { return encoder_.stands_alone(static_cast<uint8_t>(token.content[0])) && is_piece(token.id); });
        }
    }
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Called with further ids, in order, on the thread that called `encode`.
    using Sink = std::function<void(const uint32_t* ids, size_t count)>;

    // Keeps what texts begin with, up to so many bytes, for those that begin alike; to be called before the first `encode`.
    // `piece_characters`: of a piece, at least; `hash_bits`: see PrefixStore. Texts of less than two pieces, or less than
    // `least_characters`, are encoded anew as fast. Nothing is kept before `trust_seams`.
    void remember_prefixes(size_t limit_bytes, size_t piece_characters, int hash_bits = 64, size_t least_characters = 0) {
        prefixes_ = std::make_unique<PrefixStore>(limit_bytes, hash_bits);
        piece_characters_ = std::max<size_t>(piece_characters, 1);
        least_characters_ = std::max(least_characters, 2 * piece_characters_);
    }
    PrefixStore* prefixes() const { return prefixes_.get(); }
    // The caller has seen that texts keep their ids when they are taken apart at seams.
    void trust_seams() { trusts_seams_.store(true, std::memory_order_release); }

    // The ids of one text, in `space.ids` and, as soon as they are final, to `sink`; where `recall` is asked for, those of
    // `space.recalled` come before. Throws LoneSurrogateError, or what the normalizer throws.
    void encode(const Characters& text, const EncodeOptions& options, Workspace& space, const Sink& sink = {}) const {
        space.recalled.clear();
        space.divisions.clear();
        space.known = 0;
        space.last_piece = 0;
        const bool recalls = options.recall && prefixes_ && text.length >= least_characters_ && trusts_seams_.load(std::memory_order_acquire);
        if (!recalls) return encode_all(text, options, space, sink);
        recall(text, options, space);
        EncodeOptions of_rest = options;
        of_rest.inside |= space.known > 0;
        encode_all(text.part(space.known, text.length), of_rest, space, sink);
        remember(text, options, space);
    }

    // Offsets of the first `count` ids that `encode`, asked for offsets, has left in `space`; the text is still there.
    // Throws OffsetsUnknownError where the reference library has to be asked.
    void offsets(const Workspace& space, size_t threads, size_t count, const Trim& trim, Offset* out) const {
        if (threads > 1 && !space.marks.empty() && space.origins.empty() && method_->walks_apart()) return offsets_in_parts(space, threads, count, trim, out);
        OffsetWalk walk(space.text.begin, space.ascii, space.ids.data(), 0, count, trim, out);
        for (size_t i = 0; i < space.segments.size() && !walk.done(); i++) {
            const Segment& segment = space.segments[i];
            walk_segment(walk, segment, space.origins.empty() ? Origin{segment.begin, nullptr, false} : space.origins[i]);
        }
        if (!walk.done()) throw OffsetsUnknownError("the ids are not those of the text's bytes");
    }

    // Is the place before character `at` a seam of every text that begins, or goes on, with these characters up to `end`?
    // 0 < at < end. See seam.hpp.
    bool is_seam(const Characters& text, size_t at, size_t end) const {
        const Junction junction{text[at - 1], text[at], at + 1 < end ? text[at + 1] : 0, at + 1 < end};
        if (is_surrogate(junction.left) || is_surrogate(junction.right) || is_surrogate(junction.next)) return false;
        return segmenter_.divides(junction);
    }

    // Is text[begin, end), as a text of its own or behind a seam, one word whatever its length, so that its prefixes are to
    // be had from a GrowingWord over `method().word_model()`? Of which kinds of rows (rows.hpp), of those given, it may be;
    // 0: it is not. It may begin with a blank if `begins`.
    unsigned word_kinds(const Characters& text, size_t begin, size_t end, bool begins, unsigned kinds) const {
        if (segmenter_.adds_prefix_space() || !method_->word_model()) return 0;
        for (size_t i = begin; i < end && kinds; i++) {
            const uint32_t c = text[i];
            if (may_begin_token(c)) return 0;
            if (!(c == ' ' && begins && i == begin)) kinds &= method_->row_kinds(c);
        }
        return kinds;
    }
    bool is_word(const Characters& text, size_t begin, size_t end) const { return word_kinds(text, begin, end, true, ALL_ROWS); }

    // Is text[begin, end), likewise, white space alone, of which a prefix is one word up to its last newline and one behind it?
    bool is_white_space(const Characters& text, size_t begin, size_t end) const {
        if (segmenter_.adds_prefix_space() || !method_->word_model()) return false;
        for (size_t i = begin; i < end; i++)
            if (may_begin_token(text[i]) || !(method_->row_kinds(text[i]) & (BLANK_ROWS | NEWLINE_ROWS))) return false;
        return true;
    }
    // Of white space.
    bool is_newline(uint32_t c) const { return method_->row_kinds(c) & NEWLINE_ROWS; }

    // Where the digits of text[begin, end) begin, which is a text of its own or stands behind a seam: it has nothing but
    // blanks before them. There is a boundary behind every group of `method().digits_in_group()` of them, then, if a digit
    // follows. `end` where there are none, or these are not so divided; `stop`: the end of the digits.
    size_t digits_begin(const Characters& text, size_t begin, size_t end, size_t& stop) const {
        if (segmenter_.adds_prefix_space() || method_->digits_in_group() == 0) return stop = end;
        size_t at = begin;
        while (at < end && (text[at] == ' ' || text[at] == '\n') && !may_begin_token(text[at])) at++;
        for (stop = at; stop < end && text[stop] >= '0' && text[stop] <= '9' && !may_begin_token(text[stop]);) stop++;
        return stop > at ? at : stop = end;
    }
    // The last of these boundaries in (begin, end); 0: there is none.
    size_t last_group(const Characters& text, size_t begin, size_t end) const {
        size_t stop;
        const size_t first = digits_begin(text, begin, end, stop), group = method_->digits_in_group();
        return stop - first > group ? first + (stop - first - 1) / group * group : 0;
    }

    // Four chunks a thread: one that is slowed down by others then holds up less.
    static size_t default_chunk(size_t bytes, size_t threads) { return std::max(LEAST_CHUNK, bytes / (threads * 4) + 1); }

    // Working space for a call; is kept for the next one on its own.
    class Borrowed {
      public:
        explicit Borrowed(const Core& core) : core_(core), space_(core.idle_.take()) {}
        ~Borrowed() { core_.idle_.give_back(std::move(space_)); }
        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;
        Workspace& operator*() { return *space_; }
        Workspace* operator->() { return space_.get(); }

      private:
        const Core& core_;
        std::unique_ptr<Workspace> space_;
    };

    const Method& method() const { return *method_; }
    const Segmenter<Method>& segmenter() const { return segmenter_; }
    ThreadPool& pool() const { return pool_; }
    size_t bytes() const { return method_->bytes(); }

  private:
    // Finds the pieces that the text begins with, and how the rest is divided if it is to be kept: where it comes for the
    // second time, or goes on what is known and is no longer than that, as the turns of a session do.
    void recall(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        uint64_t before = root(options);
        size_t end;
        while ((end = piece_end(text, space.known)) < text.length) {
            const uint64_t hash = prefixes_->hash(text.part(space.known, end));
            Recalled found = prefixes_->find(before, text.part(space.known, text.length), end - space.known, hash);
            // Behind the last piece the text may be another one.
            const auto ends_at_seam = [&] {
                const size_t at = space.known + found.characters();
                return at < text.length && is_seam(text, at, text.length);
            };
            while (found.pieces && !ends_at_seam()) found.pieces--;
            if (!found.pieces) {
                const bool goes_on = text.length - space.known <= space.known;
                if (!goes_on && !prefixes_->noted(before, hash)) end = text.length;
                break;
            }
            before = found.run->name(found.pieces);
            space.known += found.characters();
            space.recalled.push_back(std::move(found));
        }
        prefixes_->used(space.recalled);
        for (; end < text.length; end = piece_end(text, end)) space.divisions.push_back({end, nullptr, 0, 0});
    }
    // The end of the piece of text that begins at `from`: the first seam at least so many characters on, and near one of
    // their multiples (few texts have none there, and it is not looked for everywhere); the text's length if there is none.
    // Texts that begin alike have the same pieces, up to those that hold the first difference or end beside it.
    size_t piece_end(const Characters& text, size_t from) const {
        for (size_t at = from + piece_characters_; at < text.length; at += piece_characters_) {
            const size_t stop = std::min(at + (piece_characters_ + 3) / 4, text.length);
            for (size_t i = at; i < stop; i++)
                if (is_seam(text, i, text.length)) return i;
        }
        return text.length;
    }
    // What stands before the first piece; texts whose special tokens are text have another.
    static uint64_t root(const EncodeOptions& options) { return options.split_special; }

    // Keeps the pieces of the text behind those, as far as there is room.
    void remember(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        space.last_piece_ids = 0;
        for (const auto& known : space.recalled) space.last_piece_ids += known.count();
        if (!space.recalled.empty()) space.last_piece = space.recalled.back().run->name(space.recalled.back().pieces);
        if (space.divisions.empty()) return;
        Runs runs;
        std::vector<Piece> pieces;
        size_t from = space.known, ids = 0, bytes = 0;  // of the run
        const uint8_t* at = space.text.begin;
        const auto finish_run = [&](size_t end) {
            const size_t first_end = from + pieces.front().characters;
            runs.push_back(std::make_shared<Run>(prefixes_->hash(text.part(from, first_end)), text.part(from, end), space.ids.data() + ids, std::move(pieces)));
            pieces.clear();
            bytes += runs.back()->bytes();
            from = end;
        };
        for (const auto& division : space.divisions) {
            pieces.push_back({division.character - from, static_cast<size_t>(division.at - at), division.ids - ids});
            if (prefixes_->fits_in_run(pieces.size() + 1, division.character - from + (division.ids - ids) * sizeof(uint32_t))) continue;
            finish_run(division.character);
            at = division.at;
            ids = division.ids;
            if (bytes > prefixes_->limit()) break;
        }
        if (!pieces.empty()) finish_run(space.divisions.back().character);
        for (const auto& run : runs) space.last_piece_ids += run->count();
        space.last_piece = prefixes_->insert(root(options), space.recalled, std::move(runs));
    }

    void encode_all(const Characters& text, const EncodeOptions& asked, Workspace& space, const Sink& sink) const {
        EncodeOptions options = asked;
        // Whoever gives chunks of a length wants these.
        if (!asked.chunk_bytes && text.length > LEAST_CHUNK) options.threads = threads_worth(asked.threads, text.length);
        space.ids.clear();
        space.owned.clear();
        space.marks.clear();
        space.origins.clear();
        space.alignments.clear();
        bool marked = false;
        const Text utf8 = to_utf8(text, method_->page_marks(), options.threads, pool_, space.utf8, marked);
        space.text = utf8;
        space.ascii = text.ascii;
        const size_t bytes = static_cast<size_t>(utf8.end - utf8.begin);
        const size_t chunk = options.chunk_bytes ? options.chunk_bytes : default_chunk(bytes, options.threads);
        const bool side_by_side = bytes > chunk && (options.threads > 1 || options.chunk_bytes);
        locate_divisions(text, utf8, side_by_side ? chunk : SIZE_MAX, space);
        segmenter_.find(utf8, options, marked, space);
        if (!space.divisions.empty()) return encode_pieces(utf8, side_by_side ? options.threads : 1, chunk, space, sink);
        if (side_by_side) return encode_chunks(utf8, options.threads, chunk, space, sink);
        encode_segments(utf8, space.segments.data(), space.segments.data() + space.segments.size(), space.stretch, space.ids);
        if (sink) sink(space.ids.data(), space.ids.size());
    }

    // Where the divisions lie in the text's bytes. There are none where a piece would be longer than `most_bytes`: chunks,
    // which any text can be cut into, then share the work better.
    static void locate_divisions(const Characters& text, const Text& utf8, size_t most_bytes, Workspace& space) {
        if (space.divisions.empty()) return;
        const uint8_t* at = utf8.begin;
        size_t longest = 0;
        visit_units(text, [&](const auto* s) {
            size_t from = 0;
            for (auto& division : space.divisions) {
                const size_t to = division.character - space.known;
                const size_t bytes = text.ascii ? to - from : utf8_length(s + from, to - from);
                division.at = at += bytes;
                longest = std::max(longest, bytes);
                from = to;
            }
        });
        if (std::max(longest, static_cast<size_t>(utf8.end - at)) > most_bytes) space.divisions.clear();
    }

    // The same as `encode_segments` from division to division, whose number of ids are noted.
    void encode_pieces(const Text& text, size_t threads, size_t chunk_bytes, Workspace& space, const Sink& sink) const {
        struct Part {
            size_t first, last;  // pieces; the last one of all ends with the text
            IdBuffer ids;
        };
        auto& divisions = space.divisions;
        const size_t pieces = divisions.size() + 1;
        const auto segments_before = [&](size_t piece) {
            return space.segments.data() + (piece == 0 ? 0 : piece == pieces ? space.segments.size() : divisions[piece - 1].segment);
        };
        const auto encode_part = [&](const Part& part, typename Encoder::Workspace& stretch, IdBuffer& ids) {
            for (size_t i = part.first; i < part.last; i++) {
                encode_segments(text, segments_before(i), segments_before(i + 1), stretch, ids);
                if (i < divisions.size()) divisions[i].ids = ids.size();
            }
        };
        if (threads < 2) {
            encode_part({0, pieces, {}}, space.stretch, space.ids);
            if (sink) sink(space.ids.data(), space.ids.size());
            return;
        }
        std::vector<Part> parts;
        const uint8_t* begin = text.begin;
        for (size_t i = 0; i < pieces; i++) {
            if (parts.empty() || static_cast<size_t>(begin - text.begin) >= chunk_bytes * parts.size()) parts.push_back({i, i, {}});
            parts.back().last = i + 1;
            if (i < divisions.size()) begin = divisions[i].at;
        }
        const auto work = [&](size_t i) {
            Borrowed own(*this);
            encode_part(parts[i], own->stretch, parts[i].ids);
        };
        const auto join = [&](size_t i) {
            const size_t before = space.ids.size();
            for (size_t k = parts[i].first; k < std::min(parts[i].last, divisions.size()); k++) divisions[k].ids += before;
            space.ids.append(parts[i].ids.data(), parts[i].ids.size());
            parts[i].ids = {};
            if (sink) sink(space.ids.data() + before, space.ids.size() - before);
        };
        pool_.run(parts.size(), threads, work, join);
    }

    // Whether the encoder may take in several stretches before it resolves them.
    static constexpr bool MAY_JOIN = requires(const Encoder& encoder) { encoder.joins(); };
    static constexpr size_t LEAST_CHUNK = 64 << 10;

    static bool is_surrogate(uint32_t c) { return c >= 0xD800 && c < 0xE000; }
    // Or may it be no character at all?
    bool may_begin_token(uint32_t c) const { return is_surrogate(c) || segmenter_.may_begin_token(c); }

    // A stretch inside the text's own buffer may be read on behind its end; an owned one has READABLE_BEHIND bytes there.
    static Text stretch_text(const Text& text, const Segment& segment) {
        const bool inside = segment.begin >= text.begin && segment.end <= text.end;
        return {segment.begin, segment.end, inside ? text.readable_end : segment.end + READABLE_BEHIND};
    }

    void encode_segments(const Text& text, const Segment* segment, const Segment* last, typename Encoder::Workspace& space, IdBuffer& out) const {
        if constexpr (MAY_JOIN)
            if (encoder_.joins()) return join_segments(text, segment, last, space, out);
        for (; segment != last; segment++) {
            if (segment->token != NONE) out.push(segment->token);
            else encoder_.scan(stretch_text(text, *segment), segment->begin, segment->end, space, out);
        }
    }

    // The same; added tokens that are pieces do not interrupt a window. (In Gemma every newline is an added token.)
    void join_segments(const Text& text, const Segment* segment, const Segment* last, typename Encoder::Workspace& space, IdBuffer& out) const {
        encoder_.begin(space);
        for (; segment != last; segment++) {
            if (segment->token == NONE) {
                encoder_.join(stretch_text(text, *segment), space, out);
            } else if (is_piece(segment->token)) {
                encoder_.join_piece(stretch_text(text, *segment), space, out);
            } else {
                encoder_.finish(space, out);
                out.push(segment->token);
            }
        }
        encoder_.finish(space, out);
    }
    bool is_piece(uint32_t token) const { return token < is_piece_.size() && is_piece_[token]; }
    // An added token is a piece if a text that is just that has its id: it need not be told from one.
    void note_piece(const AddedToken& token) {
        if (token.lstrip || token.rstrip || !method_->is_word(token.content, token.id)) return;
        if (is_piece_.size() <= token.id) is_piece_.resize(token.id + 1, false);
        is_piece_[token.id] = true;
    }

    void walk_segment(OffsetWalk& walk, const Segment& segment, const Origin& origin) const {
        if (segment.token != NONE) walk.token(method_->classes(), segment, origin);
        else method_->walk(walk, segment, origin);
    }
    // The same from mark to mark side by side, where every segment lies in the text.
    void offsets_in_parts(const Workspace& space, size_t threads, size_t count, const Trim& trim, Offset* out) const {
        std::vector<typename Workspace::Mark> marks{{0, 0, nullptr}};
        marks.insert(marks.end(), space.marks.begin(), space.marks.end());
        const size_t parts = space.marks.size();
        const auto place = [&](const typename Workspace::Mark& mark) {
            if (mark.at) return mark.at;
            return mark.segment < space.segments.size() ? space.segments[mark.segment].begin : space.text.end;
        };
        std::vector<size_t> characters(parts + 1, 0);  // before each mark
        if (!space.ascii) {
            pool_.run(parts, threads, [&](size_t i) { characters[i + 1] = count_characters(place(marks[i]), place(marks[i + 1])); });
            for (size_t i = 0; i < parts; i++) characters[i + 1] += characters[i];
        }
        pool_.run(parts, threads, [&](size_t i) {
            const auto &from = marks[i], &to = marks[i + 1];
            if (from.ids >= count) return;
            OffsetWalk walk(space.text.begin, space.ascii, space.ids.data(), from.ids, std::min(to.ids, count), trim, out);
            walk.start(place(from), static_cast<int32_t>(characters[i]));
            for (size_t k = from.segment; k < space.segments.size() && !walk.done(); k++) {
                Segment segment = space.segments[k];
                if (k == from.segment && from.at) segment.begin = from.at;
                if (k == to.segment && to.at) segment.end = to.at;
                walk_segment(walk, segment, {segment.begin, nullptr, false});
            }
            if (!walk.done()) throw OffsetsUnknownError("the ids are not those of the text's bytes");
        });
    }

    // Long stretches are cut into chunks, short ones gathered, and all of them encoded side by side.
    void encode_chunks(const Text& text, size_t threads, size_t chunk_bytes, Workspace& space, const Sink& sink) const {
        struct Part {
            const Segment *first, *last;            // segments
            std::unique_ptr<Chunk<Encoder>> chunk;  // a chunk of the only one; null: all of them
            IdBuffer ids;
        };
        std::vector<Part> parts;
        const Segment* segment = space.segments.data();
        const Segment* const end = segment + space.segments.size();
        size_t gathered = 0;
        for (; segment != end; segment++) {
            const size_t bytes = static_cast<size_t>(segment->end - segment->begin);
            if (segment->token == NONE && bytes > chunk_bytes) {
                add_chunks(stretch_text(text, *segment), chunk_bytes, [&](std::unique_ptr<Chunk<Encoder>> chunk) {
                    parts.push_back({segment, segment + 1, std::move(chunk), {}});
                });
                gathered = 0;
                continue;
            }
            if (gathered == 0 || gathered + bytes > chunk_bytes) {
                parts.push_back({segment, segment, nullptr, {}});
                gathered = 0;
            }
            parts.back().last = segment + 1;
            gathered += bytes + 1;
        }
        const auto work = [&](size_t i) {
            Borrowed own(*this);
            if (parts[i].chunk) parts[i].chunk->encode(encoder_, own->stretch);
            else encode_segments(text, parts[i].first, parts[i].last, own->stretch, parts[i].ids);
        };
        const uint8_t* position = nullptr;
        const auto join = [&](size_t i) {
            const size_t before = space.ids.size();
            const Segment* reached = parts[i].last;
            if (!parts[i].chunk) {
                space.ids.append(parts[i].ids.data(), parts[i].ids.size());
            } else {
                if (parts[i].chunk->is_first()) position = parts[i].chunk->begin();
                position = parts[i].chunk->join(encoder_, space.stretch, position, space.ids);
                if (position < parts[i].first->end) reached = parts[i].first;
            }
            const bool inside = reached != parts[i].last;
            space.marks.push_back({space.ids.size(), static_cast<size_t>(reached - space.segments.data()), inside ? position : nullptr});
            parts[i] = {};
            if (sink) sink(space.ids.data() + before, space.ids.size() - before);
        };
        pool_.run(parts.size(), threads, work, join);
    }
    template <class Add>
    static void add_chunks(const Text& text, size_t chunk_bytes, Add&& add) {
        for (const uint8_t* p = text.begin; p < text.end;) {
            const uint8_t* stop = static_cast<size_t>(text.end - p) > chunk_bytes ? p + chunk_bytes : text.end;
            while (stop < text.end && (*stop & 0xC0) == 0x80) stop++;
            add(std::make_unique<Chunk<Encoder>>(text, p, stop));
            p = stop;
        }
    }

    std::unique_ptr<PrefixStore> prefixes_;  // null: nothing is kept
    std::atomic<bool> trusts_seams_{false};
    size_t piece_characters_ = 0, least_characters_ = 0;
    std::unique_ptr<const Method> method_;
    const Encoder& encoder_;
    Segmenter<Method> segmenter_;
    std::vector<bool> is_piece_;  // by id of an added token
    mutable ThreadPool pool_;
    mutable IdleWorkspaces<Workspace> idle_;
};

}  // namespace lopt
