// Decodes ids one by one into parts of text, with the same result at each step as `tokenizers.decoders.DecodeStream`.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "decode/decoded_text.hpp"

namespace lopt {

// The text of more ids does not begin with the text of fewer.
struct InvalidPrefix : std::runtime_error {
    InvalidPrefix() : std::runtime_error("the text of more ids does not begin with the text of fewer") {}
};

// At every step, the reference decodes all ids since the last part but one. Here each id is decoded once when it arrives,
// and once more after a part is returned, so the time is linear in the text. If the id and the one before it are plain,
// the part is the text that the id adds, and nothing is decoded (`step_plainly`).
class DecodeStream {
  public:
    DecodeStream(std::shared_ptr<const TokenTable> table, std::vector<uint32_t> ids, bool skip_special)
        : table_(std::move(table)), ids_(std::move(ids)), skips_(skip_special), window_(*table_) {
        restart();
    }
    DecodeStream(const DecodeStream&) = delete;
    DecodeStream& operator=(const DecodeStream&) = delete;

    // Appends an id if it adds the same text after any other text, which is then the new part.
    bool step_plainly(uint32_t id) {
        if (!is_plain_ || !table_->shows(id, skips_) || !table_->is_plain(id)) return false;
        ids_[0] = id;
        is_decoded_ = false;
        return true;
    }
    // Appends ids; returns true if there is a new part, which is then in `part`. If it throws InvalidPrefix, nothing is
    // appended.
    bool step(const uint32_t* ids, size_t count, std::string& part) {
        decode_plain_id();
        is_plain_ = false;
        if (prefix_.empty() && !ids_.empty() && !window_.ends_in_replacement()) {
            prefix_ = window_.text();
            prefix_ids_ = ids_.size();
        }
        for (size_t i = 0; i < count; i++) {
            ids_.push_back(ids[i]);
            window_.append(ids[i], skips_);
        }
        if (window_.length() <= prefix_.size() || window_.ends_in_replacement()) return false;
        part = window_.take();
        if (!part.starts_with(prefix_)) {
            ids_.resize(ids_.size() - count);
            restart();
            throw InvalidPrefix();
        }
        part.erase(0, prefix_.size());
        ids_.erase(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(prefix_ids_));
        prefix_ids_ = ids_.size();
        restart();
        prefix_ = window_.text();
        is_plain_ = ids_.size() == 1 && table_->shows(ids_[0], skips_) && table_->is_plain(ids_[0]);
        return true;
    }

    // The ids that may still matter, the text of the first `prefix_ids` of them, and that number.
    const std::vector<uint32_t>& ids() const { return ids_; }
    const std::string& prefix() {
        decode_plain_id();
        return prefix_;
    }
    size_t prefix_ids() const { return prefix_ids_; }
    bool skips_special() const { return skips_; }

    // Continues from such a state with this table.
    void go_on(std::shared_ptr<const TokenTable> table, std::vector<uint32_t> ids, std::string prefix, size_t prefix_ids) {
        if (prefix_ids > ids.size()) throw std::invalid_argument("go_on: more ids of the prefix than ids");
        table_ = std::move(table);
        ids_ = std::move(ids);
        prefix_ = std::move(prefix);
        prefix_ids_ = prefix_ids;
        is_plain_ = false;
        restart();
    }

  private:
    void decode_plain_id() {
        if (is_decoded_) return;
        restart();
        prefix_ = window_.text();
    }
    void restart() {
        window_ = DecodedText(*table_);
        for (const uint32_t id : ids_) window_.append(id, skips_);
        is_decoded_ = true;
    }

    std::shared_ptr<const TokenTable> table_;
    std::vector<uint32_t> ids_;
    std::string prefix_;
    size_t prefix_ids_ = 0;
    bool skips_;
    bool is_plain_ = false;   // the only id is plain, and its part was returned
    bool is_decoded_ = true;  // `window_` and `prefix_` are up to date
    DecodedText window_;
};

}  // namespace lopt
