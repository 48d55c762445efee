// Encodes a whole text: transcoding, added tokens, normalizer, pre-tokens, chunks.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/id_buffer.hpp"
#include "base/idle_cores.hpp"
#include "base/thread_pool.hpp"
#include "core/added_tokens.hpp"
#include "core/boundaries.hpp"
#include "core/chunks.hpp"
#include "core/method.hpp"
#include "core/prefix_cache.hpp"
#include "core/segmenter.hpp"
#include "core/workspace.hpp"
#include "offsets/offsets.hpp"
#include "text/characters.hpp"
#include "text/text.hpp"
#include "text/utf8_text.hpp"

namespace lopt {

// Method: how the text between added tokens is encoded.
template <EncodingMethod Method>
class Core {
  public:
    using Encoder = typename Method::Encoder;
    using Workspace = lopt::Workspace<typename Encoder::Workspace>;

    // See Segmenter.
    Core(std::unique_ptr<const Method> method, AddedTokenSets added_tokens, bool add_prefix_space)
        : method_(std::move(method)), encoder_(method_->encoder()),
          segmenter_(*method_, std::move(added_tokens), add_prefix_space), boundaries_(*method_, segmenter_), prefixes_(boundaries_) {
        if constexpr (requires { encoder_.stands_alone(uint8_t{}); })
            segmenter_.leave_runs([this](const AddedToken& token) {
                return encoder_.stands_alone(static_cast<uint8_t>(token.content[0])) && method_->is_word(token.content, token.id);
            });
    }
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Receives further ids, in order, on the thread that called `encode`. `following`: about how many come after them.
    using Sink = std::function<void(const uint32_t* ids, size_t count, size_t following)>;
    // Shorter texts are not divided for one thread.
    static constexpr size_t LEAST_DIVIDED = size_t{1} << 17;  // characters

    void trust_seams() { boundaries_.trust_seams(); }

    PrefixCache<Method>& prefix_cache() { return prefixes_; }
    const PrefixCache<Method>& prefix_cache() const { return prefixes_; }

    // Writes the ids of one text to `sink` as soon as they are final, or to `space.ids` if `sink` is not called. With
    // `recall`, the ids of `space.known` precede them. `owner` keeps the text alive if later texts may reuse it. Throws
    // LoneSurrogateError, or whatever the normalizer throws.
    void encode(const Characters& text, const EncodeOptions& options, Workspace& space, const Sink& sink = {}, const std::shared_ptr<void>& owner = {}) const {
        space.known = {};
        space.divisions.clear();
        if (!options.recall || !prefixes_.applies(text)) return encode_all(text, options, space, sink, !sink);
        prefixes_.recall(text, options.split_special, space);
        if (space.known.characters == text.length) return space.ids.clear();
        EncodeOptions of_rest = options;
        of_rest.inside |= space.known.characters > 0;
        encode_all(text.part(space.known.characters, text.length), of_rest, space, sink, !sink || owner);
        if (owner) prefixes_.hold(text, options.split_special, space, owner);
    }

    // Writes the ids of bytes that should be UTF-8 to `space.ids`, without the prefix cache. Throws InvalidUtf8Error, or
    // whatever the normalizer throws.
    void encode(std::string_view bytes, const EncodeOptions& options, Workspace& space) const {
        space.known = {};
        space.divisions.clear();
        bool ascii, marked = false;
        const Text utf8 = to_utf8(bytes, method_->page_marks(), space.utf8, ascii, marked);
        encode_utf8(utf8, ascii, marked, options, {}, space);
    }

    // Divides a text into segments as `encode` does, and encodes none of them.
    void find_segments(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        space.known = {};
        space.divisions.clear();
        bool marked = false;
        const Text utf8 = to_utf8(text, method_->page_marks(), space.utf8, marked);
        segment(utf8, text.ascii, marked, options, space);
    }

    // Writes the offsets of the first `count` ids that `encode`, called with `offsets`, left in `space`. The text must
    // still exist. Throws OffsetsUnknownError if only the reference library knows them.
    void offsets(const Workspace& space, size_t threads, size_t count, const Trim& trim, Offset* out) const {
        if (threads > 1 && !space.marks.empty() && space.origins.empty() && method_->walks_apart()) return offsets_in_parts(space, threads, count, trim, out);
        OffsetWalk walk(space.text.begin, space.ascii, space.ids.data(), 0, count, trim, out);
        for (size_t i = 0; i < space.segments.size() && !walk.done(); i++) {
            const Segment& segment = space.segments[i];
            walk_segment(walk, segment, space.origins.empty() ? Origin{segment.begin, nullptr, false} : space.origins[i]);
        }
        if (!walk.done()) throw OffsetsUnknownError("the ids are not those of the text's bytes");
    }

    // The length of the pieces that a text is divided into. UTF-8 and ids of one fit in the processor's caches; with sixteen
    // per thread, the rest waits little for the last one.
    static size_t default_chunk(size_t length, size_t threads) {
        if (threads == 1) return length < LEAST_DIVIDED ? std::max<size_t>(length, 1) : MOST_CHUNK;
        return std::clamp(length / (threads * 16), LEAST_CHUNK, MOST_CHUNK);
    }

    // A workspace for one call; its destructor returns it to the idle ones.
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

    // Past a stretch inside the text's own buffer, the rest of the text is readable; past an owned stretch,
    // READABLE_AFTER bytes.
    static Text stretch_text(const Text& text, const Segment& segment) {
        const bool inside = segment.begin >= text.begin && segment.end <= text.end;
        return {segment.begin, segment.end, inside ? text.readable_end : segment.end + READABLE_AFTER};
    }

    const Method& method() const { return *method_; }
    const Segmenter<Method>& segmenter() const { return segmenter_; }
    const Boundaries<Method>& boundaries() const { return boundaries_; }
    ThreadPool& pool() const { return pool_; }
    size_t bytes() const { return method_->bytes(); }
    // Size of the workspaces that no call is using.
    size_t idle_bytes() const { return idle_.bytes(); }

  private:
    // `keeps`: leaves the ids in `space.ids` even if there is a sink.
    void encode_all(const Characters& text, const EncodeOptions& asked, Workspace& space, const Sink& sink, bool keeps) const {
        EncodeOptions options = asked;
        // If a chunk length is given, the number of threads is used as requested.
        if (!asked.chunk_bytes && asked.threads > 1) options.threads = has_work_for_several(text) ? threads_worth(asked.threads, text.length) : 1;
        if (const auto ends = ends_of_parts(text, options, space); !ends.empty()) return encode_parts(text, ends, options, space, sink, keeps);
        bool marked = false;
        const Text utf8 = to_utf8(text, method_->page_marks(), space.utf8, marked);
        locate_divisions(text, utf8, chunk_of(utf8, options), space);
        encode_utf8(utf8, text.ascii, marked, options, sink, space);
    }
    // Where the parts end of a text that is long, or that several threads encode. Their UTF-8 and ids stay in the processor's caches,
    // which saves a third of the time, and need no fresh memory. Empty if the text is encoded as a whole, or in chunks.
    std::vector<size_t> ends_of_parts(const Characters& text, const EncodeOptions& options, const Workspace& space) const {
        constexpr size_t SEARCHED = 256, MOST_LONGER = 4;  // characters that are tested at each place; how many places
        const size_t wanted = options.chunk_bytes ? options.chunk_bytes : default_chunk(text.length, options.threads);
        if (text.length <= wanted || options.offsets || !space.divisions.empty() || !boundaries_.trusts_seams()) return {};
        std::vector<size_t> ends{0};
        while (ends.back() < text.length) {
            const size_t begin = ends.back();
            for (size_t at = begin + wanted; ends.back() == begin; at += wanted) {
                // Chunks share a text with few seams better.
                if (at > begin + MOST_LONGER * wanted) return {};
                const size_t stop = std::min(at + SEARCHED, text.length);
                const size_t seam = at < stop ? boundaries_.first_seam(text, at, stop) : text.length;
                if (seam < stop || stop == text.length) ends.push_back(seam);
            }
        }
        return {ends.begin() + 1, ends.end()};
    }
    // Encodes the parts of a text that have these ends.
    void encode_parts(const Characters& text, const std::vector<size_t>& ends, const EncodeOptions& options, Workspace& space, const Sink& sink, bool keeps) const {
        struct Encoded {
            IdBuffer ids;
            size_t utf8_bytes;
        };
        std::vector<Encoded> encoded(ends.size());
        const auto work = [&](size_t i) {
            Borrowed own(*this);
            EncodeOptions of_part = {1, SIZE_MAX, options.split_special};  // not divided again
            of_part.inside = options.inside || i > 0;
            encode(text.part(i > 0 ? ends[i - 1] : 0, ends[i]), of_part, *own);
            encoded[i].utf8_bytes = own->utf8_bytes;
            encoded[i].ids.append(own->ids.data(), own->ids.size());
        };
        space.ids.clear();
        space.utf8_bytes = 0;
        size_t count = 0;
        const auto join = [&](size_t i) {
            const Encoded part = std::move(encoded[i]);
            space.utf8_bytes += part.utf8_bytes;
            count += part.ids.size();
            if (keeps) space.ids.append(part.ids.data(), part.ids.size());
            if (sink) sink(part.ids.data(), part.ids.size(), count * (ends.size() - i - 1) / (i + 1));
        };
        pool_.run(ends.size(), options.threads, work, join);
    }
    // The longest stretch that is not divided, in bytes; SIZE_MAX if none is divided.
    static size_t chunk_of(const Text& utf8, const EncodeOptions& options) {
        const auto bytes = static_cast<size_t>(utf8.end - utf8.begin);
        check_length(bytes);
        const size_t chunk = options.chunk_bytes ? options.chunk_bytes : default_chunk(bytes, options.threads);
        return bytes > chunk && (options.threads > 1 || options.chunk_bytes) ? chunk : SIZE_MAX;
    }
    void segment(const Text& utf8, bool ascii, bool marked, const EncodeOptions& options, Workspace& space) const {
        space.ids.clear();
        space.owned.clear();
        space.marks.clear();
        space.origins.clear();
        space.alignments.clear();
        space.text = utf8;
        space.utf8_bytes = static_cast<size_t>(utf8.end - utf8.begin);
        space.ascii = ascii;
        check_length(space.utf8_bytes);
        segmenter_.find(utf8, options, marked, space);
    }
    void encode_utf8(const Text& utf8, bool ascii, bool marked, const EncodeOptions& options, const Sink& sink, Workspace& space) const {
        const size_t chunk = chunk_of(utf8, options);
        segment(utf8, ascii, marked, options, space);
        const size_t segments = space.segments.size();
        if (chunk != SIZE_MAX) {
            encode_chunks(utf8, options.threads, chunk, space, sink);
        } else {
            encode_segments(utf8, 0, segments, space, space.stretch, space.ids);
            if (sink) sink(space.ids.data(), space.ids.size(), 0);
        }
        // Nothing came of the text after these divisions.
        for (Division& division : divisions_of(space, segments, segments + 1)) division.ids = space.ids.size();
    }

    // Locates the divisions in the text's bytes. Drops all of them if a piece would be longer than `most_bytes`: chunks,
    // which can divide any text, then share the work better.
    static void locate_divisions(const Characters& text, const Text& utf8, size_t most_bytes, Workspace& space) {
        if (space.divisions.empty()) return;
        const uint8_t* at = utf8.begin;
        size_t longest = 0;
        visit_units(text, [&](const auto* s) {
            size_t from = 0;
            for (auto& division : space.divisions) {
                const size_t to = division.character - space.known.characters;
                const size_t bytes = text.ascii ? to - from : utf8_length(s + from, to - from);
                division.at = at += bytes;
                longest = std::max(longest, bytes);
                from = to;
            }
        });
        if (std::max(longest, static_cast<size_t>(utf8.end - at)) > most_bytes) space.divisions.clear();
    }

    // Is there so much to do that other threads, which may have to be woken, save time? Characters beyond ASCII take several
    // times as long.
    static bool has_work_for_several(const Characters& text) {
        constexpr size_t LEAST = 384 << 10, OF_FURTHER_BYTE = 6;  // as bytes of ASCII, byte-pair encoded: about half a millisecond
        if (text.length * Method::WORK >= LEAST || text.ascii) return text.length * Method::WORK >= LEAST;
        const size_t further = visit_units(text, [&](const auto* s) { return utf8_length(s, text.length); }) - text.length;
        return (text.length + OF_FURTHER_BYTE * further) * Method::WORK >= LEAST;
    }

    static constexpr size_t LEAST_CHUNK = 8 << 10, MOST_CHUNK = 32 << 10;

    // The divisions before segments [first, last).
    static std::span<Division> divisions_of(Workspace& space, size_t first, size_t last) {
        auto& all = space.divisions;
        const auto before = [&all](size_t segment) {
            return std::lower_bound(all.begin(), all.end(), segment, [](const Division& division, size_t number) { return division.segment < number; });
        };
        return {before(first), before(last)};
    }
    // Appends the ids of segments [first, last), and notes how many ids precede each division.
    void encode_segments(const Text& text, size_t first, size_t last, Workspace& space, typename Encoder::Workspace& stretch, IdBuffer& out) const {
        const std::span<Division> divisions = divisions_of(space, first, last);
        auto division = divisions.begin();
        for (size_t i = first; i < last; i++) {
            for (; division != divisions.end() && division->segment == i; ++division) division->ids = out.size();
            const Segment& segment = space.segments[i];
            if (segment.token != NONE) out.push(segment.token);
            else encoder_.scan(stretch_text(text, segment), segment.begin, segment.end, stretch, out);
        }
    }

    void walk_segment(OffsetWalk& walk, const Segment& segment, const Origin& origin) const {
        if (segment.token != NONE) walk.token(method_->classes(), segment, origin);
        else method_->walk(walk, segment, origin);
    }
    // The same in parallel, from mark to mark, if every segment lies in the text.
    void offsets_in_parts(const Workspace& space, size_t threads, size_t count, const Trim& trim, Offset* out) const {
        std::vector<typename Workspace::Mark> marks{{0, 0, nullptr}};
        marks.insert(marks.end(), space.marks.begin(), space.marks.end());
        const size_t parts = space.marks.size();
        const auto place = [&](const typename Workspace::Mark& mark) {
            if (mark.at) return mark.at;
            return mark.segment < space.segments.size() ? space.segments[mark.segment].begin : space.text.end;
        };
        std::vector<size_t> characters(parts + 1, 0);  // number before each mark
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

    // Divides long stretches into chunks, groups short ones, and encodes everything in parallel.
    void encode_chunks(const Text& text, size_t threads, size_t chunk_bytes, Workspace& space, const Sink& sink) const {
        struct Part {
            size_t first, last;                     // segments
            std::unique_ptr<Chunk<Encoder>> chunk;  // a chunk of the only segment; null: all segments, whole
            IdBuffer ids;
        };
        std::vector<Part> parts;
        size_t gathered = 0;
        for (size_t i = 0; i < space.segments.size(); i++) {
            const Segment& segment = space.segments[i];
            const auto bytes = static_cast<size_t>(segment.end - segment.begin);
            if (segment.token == NONE && bytes > chunk_bytes) {
                add_chunks(stretch_text(text, segment), chunk_bytes, [&](std::unique_ptr<Chunk<Encoder>> chunk) {
                    parts.push_back({i, i + 1, std::move(chunk), {}});
                });
                gathered = 0;
                continue;
            }
            if (gathered == 0 || gathered + bytes > chunk_bytes) {
                parts.push_back({i, i, nullptr, {}});
                gathered = 0;
            }
            parts.back().last = i + 1;
            gathered += bytes + 1;
        }
        const auto work = [&](size_t i) {
            Borrowed own(*this);
            if (parts[i].chunk) parts[i].chunk->encode(encoder_, own->stretch);
            else encode_segments(text, parts[i].first, parts[i].last, space, own->stretch, parts[i].ids);
        };
        const uint8_t* position = nullptr;
        const auto join = [&](size_t i) {
            Part part = std::move(parts[i]);
            const size_t before = space.ids.size();
            size_t reached = part.last;
            if (!part.chunk || part.chunk->is_first())
                for (Division& division : divisions_of(space, part.first, part.last)) division.ids += before;
            if (!part.chunk) {
                space.ids.append(part.ids.data(), part.ids.size());
            } else {
                if (part.chunk->is_first()) position = part.chunk->begin();
                position = part.chunk->join(encoder_, space.stretch, position, space.ids);
                if (position < space.segments[part.first].end) reached = part.first;
            }
            space.marks.push_back({space.ids.size(), reached, reached == part.last ? nullptr : position});
            if (sink) sink(space.ids.data() + before, space.ids.size() - before, space.ids.size() * (parts.size() - i - 1) / (i + 1));
        };
        pool_.run(parts.size(), threads, work, join);
    }
    template <class Add>
    void add_chunks(const Text& text, size_t chunk_bytes, Add&& add) const {
        for (const uint8_t* p = text.begin; p < text.end;) {
            const uint8_t* stop = static_cast<size_t>(text.end - p) > chunk_bytes ? p + chunk_bytes : text.end;
            while (stop < text.end && is_continuation(*stop)) stop++;
            // A scan that begins inside a long word gives nothing to join.
            if constexpr (requires { encoder_.word_end_after(stop, text.end); }) stop = encoder_.word_end_after(stop, text.end);
            add(std::make_unique<Chunk<Encoder>>(text, p, stop));
            p = stop;
        }
    }

    std::unique_ptr<const Method> method_;
    const Encoder& encoder_;
    Segmenter<Method> segmenter_;
    Boundaries<Method> boundaries_;
    PrefixCache<Method> prefixes_;
    mutable ThreadPool pool_;
    mutable IdleWorkspaces<Workspace> idle_;
};

}  // namespace lopt
