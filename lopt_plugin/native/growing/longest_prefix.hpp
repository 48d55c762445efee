// The longest prefix of a text that has at most so many ids as a text of its own.
//
// The counts of prefixes do not rise steadily, but those of prefixes that end at seams do, and a prefix that ends after a seam
// has at least as many ids as the one that ends there. So the longest prefix ends between the last seam with at most so many
// ids and the next seam, and every place between them is tried. Where these are far apart, the part between them is mostly a
// run of characters (uniform_runs.hpp), and one pass gives the counts of all its prefixes.
#pragma once

#include <optional>

#include "growing/growing.hpp"

namespace lopt {

// Counts of the prefixes of a part of a text that is one word whatever its length, and so are they.
template <class Core>
class WordPrefixes {
  public:
    using Part = typename Parts<Core>::Part;

    WordPrefixes(const Core& core, const Characters& text, const Part& part, bool split_special)
        : core_(core), text_(text), part_(part), split_special_(split_special), word_text_(text, part.begin, part.end), word_(*core.method().word_model()) {
        counted_ = word_text_.size() > longest_whole() && word_.append(word_text_.data(), word_text_.size());
    }

    size_t count(size_t end, typename Core::Workspace& space) const {
        const size_t bytes = word_text_.end(end - part_.begin);
        if (counted_ && bytes > longest_whole()) return word_.count(bytes);
        return encode_part(core_, text_, {part_.begin, end, part_.inside}, split_special_, space);
    }

  private:
    size_t longest_whole() const { return core_.method().word_model()->longest_whole(); }

    const Core& core_;
    const Characters& text_;
    Part part_;
    bool split_special_, counted_;
    WordText word_text_;
    GrowingWord word_;
};

// Counts of the prefixes of a part between seams, for ends that go down.
template <class Core>
class PartPrefixes {
  public:
    using Part = typename Parts<Core>::Part;

    PartPrefixes(const Core& core, const Characters& text, const Part& part, bool split_special)
        : core_(core), text_(text), part_(part), split_special_(split_special), line_(part.end) {
        if (part.end - part.begin < LONG_WORD) return;
        const bool is_word = core.boundaries().is_word(text, part.begin, part.end);
        has_lines_ = !is_word && core.boundaries().is_white_space(text, part.begin, part.end);
        if (is_word || has_lines_) word_.emplace(core, text, part, split_special);
    }

    size_t count(size_t end, typename Core::Workspace& space) {
        if (!word_) return encode_part(core_, text_, {part_.begin, end, part_.inside}, split_special_, space);
        if (!has_lines_) return word_->count(end, space);
        // White space is one word up to its last newline, and one after it.
        const size_t line = begin_of_line(end);
        if (line != line_) {
            line_ = line;
            of_lines_before_ = line == part_.begin ? 0 : word_->count(line, space);
            of_line_.reset();
        }
        if (line == part_.begin || line == end) return word_->count(end, space);
        if (!of_line_) of_line_.emplace(core_, text_, Part{line, end, true}, split_special_);
        return of_lines_before_ + of_line_->count(end, space);
    }

  private:
    // After the last newline before `end`.
    size_t begin_of_line(size_t end) const {
        if (line_ <= end) return line_;
        while (end > part_.begin && !core_.boundaries().is_newline(text_[end - 1])) end--;
        return end;
    }

    const Core& core_;
    const Characters& text_;
    Part part_;
    bool split_special_, has_lines_ = false;
    std::optional<WordPrefixes<Core>> word_, of_line_;
    size_t line_, of_lines_before_ = 0;  // of the line of the last call
};

template <class Core>
size_t longest_prefix(const Core& core, const Characters& text, size_t most, bool split_special, typename Core::Workspace& space) {
    constexpr size_t SHORT = 64;  // characters that are encoded in no time
    Estimate estimate;
    size_t before = 0;
    typename Parts<Core>::Part part{0, text.length, false};
    for (const size_t longest : {PART, SHORT, size_t{1}}) {
        Parts<Core> parts(core, text, part.begin, part.end, part.inside);
        bool found = false;
        while (!parts.done()) {
            part = parts.next(std::min(longest, estimate.characters(most - before)));
            const size_t count = encode_part(core, text, part, split_special, space);
            found = before + count > most;
            if (found) break;
            estimate.read(part.end - part.begin, count);
            before += count;
        }
        if (!found) return part.end;  // only where the whole text has no more
    }
    PartPrefixes<Core> prefixes(core, text, part, split_special);
    for (size_t end = part.end - 1; end > part.begin; end--)
        if (before + prefixes.count(end, space) <= most) return end;
    return part.begin;
}

}  // namespace lopt
