// The text of ids that arrive one by one: at any time, the reference would decode the same text from all ids so far.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "decode/token_table.hpp"
#include "text/invalid_utf8.hpp"

namespace lopt {

class DecodedText {
  public:
    explicit DecodedText(const TokenTable& table) : table_(&table) {}

    void append(uint32_t id, bool skip_special) {
        if (!table_->shows(id, skip_special)) return;
        const bool is_first = !std::exchange(begun_, true);
        if (table_->joins_bytes()) {
            const bool is_plain = table_->is_plain(id);
            (is_plain && open_.empty() ? text_ : open_) += table_->added(id);
            if (is_plain) settle();
        } else if (table_->is_byte(id)) {
            append_to_run(table_->byte(id));
        } else {
            end_run();
            text_ += is_first ? table_->first(id) : table_->added(id);
        }
    }

    // The length of the text in bytes.
    size_t length() {
        settle();
        return text_.size() + end_length() - stripped();
    }
    bool ends_in_replacement() {
        settle();
        if (open_.empty()) return text_.ends_with(REPLACEMENT_CHARACTER);
        return !run_is_text() || open_.ends_with(REPLACEMENT_CHARACTER);
    }
    std::string text() const { return DecodedText(*this).take(); }
    // Like `text`, but nothing can be appended afterwards.
    std::string take() {
        settle();
        const size_t off = stripped();
        append_end();
        if (off) text_.erase(0, off);
        return std::move(text_);
    }

  private:
    // What `open_` contains in that case: the beginning of a character, or a run of byte tokens.
    void settle() {
        if (!table_->joins_bytes() || open_.empty()) return;
        const size_t unfinished = append_repaired(open_, text_);
        open_.erase(0, open_.size() - unfinished);
    }
    // A run of byte tokens becomes text as a whole, or one U+FFFD per token if it is not UTF-8.
    void append_to_run(uint8_t byte) {
        open_.push_back(static_cast<char>(byte));
        const auto* const bytes = reinterpret_cast<const uint8_t*>(open_.data());
        while (!broken_ && whole_ < open_.size()) {
            const FirstBytes found = first_bytes(bytes + whole_, bytes + open_.size());
            if (found.kind == Beginning::unfinished) break;
            broken_ = found.kind == Beginning::broken;
            whole_ += found.length;
        }
    }
    void end_run() {
        if (open_.empty()) return;
        append_end();
        open_.clear();
        whole_ = 0;
        broken_ = false;
    }
    bool run_is_text() const { return !table_->joins_bytes() && !broken_ && whole_ == open_.size(); }
    size_t replacements() const { return table_->joins_bytes() ? !open_.empty() : open_.size(); }
    size_t end_length() const { return run_is_text() ? open_.size() : replacements() * REPLACEMENT_CHARACTER.size(); }
    void append_end() {
        if (run_is_text()) text_ += open_;
        else for (size_t i = replacements(); i > 0; i--) text_ += REPLACEMENT_CHARACTER;
    }
    size_t stripped() const {
        const LeadingStrip& strip = table_->strip();
        const std::string_view end = run_is_text() ? std::string_view(open_) : std::string_view();
        size_t off = 0;
        while (off < strip.most) {
            const bool in_text = off < text_.size();
            if (!in_text && off - text_.size() >= end.size()) break;
            if ((in_text ? text_[off] : end[off - text_.size()]) != strip.character) break;
            off++;
        }
        return off;
    }

    const TokenTable* table_;
    std::string text_;
    std::string open_;
    size_t whole_ = 0;  // bytes of the run that form whole characters
    bool broken_ = false;
    bool begun_ = false;
};

}  // namespace lopt
