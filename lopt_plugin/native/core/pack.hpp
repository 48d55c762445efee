// Packs many texts into one array of UTF-8, with 0xFF bytes around each: the input of the GPU route.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/copy_past_caches.hpp"
#include "base/parallel_for.hpp"
#include "base/thread_pool.hpp"
#include "text/characters.hpp"
#include "text/measure.hpp"
#include "text/transcode.hpp"
#include "text/utf8_text.hpp"

namespace lopt {

// What is known of each text before any is written, so that threads can write neighbouring parts of one buffer. Long texts
// are divided between any two characters.
class Packing {
  public:
    static constexpr uint8_t SEPARATOR = 0xFF;

    static constexpr size_t PART_CHARACTERS = 1 << 16;

    // Reads each text once. A part is marked if it has a character of a marked page of which `asked` is true. part_characters:
    // length of the parts of a text; does not change what is written. The strings of `texts` and the pool must outlive this
    // object.
    template <class Asked>
    Packing(const std::vector<Characters>& texts, ThreadPool& pool, size_t threads, size_t part_characters, const uint8_t* page_marks, Asked&& asked)
        : pool_(pool), part_characters_(std::max<size_t>(part_characters, 1)), texts_(texts.size() + 1, {0, 0}) {
        std::vector<Part*> wide;
        for (size_t i = 0; i < texts.size(); i++) {
            texts_[i].first_part = parts_.size();
            size_t from = 0;
            do {
                const size_t to = from + std::min(texts[i].length - from, part_characters_);
                parts_.push_back({texts[i].part(from, to), to - from, false});
                from = to;
            } while (from < texts[i].length);
        }
        texts_.back().first_part = parts_.size();
        for (Part& part : parts_)
            if (!part.text.ascii) wide.push_back(&part);
        const uint32_t least = static_cast<uint32_t>(std::find_if(page_marks, page_marks + (0x110000 >> 4), [](uint8_t mark) { return mark; }) - page_marks) << 4;
        in_shares(wide, threads, [&](Part& part) {
            visit_units(part.text, [&](const auto* units) {
                part.bytes = measure(units, part.text.length, least, [&](size_t from, uint64_t above) {
                    if (std::popcount(above) > 8) {
                        uint8_t marks = 0;
                        for (size_t i = 0, n = static_cast<size_t>(std::bit_width(above)); i < n; i++) marks |= page_marks[units[from + i] >> 4];
                        if (!marks) return;
                    }
                    for (; above && !part.marked; above &= above - 1) {
                        const uint32_t c = units[from + static_cast<size_t>(std::countr_zero(above))];
                        part.marked = page_marks[c >> 4] && asked(c);
                    }
                });
            });
        });
        for (size_t i = 0; i < texts.size(); i++)
            for (size_t part = texts_[i].first_part; part < texts_[i + 1].first_part; part++) texts_[i].bytes += parts_[part].bytes;
    }
    Packing(const Packing&) = delete;
    Packing& operator=(const Packing&) = delete;

    size_t size() const { return texts_.size() - 1; }
    size_t bytes(size_t text) const { return texts_[text].bytes; }
    ThreadPool& pool() const { return pool_; }

    // Texts for a buffer, by their numbers, and their UTF-8 bytes together.
    struct Chunk {
        std::vector<int64_t> texts;
        size_t bytes = 0;
    };
    // Groups the texts in order, without those `left_out`, into chunks that take at most `most` together with `around` for
    // each text; or a single text.
    std::vector<Chunk> chunks(const std::vector<uint8_t>& left_out, size_t around, size_t most) const {
        std::vector<Chunk> chunks;
        size_t filled = 0;
        for (size_t i = 0; i < size(); i++) {
            if (left_out[i]) continue;
            const size_t needed = bytes(i) + around;
            if (chunks.empty() || filled + needed > most) {
                chunks.emplace_back();
                filled = 0;
            }
            chunks.back().texts.push_back(static_cast<int64_t>(i));
            chunks.back().bytes += bytes(i);
            filled += needed;
        }
        return chunks;
    }

    // A marked part with the characters beside it, and the number of its text. With `every`, whether it is marked or not.
    struct MarkedPart {
        size_t text;
        Characters characters;
    };
    std::vector<MarkedPart> marked_parts(bool every) const {
        std::vector<MarkedPart> marked;
        for (size_t i = 0; i < size(); i++) {
            for (size_t part = texts_[i].first_part; part < texts_[i + 1].first_part; part++) {
                if (!every && !parts_[part].marked) continue;
                Characters found = parts_[part].text;
                if (part > texts_[i].first_part) {
                    found.data = static_cast<const uint8_t*>(found.data) - found.unit_bytes;
                    found.length++;
                }
                found.length += part + 1 < texts_[i + 1].first_part;
                marked.push_back({i, found});
            }
        }
        return marked;
    }

    // offsets: the start of each chosen text, including the bytes before it, and then the total size. found: does the text
    // have what was looked for?
    struct Written {
        std::vector<size_t> offsets;
        std::vector<uint8_t> found;
    };

    // Writes the texts of these numbers, each between so many bytes of 0xFF. look: whether UTF-8 contains what is looked for,
    // which has at most `most_bytes`. If this throws LoneSurrogateError, `out` is undefined.
    template <class Look>
    Written write(const std::vector<size_t>& chosen, size_t before, size_t after, uint8_t* out, size_t room, size_t threads, size_t most_bytes, Look&& look) const {
        Written written{{0}, std::vector<uint8_t>(chosen.size(), 0)};
        std::vector<Place> places;
        size_t offset = 0;
        for (const size_t text : chosen) {
            offset += before;
            for (size_t part = texts_[text].first_part; part < texts_[text + 1].first_part; part++) {
                places.push_back({parts_[part].text, offset, parts_[part].bytes, written.offsets.size() - 1, false});
                offset += parts_[part].bytes;
            }
            offset += after;
            written.offsets.push_back(offset);
        }
        if (room < offset) throw NeedsReference("the texts are longer than the room for them");
        // The device reads faster what is in no core's cache, so a thread writes and looks elsewhere, and then copies.
        in_shares(places, threads, [&](Place& place) {
            const auto* utf8 = static_cast<const uint8_t*>(place.text.data);
            std::unique_ptr<uint8_t[]> memory;
            if (!place.text.ascii) {
                memory = std::make_unique_for_overwrite<uint8_t[]>(place.bytes);
                const auto transcode_units = [&](const auto* units) { return transcode(units, place.text.length, memory.get(), nullptr); };
                if (visit_units(place.text, transcode_units).lone_surrogate) throw LoneSurrogateError();
                utf8 = memory.get();
            }
            place.found = look(utf8, utf8 + place.bytes);
            copy_past_caches(out + place.offset, utf8, place.bytes);
        });
        const auto begin_of = [&](size_t row) { return written.offsets[row] + before; };
        const auto end_of = [&](size_t row) { return written.offsets[row + 1] - after; };
        for (const auto& [text, begin, bytes, row, found] : places) {
            const size_t from = begin - std::min(begin - begin_of(row), most_bytes), to = begin + std::min(end_of(row) - begin, most_bytes);
            written.found[row] |= found || (begin > begin_of(row) && look(out + from, out + to));
        }
        for (size_t row = 0; row < chosen.size(); row++) {
            std::fill_n(out + written.offsets[row], before, SEPARATOR);
            std::fill_n(out + end_of(row), after, SEPARATOR);
        }
        return written;
    }

  private:
    struct PackedText {
        size_t first_part, bytes;
    };
    struct Part {
        Characters text;
        size_t bytes;  // of UTF-8
        bool marked;
    };
    // A part in the buffer. row: the place of its text among those chosen.
    struct Place {
        Characters text;
        size_t offset, bytes, row;
        bool found;
    };

    static Part& at(Part* part) { return *part; }
    static Place& at(Place& place) { return place; }
    // Neighbouring short parts are a share, so that threads do not contend over them.
    template <class Item, class Work>
    void in_shares(std::vector<Item>& items, size_t threads, Work&& work) const {
        const std::vector<size_t> firsts = groups_of(items.size(), part_characters_, [&](size_t i) { return at(items[i]).text.length + 1; });
        pool_.run(firsts.size() - 1, threads, [&](size_t share) {
            for (size_t i = firsts[share]; i < firsts[share + 1]; i++) work(at(items[i]));
        });
    }

    ThreadPool& pool_;
    const size_t part_characters_;
    std::vector<PackedText> texts_;  // and one that ends the last
    std::vector<Part> parts_;
};

}  // namespace lopt
