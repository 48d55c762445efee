// Encodes a whole text: transcoding, added tokens, normalizer, pre-tokens.
//
// A long text is divided at seams (seam.hpp) into chunks, which several threads encode independently of each other.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/id_buffer.hpp"
#include "base/idle_cores.hpp"
#include "base/parallel_for.hpp"
#include "base/thread_pool.hpp"
#include "core/added_tokens.hpp"
#include "core/boundaries.hpp"
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
        space.begin();
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
        space.begin();
        bool ascii, marked = false;
        const Text utf8 = to_utf8(bytes, method_->page_marks(), space.utf8, ascii, marked);
        segment(utf8, ascii, marked, options, space);
        encode_segments(space);
    }

    // Divides a text into segments as `encode` does, and encodes none of them.
    void find_segments(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        space.begin();
        segment(text, options, space);
    }

    // Writes the offsets of the first `count` ids that `encode`, called with `offsets`, left in `space`. The text must
    // still exist. Throws OffsetsUnknownError if only the reference library knows them.
    void offsets(const Workspace& space, size_t threads, size_t count, const Trim& trim, Offset* out) const {
        if (space.chunks.empty()) return walk(space, {}, space.ids, count, trim, out);
        pool_.run(space.chunks.size(), threads, [&](size_t i) {
            const Seam before = i > 0 ? space.ends[i - 1] : Seam{};
            if (before.ids < count) walk(space.chunks[i], before, space.ids, std::min(count, space.ends[i].ids), trim, out);
        });
    }

    // The length of the chunks, in characters. UTF-8 and ids of one fit in the processor's caches, which saves a third of the
    // time and needs no fresh memory; with sixteen per thread, the rest waits little for the last one.
    static size_t default_chunk(size_t length, size_t threads) {
        if (threads < 2) return length < LEAST_DIVIDED ? std::max<size_t>(length, 1) : MOST_CHUNK;
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
        if (!asked.chunk_chars && asked.threads > 1) options.threads = has_work_for_several(text) ? threads_worth(asked.threads, text.length) : 1;
        const size_t chunk = options.chunk_chars ? options.chunk_chars : default_chunk(text.length, options.threads);
        add_ends(text, chunk, space.ends);
        if (!space.ends.empty()) return encode_chunks(text, chunk, options, space, sink, keeps);
        encode_whole(text, options, space);
        if (sink) sink(space.ids.data(), space.ids.size(), 0);
    }
    void encode_whole(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        segment(text, options, space);
        encode_segments(space);
    }
    // Adds seams that are about `chunk` characters apart, after those that are there. A chunk without a seam near its end becomes longer.
    void add_ends(const Characters& text, size_t chunk, std::vector<Seam>& ends) const {
        constexpr size_t SEARCHED = 256;  // characters
        if (!boundaries_.trusts_seams()) return;
        for (size_t at = ends.empty() ? 0 : ends.back().character; (at = boundaries_.next_seam(text, at, chunk, SEARCHED)) < text.length;) ends.push_back({at, 0, 0});
    }
    // Encodes the chunks that end at the seams `space.ends`, and adds the end of the text to these. One thread encodes at
    // least `together` characters at a time.
    void encode_chunks(const Characters& text, size_t together, const EncodeOptions& options, Workspace& space, const Sink& sink, bool keeps) const {
        auto& ends = space.ends;
        ends.push_back({text.length, 0, 0});
        const auto begin_of = [&ends](size_t i) { return i > 0 ? ends[i - 1].character : 0; };
        const std::vector<size_t> firsts = groups_of(ends.size(), together, [&](size_t i) { return ends[i].character - begin_of(i); });
        std::vector<IdBuffer> groups(firsts.size() - 1);
        if (options.offsets) space.chunks = std::vector<SegmentedText>(ends.size());
        const auto work = [&](size_t group) {
            Borrowed own(*this);
            groups[group].clear();
            for (size_t i = firsts[group]; i < firsts[group + 1]; i++) {
                EncodeOptions of_chunk = options;
                of_chunk.inside |= i > 0;
                encode_whole(text.part(begin_of(i), ends[i].character), of_chunk, *own);
                ends[i].ids = own->ids.size();
                ends[i].utf8_bytes = own->utf8_bytes;
                groups[group].append(own->ids.data(), own->ids.size());
                if (options.offsets) space.chunks[i] = std::move(static_cast<SegmentedText&>(*own));
            }
        };
        space.ids.clear();
        Seam before{};
        const auto join = [&](size_t group) {
            const IdBuffer ids = std::move(groups[group]);
            for (size_t i = firsts[group]; i < firsts[group + 1]; i++) {
                before.ids = ends[i].ids += before.ids;
                before.utf8_bytes = ends[i].utf8_bytes += before.utf8_bytes;
            }
            const size_t following = before.ids * (groups.size() - group - 1) / (group + 1);
            if (keeps && group == 0) space.ids.reserve(ids.size() + following + following / 8);
            if (keeps) space.ids.append(ids.data(), ids.size());
            if (sink) sink(ids.data(), ids.size(), following);
        };
        pool_.run(groups.size(), options.threads, work, join);
        space.utf8_bytes = before.utf8_bytes;
    }
    void segment(const Characters& text, const EncodeOptions& options, Workspace& space) const {
        bool marked = false;
        const Text utf8 = to_utf8(text, method_->page_marks(), space.utf8, marked);
        segment(utf8, text.ascii, marked, options, space);
    }
    void segment(const Text& utf8, bool ascii, bool marked, const EncodeOptions& options, Workspace& space) const {
        space.ids.clear();
        space.owned.clear();
        space.origins.clear();
        space.alignments.clear();
        space.text = utf8;
        space.utf8_bytes = static_cast<size_t>(utf8.end - utf8.begin);
        space.ascii = ascii;
        check_length(space.utf8_bytes);
        segmenter_.find(utf8, options, marked, space);
    }
    void encode_segments(Workspace& space) const {
        for (const Segment& segment : space.segments) {
            if (segment.token != NONE) space.ids.push(segment.token);
            else encoder_.encode(stretch_text(space.text, segment), space.stretch, space.ids);
        }
    }
    // Writes the offsets of ids [before.ids, last) of a text: those of `chunk`, which comes after `before`.
    void walk(const SegmentedText& chunk, const Seam& before, const IdBuffer& ids, size_t last, const Trim& trim, Offset* out) const {
        OffsetWalk walk(chunk.text.begin, chunk.ascii, before.character, ids.data(), before.ids, last, trim, out);
        for (size_t i = 0; i < chunk.segments.size() && !walk.done(); i++) {
            const Segment& segment = chunk.segments[i];
            const Origin origin = chunk.origins.empty() ? Origin{segment.begin, nullptr, false} : chunk.origins[i];
            if (segment.token != NONE) walk.token(method_->classes(), segment, origin);
            else method_->walk(walk, segment, origin);
        }
        if (!walk.done()) throw OffsetsUnknownError("the ids are not those of the text's bytes");
    }

    // Is there so much to do that other threads, which may have to be woken, save time? Characters beyond ASCII take several
    // times as long.
    static bool has_work_for_several(const Characters& text) {
        constexpr size_t LEAST = 384 << 10, OF_FURTHER_BYTE = 6;  // as bytes of ASCII, byte-pair encoded: about half a millisecond
        if (text.length * Method::WORK >= LEAST || text.ascii) return text.length * Method::WORK >= LEAST;
        const size_t further = visit_units(text, [&](const auto* s) { return utf8_length(s, text.length); }) - text.length;
        return (text.length + OF_FURTHER_BYTE * further) * Method::WORK >= LEAST;
    }

    static constexpr size_t LEAST_CHUNK = 8 << 10, MOST_CHUNK = 32 << 10;  // characters

    std::unique_ptr<const Method> method_;
    const Encoder& encoder_;
    Segmenter<Method> segmenter_;
    Boundaries<Method> boundaries_;
    PrefixCache<Method> prefixes_;
    mutable ThreadPool pool_;
    mutable IdleWorkspaces<Workspace> idle_;
};

}  // namespace lopt
