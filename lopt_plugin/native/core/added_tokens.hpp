// Finds added tokens as Hugging Face's AddedVocabulary does: leftmost-longest matches first, then the flags.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "bpe/trie.hpp"
#include "text/ascii_masks.hpp"
#include "text/text.hpp"
#include "text/unicode.hpp"
#include "text/utf8.hpp"

namespace lopt {

struct AddedToken {
    std::string content;  // UTF-8, not empty
    uint32_t id;
    bool single_word, lstrip, rstrip, special;
};

// The tokens that are found in the raw text, and those that are found in the normalized text.
struct AddedTokenSets {
    std::vector<AddedToken> raw, normalized;
    uint32_t largest_id = 0;

    // Throws std::invalid_argument.
    void add(AddedToken token, bool is_normalized) {
        if (token.content.empty()) throw std::invalid_argument("an added token is empty");
        if (token.id > MAX_ID) throw std::invalid_argument("an added token's id is above 2^20 - 2");
        largest_id = std::max(largest_id, token.id);
        (is_normalized ? normalized : raw).push_back(std::move(token));
    }
};

class AddedTokens {
  public:
    // `keeps_spaces`: spaces in the text stand for another character, so no flag strips them. Throws std::invalid_argument.
    explicit AddedTokens(std::vector<AddedToken> tokens, bool keeps_spaces = false)
        : tokens_(std::move(tokens)), trie_(entries()), pairs_((1 << 16) / 64, 0), keeps_spaces_(keeps_spaces) {
        for (const auto& token : tokens_) {
            const uint8_t first = static_cast<uint8_t>(token.content[0]);
            starts_[first] = true;
            if (token.content.size() == 1) single_byte_[first] = true;
            else set_pair(first, static_cast<uint8_t>(token.content[1]));
        }
        for (unsigned byte = 0; byte < starts_.size(); byte++)
            if (starts_[byte]) firsts_.push_back(static_cast<uint8_t>(byte));
    }
    bool empty() const { return tokens_.empty(); }
    const std::vector<AddedToken>& all() const { return tokens_; }

    // Makes `find` leave a run of one character inside its stretch although the run is a token, if `may_stay` holds for
    // the tokens of that run and of all shorter ones. Otherwise, if newlines are tokens, most texts would be split into
    // lines.
    template <class MayStay>
    void leave_runs(MayStay&& may_stay) {
        const auto has_flags = [](const AddedToken& token) { return token.single_word || token.lstrip || token.rstrip; };
        if (std::any_of(tokens_.begin(), tokens_.end(), has_flags)) return;
        std::array<std::vector<bool>, 0x80> stays;  // indexed by the length of the run
        std::array<bool, 0x80> elsewhere{};
        for (const AddedToken& token : tokens_) {
            const std::string& content = token.content;
            const uint8_t first = static_cast<uint8_t>(content[0]);
            if (content.find_first_not_of(content[0]) != std::string::npos || first >= 0x80) {
                for (const char c : content)
                    if (static_cast<uint8_t>(c) < 0x80) elsewhere[static_cast<uint8_t>(c)] = true;
                continue;
            }
            if (stays[first].size() <= content.size()) stays[first].resize(content.size() + 1, false);
            stays[first][content.size()] = !token.special && may_stay(token);
        }
        for (size_t first = 0; first < stays.size(); first++) {
            if (elsewhere[first] || stays[first].empty()) continue;
            size_t& longest = left_runs_[first];
            while (longest + 1 < stays[first].size() && stays[first][longest + 1]) longest++;
            if (!longest) continue;
            single_byte_[first] = false;
            set_pair(static_cast<uint8_t>(first), static_cast<uint8_t>(first));  // for longer runs
        }
    }

    // False if [begin, end) contains no token.
    bool any_in(const uint8_t* begin, const uint8_t* end) const {
        for (const uint8_t* at = begin; (at = candidate(at, end)) != end; at++)
            if (longest(at, end)) return true;
        return false;
    }

    // Appends the segments of [begin, end) in order. Stretches are never empty. With `split_special`, special tokens are
    // treated as plain text (`encode_special_tokens` of the reference library).
    void find(const ClassTable& classes, const uint8_t* begin, const uint8_t* end, bool split_special, Buffer<Segment>& out) const {
        const uint8_t* from = begin;  // end of the last accepted token, including white space that it stripped
        // Known ends of a run of one character, and of the white space after a token. Both are read only once, whatever
        // tokens they contain.
        const uint8_t *run_end = begin, *white_space_end = begin;
        for (const uint8_t* at = begin; (at = candidate(at, end)) != end;) {
            if (const size_t most = left_runs_[*at]) {
                if (run_end <= at) run_end = std::find_if(at, end, [at](uint8_t byte) { return byte != *at; });
                if (static_cast<size_t>(run_end - at) <= most) {
                    at = run_end;
                    continue;
                }
            }
            const AddedToken* token = longest(at, end);
            if (!token) {
                at++;
                continue;
            }
            const uint8_t *start = at, *stop = at + token->content.size();
            at = stop;  // also skips a token that is rejected below, like the reference
            if (split_special && token->special) continue;
            if (token->single_word && ((start > begin && is_word_at(classes, character_before(start), start)) || is_word_at(classes, stop, end))) continue;
            if (token->lstrip) {
                while (start > from && is_stripped(classes, character_before(start), start)) start = character_before(start);
                start = std::max(start, from);
            }
            if (token->rstrip) {
                white_space_end = std::max(white_space_end, stop);
                while (white_space_end < end && is_stripped(classes, white_space_end, end))
                    white_space_end = classes.skip_at_most(1, class_bit::strip_space, white_space_end, end);
                stop = white_space_end;
            }
            if (start >= stop) continue;  // the previous token stripped all of it
            if (from < start) out.push_back({from, start, NONE});
            out.push_back({start, stop, token->id});
            from = stop;
        }
        if (from < end) out.push_back({from, end, NONE});
    }

  private:
    std::vector<Entry> entries() const {
        std::vector<Entry> sorted;
        for (uint32_t i = 0; i < tokens_.size(); i++) sorted.push_back({tokens_[i].content, i});
        std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.bytes < b.bytes; });
        const auto alike = [](const Entry& a, const Entry& b) { return a.bytes == b.bytes; };
        if (std::adjacent_find(sorted.begin(), sorted.end(), alike) != sorted.end()) throw std::invalid_argument("two added tokens have the same content");
        return sorted;
    }
    void set_pair(uint8_t first, uint8_t second) {
        const size_t bit = static_cast<size_t>(first) << 8 | second;
        pairs_[bit >> 6] |= uint64_t{1} << (bit & 63);
    }
    bool may_begin(const uint8_t* p, const uint8_t* end) const {
        if (single_byte_[*p]) return true;
        if (end - p < 2) return false;
        const size_t bit = static_cast<size_t>(p[0]) << 8 | p[1];
        return pairs_[bit >> 6] >> (bit & 63) & 1;
    }
    // The next position where a token may begin, or `end`. Tests two bytes, because "<" is common in text but "<|" is
    // not.
    const uint8_t* candidate(const uint8_t* p, const uint8_t* end) const {
        constexpr size_t FEW = 8;
        if (firsts_.empty()) return end;
        if (firsts_.size() == 1) {
            for (; p < end; p++) {
                p = static_cast<const uint8_t*>(std::memchr(p, firsts_[0], static_cast<size_t>(end - p)));
                if (!p) return end;
                if (may_begin(p, end)) return p;
            }
            return end;
        }
        for (; firsts_.size() <= FEW && end - p >= 64; p += 64)
            for (uint64_t found = bytes_among(p, firsts_.data(), firsts_.size()); found; found &= found - 1) {
                const uint8_t* const at = p + __builtin_ctzll(found);
                if (may_begin(at, end)) return at;
            }
        while (p < end && !(starts_[*p] && may_begin(p, end))) p++;
        return p;
    }
    const AddedToken* longest(const uint8_t* p, const uint8_t* end) const {
        const uint32_t found = trie_.longest(Trie::ROOT, p, end).token;
        return found == NONE ? nullptr : &tokens_[found];
    }
    bool is_stripped(const ClassTable& classes, const uint8_t* p, const uint8_t* end) const {
        int length;
        return (classes.at(p, end, length) & class_bit::strip_space) && !(keeps_spaces_ && *p == ' ');
    }
    static bool is_word_at(const ClassTable& classes, const uint8_t* p, const uint8_t* end) {
        int length;
        return p < end && (classes.at(p, end, length) & class_bit::word);
    }

    std::vector<AddedToken> tokens_;
    Trie trie_;
    Table<uint64_t> pairs_;
    std::array<bool, 256> starts_{}, single_byte_{};
    bool keeps_spaces_;
    std::array<size_t, 256> left_runs_{};  // by first byte: the longest run that stays in its stretch
    std::vector<uint8_t> firsts_;  // first bytes of tokens
};

}  // namespace lopt
