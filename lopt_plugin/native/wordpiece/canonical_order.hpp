// Canonical order, needed if stripping accents leaves characters with a combining class. The reference library sorts
// them.
//
// Only characters marked `reordered` leave something that may change places, and only within a run of reordered and
// removed characters: every other character leaves a starter, and starters stay in place. The position of removed
// characters does not matter. So only a run with at least two reordered characters needs the reference.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/answer_cache.hpp"
#include "base/table.hpp"
#include "wordpiece/word_characters.hpp"

namespace lopt {

class CanonicalOrder {
  public:
    // Decomposes, sorts and strips a run; every character of the result then has its own image. May throw.
    using Order = std::function<std::string(std::string_view)>;

    CanonicalOrder(const WordCharacters& characters, Order order)
        : classes_(characters.classes()), order_(std::move(order)), page_marks_(0x110000 >> 4, 0) {
        if (!characters.any_reordered()) return;
        if (!order_) throw std::invalid_argument("word characters may be reordered, and nothing orders them");
        for (uint32_t c = 0x80; c < 0x110000; c++)
            if (classes_.of(c) & word_bit::reordered) page_marks_[c >> 4] = 1;
    }

    // One mark per 16 code points: zero if none of them may be reordered.
    const uint8_t* page_marks() const { return page_marks_.data(); }

    // Returns true, with the text in `out`, if something in [begin, end) was sorted.
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out) const {
        Rewriting rewriting(begin, end, out, nullptr);
        const uint8_t* run = begin;
        size_t in_run = 0;
        const auto finish_run = [&](const uint8_t* stop) {
            if (in_run >= 2) rewriting.replace(run, stop, order_(text_between(run, stop)));
        };
        int length;
        for (const uint8_t* p = begin; p < end; p += length) {
            const uint16_t bits = classes_.at(p, end, length);
            if (bits & word_bit::reordered) {
                in_run++;
            } else if (!(bits & word_bit::removed)) {
                finish_run(p);
                in_run = 0;
                run = p + length;
            }
        }
        finish_run(end);
        return rewriting.finish();
    }

    // Can something in [begin, end) change places? Characters that stay in place may then take another character's
    // position.
    bool concerns(const uint8_t* begin, const uint8_t* end) const {
        return classes_.skip_without(word_bit::reordered, begin, end) < end;
    }

  private:
    const ClassTable& classes_;
    AnswerCache<std::string> order_;
    Table<uint8_t> page_marks_;
};

}  // namespace lopt
