// The options of one call, and its buffers.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/buffer.hpp"
#include "base/id_buffer.hpp"
#include "offsets/offsets.hpp"
#include "prefix/held_texts.hpp"
#include "text/text.hpp"

namespace lopt {

struct EncodeOptions {
    size_t threads = 1;          // 0: also one
    size_t chunk_chars = 0;      // 0: depends on the length of the text
    bool split_special = false;  // treat special added tokens as plain text
    bool offsets = false;        // `offsets` will be called
    bool recall = false;         // the start may come from earlier texts, see Workspace::known
    bool inside = false;         // the text follows a seam (seam.hpp), so it is not the start of a stretch
};

// A text, or a chunk of one, and its segments: all that the offsets of its ids follow from.
struct SegmentedText {
    Text text{};
    bool ascii = false;
    Buffer<uint8_t> utf8;
    Buffer<Segment> segments;
    std::vector<std::unique_ptr<std::string>> owned;  // results of normalization
    Buffer<Origin> origins;  // of each segment, unless all segments are unchanged parts of the text
    std::deque<Alignment> alignments;
};

// Buffers of one call, reused by later ones. Stretch: the encoder's own workspace.
template <class Stretch>
struct Workspace : SegmentedText {
    Stretch stretch;
    IdBuffer ids;
    Buffer<Segment> raw_segments;
    KnownBeginning known;  // its ids precede `ids`
    size_t indexed_end = 0;  // see HeldTexts::hold
    // Where the chunks of the text end, without what is known, and what precedes; empty if it is encoded as a whole.
    std::vector<Seam> ends;
    size_t utf8_bytes = 0;  // of the text without what is known
    std::vector<SegmentedText> chunks;  // if offsets are wanted

    // Forgets the last text.
    void begin() {
        known = {};
        ends.clear();
        chunks.clear();
    }
    // Forgets the text. Frees the memory of unusually large texts; returns the remaining size in bytes.
    size_t rest() {
        constexpr size_t OF_TEXT = size_t{4} << 20, OF_OTHERS = size_t{1} << 20;
        owned.clear();
        known = {};
        alignments.clear();
        chunks.clear();
        text = {};
        return sizeof *this + stretch.keep_at_most(OF_OTHERS) + ids.keep_at_most(OF_TEXT) + keep_at_most(OF_TEXT, utf8) +
               keep_at_most(OF_OTHERS, segments) + keep_at_most(OF_OTHERS, raw_segments) + keep_at_most(OF_OTHERS, owned) +
               keep_at_most(OF_OTHERS, ends) + keep_at_most(OF_OTHERS, origins);
    }
};

// Workspaces that no call is using.
template <class Workspace>
class IdleWorkspaces {
  public:
    // Never waits for the lock, because in a forked child it may never be released.
    std::unique_ptr<Workspace> take() {
        {
            const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
            if (lock && !idle_.empty()) {
                auto space = std::move(idle_.back().space);
                bytes_ -= idle_.back().bytes;
                idle_.pop_back();
                return space;
            }
        }
        return std::make_unique<Workspace>();
    }
    void give_back(std::unique_ptr<Workspace> space) {
        const size_t bytes = space->rest();
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock || idle_.size() >= most_ || bytes_ + bytes > MOST_BYTES) return;
        idle_.push_back({std::move(space), bytes});
        bytes_ += bytes;
    }
    size_t bytes() const {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        return lock ? bytes_ : 0;
    }

  private:
    static constexpr size_t MOST_BYTES = size_t{256} << 20;

    struct Idle {
        std::unique_ptr<Workspace> space;
        size_t bytes;
    };

    // More threads than that seldom encode at the same time.
    const size_t most_ = 2 * std::max(std::thread::hardware_concurrency(), 2u);
    mutable std::mutex mutex_;
    std::vector<Idle> idle_;
    size_t bytes_ = 0;
};

}  // namespace lopt
