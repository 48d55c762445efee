// Normalizer steps that look at each character alone: Lowercase, StripAccents, Nmt.
#pragma once

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "hash.hpp"
#include "normalizer.hpp"
#include "unicode.hpp"

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
    }

    bool changes_ascii() const override { return changes_ascii_; }
    void mark_pages(PageMarks& marks) const override {
        for (uint32_t c = 0x80; c < 0x110000; c++)
            if (cells_[rows_[c / ROW] + c % ROW]) marks[c >> 4] = 1;
    }

    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out) const override {
        const uint8_t* p = first_changed(begin, end);
        if (p == end) return false;
        out.clear();
        out.reserve(static_cast<size_t>(end - begin) + 64);
        out.append(begin, p);
        while (p < end) {
            if (ascii_by_bytes_ && end - p >= BLOCK && is_ascii(p)) {
                char block[BLOCK];
                for (int i = 0; i < BLOCK; i++) block[i] = static_cast<char>(ascii_[p[i]]);
                out.append(block, BLOCK);
                p += BLOCK;
                continue;
            }
            // What does not change is copied in one piece, up to the next whole block of ASCII.
            const uint8_t* const unchanged = p;
            int length = 0;
            uint32_t cell = 0;
            while (p < end && !(cell = cell_at(p, length))) {
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

  private:
    static constexpr uint32_t ROW = 128;
    static constexpr int BLOCK = 16;

    static bool is_ascii(const uint8_t* p) { return !((load64(p) | load64(p + 8)) & 0x8080808080808080u); }
    uint32_t cell_at(const uint8_t* p, int& length) const {
        const uint32_t c = decode_character(p, length);
        return cells_[rows_[c / ROW] + c % ROW];
    }
    const uint8_t* first_changed(const uint8_t* p, const uint8_t* end) const {
        while (p < end) {
            if (!changes_ascii_ && end - p >= BLOCK && is_ascii(p)) {
                p += BLOCK;
                continue;
            }
            int length;
            if (cell_at(p, length)) return p;
            p += length;
        }
        return end;
    }

    std::vector<uint32_t> rows_, cells_;  // a row of cells for each 128 code points; a cell is a place in texts_, 0: unchanged
    std::vector<std::string> texts_;
    std::array<uint8_t, 0x80> ascii_;
    bool changes_ascii_ = false, ascii_by_bytes_ = true;
};

}  // namespace lopt
