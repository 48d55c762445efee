// Packs many texts into one array of UTF-8, with 0xFF bytes around each: the input of the GPU route.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/thread_pool.hpp"
#include "core/core.hpp"
#include "text/characters.hpp"
#include "text/transcode.hpp"

namespace lopt {

// The layout is known before anything is written, so that threads can write neighbouring parts of one buffer. Long texts
// are divided between any two characters.
class Packing {
  public:
    static constexpr uint8_t SEPARATOR = 0xFF;

    static constexpr size_t PART_CHARACTERS = 1 << 16;

    // before, after: numbers of 0xFF bytes around each text. The strings of `texts` must outlive this object.
    // part_characters: length of the parts of a text; does not change the result.
    Packing(const std::vector<Characters>& texts, ThreadPool& pool, size_t threads, size_t part_characters, size_t before, size_t after)
        : pool_(pool), threads_(std::max<size_t>(threads, 1)), before_(before), after_(after), offsets_(texts.size() + 1, 0) {
        part_characters = std::max<size_t>(part_characters, 1);
        for (const Characters& text : texts) {
            size_t from = 0;
            do {
                const size_t to = from + std::min(text.length - from, part_characters);
                parts_.push_back({text.part(from, to), 0, 0, from == 0, to == text.length, false});
                from = to;
            } while (from < text.length);
        }
        share_out(part_characters);
        in_shares([](Part& part) { part.bytes = utf8_bytes(part.text); });
        size_t offset = 0, row = 0;
        for (Part& part : parts_) {
            if (part.first) offset += before_;
            part.offset = offset;
            offset += part.bytes;
            if (part.last) offset += after_;
            if (part.last) offsets_[++row] = static_cast<int64_t>(offset);
        }
    }
    Packing(const Packing&) = delete;
    Packing& operator=(const Packing&) = delete;

    // The start of each text, including the bytes before it, and then the total size: [texts + 1].
    const std::vector<int64_t>& offsets() const { return offsets_; }
    size_t bytes() const { return static_cast<size_t>(offsets_.back()); }

    // For each text: does it have a character of a marked page of which `asked` is true?
    template <class Asked>
    std::vector<uint8_t> have(const uint8_t* page_marks, Asked&& asked) {
        constexpr size_t TOGETHER = 32;
        const uint32_t least = static_cast<uint32_t>(std::find_if(page_marks, page_marks + (0x110000 >> 4), [](uint8_t mark) { return mark; }) - page_marks) << 4;
        in_shares([&](Part& part) {
            part.found = !part.text.ascii && visit_units(part.text, [&](const auto* units) {
                for (size_t from = 0; from < part.text.length; from += TOGETHER) {
                    const size_t to = std::min(part.text.length, from + TOGETHER);
                    std::decay_t<decltype(*units)> most = 0;
                    for (size_t i = from; i < to; i++) most = std::max(most, units[i]);
                    if (most < least) continue;
                    uint8_t marks = 0;
                    for (size_t i = from; i < to; i++) marks |= page_marks[units[i] >> 4];
                    if (marks && std::any_of(units + from, units + to, [&](uint32_t c) { return page_marks[c >> 4] && asked(c); })) return true;
                }
                return false;
            });
        });
        return found();
    }

    // Writes bytes() bytes. page_marks: any table for `transcode`. Returns for each text: is `look` true of a part of it?
    // A thread looks at what it has just written. If this throws LoneSurrogateError, `out` is undefined.
    template <class Look>
    std::vector<uint8_t> write(uint8_t* out, size_t room, const uint8_t* page_marks, Look&& look) {
        if (room < bytes()) throw NeedsReference("the texts are longer than the room for them");
        in_shares([&](Part& part) {
            uint8_t* const begin = out + part.offset;
            if (part.text.ascii) {
                std::memcpy(begin, part.text.data, part.bytes);
            } else {
                const auto write_units = [&](const auto* units) { return transcode(units, part.text.length, begin, page_marks); };
                if (visit_units(part.text, write_units).lone_surrogate) throw LoneSurrogateError();
            }
            part.found = look(begin, begin + part.bytes);
            if (part.first) std::fill_n(begin - before_, before_, SEPARATOR);
            if (part.last) std::fill_n(begin + part.bytes, after_, SEPARATOR);
        });
        return found();
    }

  private:
    struct Part {
        Characters text;
        size_t bytes, offset;  // of UTF-8; position in the buffer
        bool first, last;      // part of its text
        bool found;            // what `have` and `write` look for
    };

    std::vector<uint8_t> found() const {
        std::vector<uint8_t> of_texts(offsets_.size() - 1, 0);
        size_t row = 0;
        for (const Part& part : parts_) {
            of_texts[row] |= part.found;
            row += part.last;
        }
        return of_texts;
    }
    static size_t utf8_bytes(const Characters& text) {
        if (text.ascii) return text.length;
        return visit_units(text, [&](const auto* units) { return utf8_length(units, text.length); });
    }
    // Groups neighbouring parts, so that threads do not contend over short texts.
    void share_out(size_t characters) {
        size_t begin = 0, filled = 0;
        for (size_t i = 0; i < parts_.size(); i++) {
            filled += parts_[i].text.length + 1;
            if (filled < characters && i + 1 < parts_.size()) continue;
            shares_.push_back({begin, i + 1});
            begin = i + 1;
            filled = 0;
        }
    }
    template <class Work>
    void in_shares(Work&& work) {
        pool_.run(shares_.size(), threads_, [&](size_t share) {
            for (size_t i = shares_[share].first; i < shares_[share].second; i++) work(parts_[i]);
        });
    }

    ThreadPool& pool_;
    const size_t threads_, before_, after_;
    std::vector<Part> parts_;
    std::vector<std::pair<size_t, size_t>> shares_;
    std::vector<int64_t> offsets_;
};

}  // namespace lopt
