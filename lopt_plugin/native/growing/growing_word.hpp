// BPE of every prefix of a growing word, so that even a part without a seam need not be encoded again.
//
// The last token of an encoding determines the rest of it (GitHub's `bpe`, corollary IIa), so only the last token of each
// prefix is stored. For the prefix that ends at `end`, it is the one token w for which the prefix before w ends in a
// token that is compatible with w (compatibility.hpp). To find all tokens that may end there, the trie is walked from
// every position; unfinished walks wait for the next byte.
//
// As long as the word is a run of one byte, all walks are along one path, and nothing is walked. Where the tokens of such
// runs are merged out of order, as Gemma's spaces, the corollary says nothing, but they may be greedy (greedy_run.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "bpe/greedy_run.hpp"
#include "bpe/model.hpp"

namespace lopt {

class GrowingWord {
  public:
    // The model must support matching, must not add end-of-word suffixes, and must outlive this object.
    explicit GrowingWord(const Model& model) : model_(&model) {}

    // Returns false if an entry whose merges are out of order, or the unknown token, may be involved. The object must not be
    // used after that.
    bool append(std::string_view bytes) {
        return std::all_of(bytes.begin(), bytes.end(), [this](char byte) { return append(static_cast<uint8_t>(byte)); });
    }

    // The number of ids of the word followed by these bytes; NONE if `append` would return false.
    uint32_t count_with(std::string_view bytes) {
        const std::vector<Walk> walks = walks_;
        const size_t before = prefixes_.size();
        const bool was_run = is_run_, was_greedy = is_greedy_;
        const uint32_t found = append(bytes) ? count(size()) : NONE;
        prefixes_.resize(before);
        walks_ = walks;
        is_run_ = was_run;
        is_greedy_ = was_greedy;
        return found;
    }

    size_t size() const { return prefixes_.size() - 1; }
    // The number of ids of the first `end` bytes.
    uint32_t count(size_t end) const { return prefixes_[end].count; }
    // Where the last token of the first `end` bytes begins. Requires end > 0.
    size_t last_begin(size_t end) const { return end - model_->compatibility().length(prefixes_[end].last); }
    // The last position that is a boundary between tokens in each prefix that ends in the last `bytes` bytes; 0 if there is
    // none. If no entry is longer, it is one in every longer word.
    size_t shared_boundary(size_t bytes) const {
        if (bytes >= size()) return 0;
        if (is_greedy_) return (size() - bytes) / run_tokens_.size() * run_tokens_.size();
        std::set<size_t> ends;
        for (size_t end = size(); end > size() - bytes; end--) ends.insert(end);
        while (ends.size() > 1) {
            const auto last = std::prev(ends.end());
            const size_t begin = last_begin(*last);
            ends.erase(last);
            ends.insert(begin);
        }
        return *ends.begin();
    }

  private:
    static constexpr uint32_t MOST = NONE - 1;

    struct Prefix {
        uint32_t last, count;
    };
    struct Walk {
        uint32_t begin, base;
    };

    bool append(uint8_t byte) {
        const auto here = static_cast<uint32_t>(size());
        if (here == MOST) return false;
        if (here == 0) {
            first_ = byte;
            is_run_ = true;
            run_tokens_.clear();
        } else if (is_run_) {
            if (byte == first_) return append_to_run(here);
            if (!leave_run(here)) return false;
        }
        walks_.push_back({here, Trie::ROOT});
        bool found = false, known = true;
        size_t kept = 0;
        for (const Walk walk : walks_) {  // longest token first
            const Trie::Unit unit = model_->trie()[walk.base ^ byte];
            if (!unit.is(byte)) continue;
            if (unit.token != NONE && !found) {
                if (!(known = is_plain(unit.token))) break;
                found = ends_in(unit.token, walk.begin);
            }
            if (unit.base() != Trie::NO_CHILDREN) walks_[kept++] = {walk.begin, unit.base()};
        }
        walks_.resize(kept);
        return known && found;  // every prefix has an encoding
    }
    // Of a word that is a run so far, another one of its bytes.
    bool append_to_run(uint32_t here) {
        if (run_tokens_.empty()) walk_run();
        const auto longest = static_cast<uint32_t>(run_tokens_.size());
        // Only one token fits. Most often it is one byte longer than that of the prefix before.
        const auto begin = static_cast<uint32_t>(last_begin(here));
        const uint32_t likely = here - begin < longest && !is_greedy_ ? run_tokens_[here - begin] : NONE;
        if (likely != NONE && is_plain(likely) && ends_in(likely, begin)) return true;
        for (uint32_t length = std::min(here + 1, longest); length > 0 && !is_greedy_; length--) {
            const uint32_t token = run_tokens_[length - 1];
            if (token == NONE) continue;
            if (is_plain(token)) {
                if (ends_in(token, here + 1 - length)) return true;
            } else if (!(is_greedy_ = is_greedy_run(model_->merges(), model_->unknown_characters(), run_tokens_))) {
                return false;
            }
        }
        if (is_greedy_) prefixes_.push_back({run_tokens_[here % longest] & ~IRREGULAR, here / longest + 1});
        return is_greedy_;
    }
    void walk_run() {
        run_bases_.clear();
        for (uint32_t base = Trie::ROOT;; base = run_bases_.back()) {
            const Trie::Unit unit = model_->trie()[base ^ first_];
            if (!unit.is(first_)) return;
            run_tokens_.push_back(unit.token);
            run_bases_.push_back(unit.base());
        }
    }
    // Begins the walks of a run of `here` bytes. Returns false if what follows a greedy run is unknown.
    bool leave_run(uint32_t here) {
        is_run_ = false;
        if (is_greedy_) return false;
        if (here == 1) return true;
        walks_.clear();
        for (auto length = static_cast<uint32_t>(std::min<size_t>(here, run_bases_.size())); length > 0; length--)
            if (run_bases_[length - 1] != Trie::NO_CHILDREN) walks_.push_back({here - length, run_bases_[length - 1]});
        return true;
    }
    bool is_plain(uint32_t token) const { return !(token & IRREGULAR) && model_->unknown_characters().becomes_ids_alone(token); }
    // If the word ends in this token, which begins at `begin`, adds the prefix.
    bool ends_in(uint32_t token, uint32_t begin) {
        const Prefix& before = prefixes_[begin];
        if (begin > 0 && !model_->compatibility().compatible(model_->merges(), before.last, token)) return false;
        prefixes_.push_back({token, before.count + model_->unknown_characters().count_of(token)});
        return true;
    }

    const Model* model_;
    std::vector<Prefix> prefixes_{{NONE, 0}};
    std::vector<Walk> walks_;
    // Is the word a run of its first byte, and a greedy one? The tokens of one, two, ... of these bytes, and where their
    // walks go on.
    uint8_t first_ = 0;
    bool is_run_ = false, is_greedy_ = false;
    std::vector<uint32_t> run_tokens_, run_bases_;
};

}  // namespace lopt
