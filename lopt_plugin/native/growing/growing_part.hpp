// The end of a growing text, if it has no seam: only what is appended is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "growing/growing.hpp"
#include "growing/growing_word.hpp"
#include "growing/token_watch.hpp"
#include "scan/uniform_runs.hpp"
#include "text/characters.hpp"
#include "text/utf8.hpp"

namespace lopt {

template <class Core>
class GrowingPart {
  public:
    // `inside`, `split_special`: see EncodeOptions. The core must have a `word_model`, and must outlive this object.
    GrowingPart(const Core& core, bool inside, bool split_special)
        : core_(core), inside_(inside), split_special_(split_special), tokens_(core, split_special), word_(*core.method().word_model()) {}

    // Returns false if the text is not one word any more; the object must not be used after that.
    bool append(const Characters& text) {
        kinds_ = core_.boundaries().word_kinds(text, word_.size() == 0, kinds_);
        if (!kinds_ || tokens_.finds(utf8_of(text, 0, text.length))) return false;
        std::string utf8;
        if (word_.size() == 0 && text.length && core_.segmenter().prepends_space(text[0], inside_)) {
            if (core_.segmenter().may_begin_token_before(text[0])) return false;
            utf8 = " ";
        }
        size_t rest = 0;  // where what follows the last closing character begins
        for (size_t i = 0; i < text.length; i++) {
            append_character(text[i], utf8);
            if (core_.method().closes_run(text[i])) rest = utf8.size();
        }
        if (rest) {
            closed_ = word_.size() + rest;
            rest_.emplace(*core_.method().word_model());
        }
        utf8_ += utf8;
        return word_.append(utf8) && (!rest_ || rest_->append(std::string_view(utf8).substr(rest)));
    }
    // Shorter ones may be entries that only match whole pre-tokens.
    bool is_long() const { return is_long(word_.size()); }
    // Requires `is_long`, as does `ids`.
    size_t count() const { return rest_ ? count(word_, 0, closed_) + count(*rest_, closed_, rest_->size()) : word_.count(word_.size()); }
    void ids(IdBuffer& out) const {
        if (!rest_) return word_.ids(word_.size(), out);
        ids(word_, 0, closed_, out);
        ids(*rest_, closed_, rest_->size(), out);
    }

  private:
    bool is_long(size_t bytes) const { return bytes > core_.method().word_model()->longest_whole(); }
    // Of one pre-token: the beginning of a word, whose bytes start at `begin`.
    size_t count(const GrowingWord& word, size_t begin, size_t length) const {
        if (is_long(length)) return word.count(length);
        IdBuffer found;
        ids(word, begin, length, found);
        return found.size();
    }
    void ids(const GrowingWord& word, size_t begin, size_t length, IdBuffer& out) const {
        if (is_long(length)) return word.ids(length, out);
        typename Core::Borrowed space(core_);
        EncodeOptions options{1, 0, split_special_};
        options.inside = true;
        core_.encode(std::string_view(utf8_).substr(begin, length), options, *space);
        out.append(space->ids.data(), space->ids.size());
    }

    const Core& core_;
    const bool inside_, split_special_;
    TokenWatch<Core> tokens_;
    GrowingWord word_;
    std::string utf8_;                 // the bytes of `word_`
    size_t closed_ = 0;                // bytes up to the last closing character
    std::optional<GrowingWord> rest_;  // what follows it; the word is one pre-token without it
    unsigned kinds_ = ALL_RUNS;  // kinds of runs that the word may still be
};

}  // namespace lopt
