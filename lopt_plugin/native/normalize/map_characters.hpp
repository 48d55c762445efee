// Normalizer steps that look at each character alone: Lowercase, StripAccents, Nmt.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "normalize/normalizer.hpp"
#include "text/unicode.hpp"

namespace lopt {

struct MappedCharacter {
    uint32_t code_point;
    std::string text;  // UTF-8, perhaps empty
};

class MapCharacters final : public NormalizerStep {
  public:
    // All characters that the step changes, each once; every other one stays as it is.
    explicit MapCharacters(const std::vector<MappedCharacter>& mapped) : rows_(0x110000 / ROW, 0), cells_(ROW, 0), texts_(1) {
        for (uint32_t c = 0; c < ascii_.size(); c++) ascii_[c] = static_cast<uint8_t>(c);
        for (const auto& [code_point, text] : mapped) {
            if (code_point >= 0x110000) throw std::invalid_argument("a character to map is no code point");
            uint32_t& row = rows_[code_point / ROW];
            if (row == 0) {
                row = static_cast<uint32_t>(cells_.size());
                cells_.resize(cells_.size() + ROW, 0);
            }
            cells_[row + code_point % ROW] = static_cast<uint32_t>(texts_.size());
            texts_.push_back(text);
            if (code_point >= 0x80) continue;
            changes_ascii_ = true;
            if (text.size() == 1 && static_cast<uint8_t>(text[0]) < 0x80) ascii_[code_point] = static_cast<uint8_t>(text[0]);
            else ascii_by_bytes_ = false;
        }
        for (uint32_t c = 0; c < ascii_.size(); c++) lowers_ascii_ &= ascii_[c] == (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }

    bool changes_ascii() const override { return changes_ascii_; }
    void mark_pages(PageMarks& marks) const override {
        for (uint32_t c = 0x80; c < 0x110000; c++) {
            if (rows_[c / ROW] == 0) c |= ROW - 1;  // a row without changes
            else if (cells_[rows_[c / ROW] + c % ROW]) marks[c >> 4] = 1;
        }
    }

    // Every place divides, but the characters that meet there must be known.
    bool begins_apart(uint32_t) const override { return true; }
    bool passes(Junction& junction) const override {
        const uint32_t left = cell_of(junction.left), right = cell_of(junction.right), next = junction.has_next ? cell_of(junction.next) : 0;
        if ((left && texts_[left].empty()) || (right && texts_[right].empty())) return false;
        int length;
        if (left) {
            const std::string& text = texts_[left];
            junction.left = decode_character(character_before(reinterpret_cast<const uint8_t*>(text.data()) + text.size()), length);
        }
        if (right) junction.right = decode_character(reinterpret_cast<const uint8_t*>(texts_[right].data()), length);
        if (right || next) junction.has_next = false;
        return true;
    }
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out) const override {
        const uint8_t* p = first_changed(begin, end);
        if (p == end) return false;
        out.clear();
        out.reserve(static_cast<size_t>(end - begin) + 64);
        out.append(begin, p);
        while (p < end) {
            if (ascii_by_bytes_ && end - p >= BLOCK && is_ascii(p)) {
                uint8_t block[BLOCK];
                map_block(p, block);
                out.append(reinterpret_cast<const char*>(block), BLOCK);
                p += BLOCK;
                continue;
            }
            // What does not change is copied in one piece, up to the next whole block of ASCII.
            const uint8_t* const unchanged = p;
            int length = 0;
            uint32_t cell = 0;
            while ((p = skip_three_bytes(p, end)) < end && !(cell = cell_at(p, length))) {
                p += length;
                if (ascii_by_bytes_ && end - p >= BLOCK && p - unchanged >= BLOCK && is_ascii(p)) break;
            }
            out.append(unchanged, p);
            if (p < end && cell) {
                out += texts_[cell];
                p += length;
            }
        }
        return true;
    }
    // Whatever a character becomes takes its place.
    void note(const uint8_t* begin, const uint8_t* end, Sources& sources) const override {
        const uint8_t* kept = begin;
        int length;
        for (const uint8_t* p = begin; (p = past_single(p, end)) < end; p += length) {
            const uint32_t cell = cell_at(p, length);
            if (!cell) continue;
            const auto* text = reinterpret_cast<const uint8_t*>(texts_[cell].data());
            const size_t count = count_characters(text, text + texts_[cell].size());
            if (count == 1) continue;
            sources.keep(kept, p);
            kept = p + length;
            sources.replace(p, kept, count, false);
        }
        sources.keep(kept, end);
    }

  private:
    static constexpr uint32_t ROW = 64;
    static constexpr int BLOCK = 32;

    static bool is_ascii(const uint8_t* p) {
        uint64_t any = 0;
        for (int i = 0; i < BLOCK; i += 8) any |= load64(p + i);
        return !(any & 0x8080808080808080u);
    }
    static bool same(const uint8_t* p, const uint8_t* q) {
        uint64_t differs = 0;
        for (int i = 0; i < BLOCK; i += 8) differs |= load64(p + i) ^ load64(q + i);
        return differs == 0;
    }
    // Past characters at p that become one each.
    const uint8_t* past_single(const uint8_t* p, const uint8_t* end) const {
        for (;;) {
            if (ascii_by_bytes_) {
                while (end - p >= BLOCK && is_ascii(p)) p += BLOCK;
                while (p < end && *p < 0x80) p++;
            }
            const uint8_t* const from = p;
            p = skip_three_bytes(p, end);
            if (p == from) return p;
        }
    }
    // Past the characters of three bytes at p that share their first two bytes with none that changes.
    const uint8_t* skip_three_bytes(const uint8_t* p, const uint8_t* end) const {
        while (p < end && (*p & 0xF0) == 0xE0 && rows_[block_of_three_bytes(p)] == 0) p += 3;
        return p;
    }
    void map_block(const uint8_t* p, uint8_t* block) const {
        if (lowers_ascii_) {  // which the compiler does for all at once
            for (int i = 0; i < BLOCK; i++) block[i] = static_cast<uint8_t>(p[i] | (p[i] >= 'A' && p[i] <= 'Z' ? 0x20 : 0));
        } else {
            for (int i = 0; i < BLOCK; i++) block[i] = ascii_[p[i]];
        }
    }
    uint32_t cell_at(const uint8_t* p, int& length) const {
        const uint32_t c = decode_character(p, length);
        return cells_[rows_[c / ROW] + c % ROW];
    }
    uint32_t cell_of(uint32_t c) const { return cells_[rows_[c / ROW] + c % ROW]; }
    const uint8_t* first_changed(const uint8_t* p, const uint8_t* end) const {
        while (p < end) {
            if (ascii_by_bytes_ && end - p >= BLOCK && is_ascii(p)) {
                uint8_t block[BLOCK];
                if (changes_ascii_) map_block(p, block);
                if (!changes_ascii_ || same(p, block)) {
                    p += BLOCK;
                    continue;
                }
            }
            p = skip_three_bytes(p, end);
            if (p == end) break;
            int length;
            if (cell_at(p, length)) return p;
            p += length;
        }
        return end;
    }

    std::vector<uint32_t> rows_, cells_;  // a row of cells for each 64 code points; a cell is a place in texts_, 0: unchanged
    std::vector<std::string> texts_;
    std::array<uint8_t, 0x80> ascii_;
    bool changes_ascii_ = false, ascii_by_bytes_ = true, lowers_ascii_ = true;
};

}  // namespace lopt
