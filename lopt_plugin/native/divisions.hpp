// Places that divide a text whatever else stands in it: the ids on either side are those of that side.
//
// No look-ahead reaches across such a place p, so a text that begins like another one may take over the other's ids up to
// any such p whose two neighbours they share. Three kinds, each narrower than it could be:
// - a character that is no white space, then a blank; a letter or a digit, then a newline. Every split pattern that is
//   read takes white space at most as the first character of a pre-token, or in one that has nothing else; runs of
//   letters and digits end before a newline (those of punctuation may take it in). What a pattern looks ahead for
//   (contractions, the end of white space) never lies behind white space that follows something else.
// - a single newline behind something else, then a character that is neither white space nor "/" (which the patterns of
//   o200k take in behind newlines). Two newlines would not do: GPT-2's pattern divides them before a word only.
// - where an added token must begin: no other one can reach across its first character.
// Under a pipeline without a split pattern the vocabulary must part the two characters as well.
//
// All characters of these rules stay what they are under every normalizer that `divides` (lower case apart), and meet
// there if they meet in the text. Added tokens that could reach across, strip white space across, or ask for the
// character beyond, and those that end before the place (a stretch behind them begins anew), rule a character out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "added_tokens.hpp"
#include "characters.hpp"

namespace lopt {

class Divisions {
  public:
    // `raw` and `normalized` tokens; `at_blanks`: the first two kinds are allowed by the pipeline; `piece`: the least
    // number of characters between two places.
    Divisions(const AddedTokens& raw, const AddedTokens& normalized, bool at_blanks, size_t piece) : piece_(std::max<size_t>(piece, 1)) {
        for (uint32_t c = 0; c < 0x80; c++) ascii_[c] = at_blanks ? bits_of(c) : 0;
        letters_ = at_blanks ? bits_of('a') : 0;
        const auto rule_out = [this](const AddedToken& token) { rule_out_by(token); };
        raw.for_each(rule_out);
        normalized.for_each(rule_out);
        find_openers(raw);
    }
    bool any() const { return letters_ != 0 || !openers_.empty() || std::any_of(ascii_.begin(), ascii_.end(), [](uint8_t bits) { return bits != 0; }); }

    size_t piece() const { return piece_; }
    // The end of the piece of text that begins at `from`: the first place at least so many characters on, and near one
    // of their multiples (few texts have none there, and it is not looked for everywhere); the text's length if there is
    // none. Pieces of texts that begin alike are the same, up to those that hold the first difference or end near it. `parts(left, right)`: what the vocabulary says.
    template <class Parts>
    size_t next(const Characters& text, size_t from, bool split_special, Parts&& parts) const {
        return visit_units(text, [&](const auto* s) {
            for (size_t at = from + piece_; at < text.length; at += piece_) {
                const size_t stop = std::min(at + (piece_ + 3) / 4, text.length);
                for (size_t i = at; i < stop; i++)
                    if (is_place(s, i, text.length, split_special, parts)) return i;
            }
            return text.length;
        });
    }

  private:
    enum : uint8_t { before_blank = 1, before_newline = 2, before_single_newline = 4, behind_newline = 8 };

    static bool is_ascii_letter(uint32_t c) { return c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
    static uint8_t bits_of(uint32_t c) {
        if (c <= ' ' || c == 0x7F) return 0;
        const bool alphanumeric = (c >= '0' && c <= '9') || is_ascii_letter(c);
        return static_cast<uint8_t>(before_blank | (alphanumeric ? before_newline : 0) | before_single_newline | (c == '/' ? 0 : behind_newline));
    }
    // Letters that are starters, compose with nothing before them, and stay letters under every form and in lower case.
    static bool is_letter(uint32_t c) {
        struct Range {
            uint32_t first, last;
        };
        constexpr Range LETTERS[] = {{0xC0, 0xD6}, {0xD8, 0xF6}, {0x391, 0x3A1}, {0x3A3, 0x3A9}, {0x3B1, 0x3C9}, {0x410, 0x44F},
                                     {0x5D0, 0x5EA}, {0x627, 0x63A}, {0x905, 0x928}, {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3}};
        return std::any_of(std::begin(LETTERS), std::end(LETTERS), [c](const Range& range) { return c >= range.first && c <= range.last; });
    }
    bool is(uint32_t c, uint8_t bit) const { return c < 0x80 ? (ascii_[c] & bit) != 0 : (letters_ & bit) && is_letter(c); }

    template <class Unit, class Parts>
    bool is_place(const Unit* s, size_t i, size_t length, bool split_special, Parts&& parts) const {
        const uint32_t left = s[i - 1], right = s[i];
        if (right == ' ') return is(left, before_blank) && parts(left, right);
        if (right == '\n') return is(left, before_newline) && parts(left, right);
        if (left == '\n') return is(right, behind_newline) && is(s[i - 2], before_single_newline) && parts(left, right);
        return !split_special && right < 0x80 && opens_[right] && begins_token(s + i, length - i);
    }
    template <class Unit>
    bool begins_token(const Unit* s, size_t n) const {
        std::string text;
        for (size_t i = 0; i < n && i < longest_opener_ && s[i] < 0x80; i++) {
            text.push_back(static_cast<char>(s[i]));
            if (openers_.count(text)) return true;
        }
        return false;
    }

    void rule_out_by(const AddedToken& token) {
        std::vector<uint32_t> content;
        const auto* p = reinterpret_cast<const uint8_t*>(token.content.data());
        int length;
        for (const auto* end = p + token.content.size(); p < end; p += length) content.push_back(decode_character(p, length));
        for (size_t i = 1; i < content.size(); i++) {
            if (content[i] == ' ') rule_out(content[i - 1], before_blank);
            if (content[i] == '\n') rule_out(content[i - 1], before_newline);
            if (content[i - 1] == '\n') rule_out(content[i], behind_newline);
        }
        rule_out(content.back(), before_blank | before_newline | before_single_newline);
        if (content.back() == '\n') rule_out_all(behind_newline);
        if (token.lstrip) rule_out(content.front(), behind_newline);
        if (token.single_word && content.front() == ' ') rule_out_all(before_blank);
        if (token.single_word && content.front() == '\n') rule_out_all(before_newline);
    }
    // Letters of one kind are ruled out together: a normalizer may make one of another.
    void rule_out(uint32_t c, uint8_t bits) {
        if (is_letter(c) || is_ascii_letter(c)) letters_ &= static_cast<uint8_t>(~bits);
        if (c >= 0x80) return;
        ascii_[c] &= static_cast<uint8_t>(~bits);
        if (is_ascii_letter(c)) ascii_[c ^ 0x20] &= static_cast<uint8_t>(~bits);
    }
    void rule_out_all(uint8_t bits) {
        for (uint8_t& allowed : ascii_) allowed &= static_cast<uint8_t>(~bits);
        letters_ &= static_cast<uint8_t>(~bits);
    }

    // Raw tokens that begin with a punctuation mark which no token holds elsewhere, nor begins with if its flags matter.
    void find_openers(const AddedTokens& raw) {
        std::array<bool, 256> inside{}, first{};
        raw.for_each([&](const AddedToken& token) {
            const auto opener = static_cast<uint8_t>(token.content[0]);
            first[opener] = true;
            if (token.lstrip || token.single_word) inside[opener] = true;
            for (size_t i = 1; i < token.content.size(); i++) inside[static_cast<uint8_t>(token.content[i])] = true;
        });
        for (const char c : std::string_view("<[{")) {
            const auto opener = static_cast<uint8_t>(c);
            opens_[opener] = first[opener] && !inside[opener];
        }
        raw.for_each([this](const AddedToken& token) {
            const bool ascii = std::all_of(token.content.begin(), token.content.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
            if (!ascii || !opens_[static_cast<uint8_t>(token.content[0]) & 0x7F]) return;
            openers_.insert(token.content);
            longest_opener_ = std::max(longest_opener_, token.content.size());
        });
    }

    size_t piece_;
    std::array<uint8_t, 0x80> ascii_{};
    uint8_t letters_ = 0;  // bits of the letters beyond ASCII
    std::array<bool, 0x80> opens_{};
    std::unordered_set<std::string> openers_;
    size_t longest_opener_ = 0;
};

}  // namespace lopt
