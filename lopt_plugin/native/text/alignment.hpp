// Maps each character of a normalized stretch to the character it came from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/needs_reference.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Characters [begin, end) of a text.
struct Offset {
    int32_t begin, end;
};

// The offsets are unknown for this text or pipeline; the reference library must compute them.
struct OffsetsUnknownError : NeedsReference {
    using NeedsReference::NeedsReference;
};

// For each character of a derived text, the character of the original that it came from. In every step, the reference
// library gives a character the position of exactly one earlier character. Sources mostly come in runs, so only the start
// of each run is recorded.
class Sources {
    struct Run {
        int32_t first, source;  // characters from `first` on came from those at `source` and after
    };

  public:
    // The next characters of the old text, [p, end), remain unchanged.
    void keep(const uint8_t* p, const uint8_t* end) {
        const auto count = static_cast<int32_t>(count_characters(p, end));
        append(passed_, count);
        passed_ += count;
    }
    // [p, end) becomes `count` characters, which take the position of its first or last one.
    void replace(const uint8_t* p, const uint8_t* end, size_t count, bool by_last) {
        const auto passed = static_cast<int32_t>(count_characters(p, end));
        for (size_t i = 0; i < count; i++) append(by_last ? passed_ + passed - 1 : passed_, 1);
        passed_ += passed;
    }
    // [p, end) becomes characters whose sources, relative to p, are `offsets`.
    void replace(const uint8_t* p, const uint8_t* end, const std::vector<Offset>& offsets) {
        for (const Offset& offset : offsets) append(passed_ + offset.begin, 1);
        passed_ += static_cast<int32_t>(count_characters(p, end));
    }
    // The sources are those of the reference library, but not where the characters came from: it did not count some.
    void misplace() { misplaced_ = true; }
    bool misplaced() const { return misplaced_; }
    // Composes these sources with `before`, the sources of the text that they refer to.
    void follow(const Sources& before) {
        misplaced_ |= before.misplaced_;
        const std::vector<Run> runs = std::move(runs_);
        const int32_t size = std::exchange(size_, 0);
        runs_.clear();
        for (size_t i = 0; i < runs.size(); i++) {
            int32_t source = runs[i].source, left = (i + 1 < runs.size() ? runs[i + 1].first : size) - runs[i].first;
            if (source < 0 || left > before.size_ - source) throw OffsetsUnknownError("a normalized character has no place in the text");
            for (size_t run = before.run_of(source); left > 0; run++) {
                const int32_t count = std::min(left, before.end_of(run) - source);
                append(before.runs_[run].source + (source - before.runs_[run].first), count);
                source += count;
                left -= count;
            }
        }
    }

    size_t size() const { return static_cast<size_t>(size_); }

    // Reads sources; fast for ascending indexes.
    class Reader {
      public:
        Reader() = default;
        explicit Reader(const Sources& sources) : sources_(&sources) {}
        // The source of a character that has one.
        [[gnu::always_inline]] int32_t operator[](int32_t character) {
            if (character < first_ || character >= end_) [[unlikely]] find(character);
            return character + to_source_;
        }

      private:
        [[gnu::noinline]] void find(int32_t character) {
            const size_t next = run_ + 1;
            const bool is_next = next < sources_->runs_.size() && character >= sources_->runs_[next].first && character < sources_->end_of(next);
            run_ = is_next ? next : sources_->run_of(character);
            first_ = sources_->runs_[run_].first;
            end_ = sources_->end_of(run_);
            to_source_ = sources_->runs_[run_].source - first_;
        }

        const Sources* sources_ = nullptr;
        size_t run_ = 0;
        int32_t first_ = 0, end_ = 0, to_source_ = 0;
    };

  private:
    // The next `count` characters came from those at `source` and after.
    void append(int32_t source, int32_t count) {
        if (count == 0) return;
        if (runs_.empty() || source - runs_.back().source != size_ - runs_.back().first) runs_.push_back({size_, source});
        size_ += count;
    }
    // The run that contains a character, which must exist.
    size_t run_of(int32_t character) const {
        const auto after = std::upper_bound(runs_.begin(), runs_.end(), character, [](int32_t at, const Run& run) { return at < run.first; });
        return static_cast<size_t>(after - runs_.begin()) - 1;
    }
    int32_t end_of(size_t run) const { return run + 1 < runs_.size() ? runs_[run + 1].first : size_; }

    std::vector<Run> runs_;
    int32_t size_ = 0, passed_ = 0;
    bool misplaced_ = false;
};

// Writes the text [begin, end) with some of its parts replaced, from left to right; writes nothing if none is.
class Rewriting {
  public:
    // `sources`: null, or empty; receives where the characters of `out` came from.
    Rewriting(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) : copied_(begin), end_(end), out_(out), sources_(sources) {}

    // Replaces [from, to). Returns null, or what must be told where the characters of the replacement came from.
    Sources* replace(const uint8_t* from, const uint8_t* to, std::string_view by) {
        if (!changed_) {
            out_.clear();
            out_.reserve(static_cast<size_t>(end_ - copied_) + 64);
        }
        changed_ = true;
        out_.append(copied_, from).append(by);
        if (sources_) sources_->keep(copied_, from);
        copied_ = to;
        return sources_;
    }
    // Writes what follows the last part; returns whether any was replaced.
    bool finish() {
        if (changed_) out_.append(copied_, end_);
        if (changed_ && sources_) sources_->keep(copied_, end_);
        return changed_;
    }

  private:
    const uint8_t *copied_, *const end_;  // up to `copied_`, the text has been read
    std::string& out_;
    Sources* const sources_;
    bool changed_ = false;
};

// Where the characters of a normalized stretch came from.
struct Alignment {
    const uint8_t* normalized;  // start of the normalized form
    const uint8_t* original;    // start of the stretch in the text
    Sources sources;            // relative to `original`
};

}  // namespace lopt
