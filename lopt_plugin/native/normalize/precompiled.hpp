// The Precompiled normalizer step: the character map of a SentencePiece model.
//
// The reference library looks up grapheme clusters of fewer than 6 bytes as a whole, and all others character by
// character. It replaces a cluster, including any unmatched rest, with the image of the shortest key that the cluster
// begins with. So clusters matter only if a character that may begin a key of fewer than 6 bytes precedes one that joins it,
// and both have fewer than 6 bytes. The reference library normalizes such places, up to the next ASCII characters. "\r\n" is a known
// cluster.
//
// A cluster boundary is certain before an ASCII character, unless the character before it joins what follows (Prepend).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/answer_cache.hpp"
#include "normalize/character_set.hpp"
#include "normalize/charsmap.hpp"
#include "normalize/normalizer.hpp"
#include "text/utf8.hpp"

namespace lopt {

class Precompiled final : public NormalizerStep {
  public:
    // joining: characters that share a cluster with the character before them; preceding: with the one after them.
    // normalize: the reference library's own step. Throws std::invalid_argument if the map is malformed.
    Precompiled(const Charsmap& map, const std::vector<uint32_t>& joining, const std::vector<uint32_t>& preceding, ReferenceNormalize normalize)
        : joining_(joining), preceding_(preceding), odd_(both(joining, preceding)), normalize_(std::move(normalize)) {
        std::vector<uint32_t> mapped, beginning, stops = both(joining, preceding);
        size_t steps = size_t{1} << 22;  // T5's map needs a third of them
        for (uint32_t c = 0; c < 0x110000; c++) {
            if (is_surrogate(c)) continue;
            std::string character;
            append_character(c, character);
            if (map.begins_key(character, LOOKED_UP_WHOLE - 1, steps)) beginning.push_back(c);
            const auto image = map.image_of(character);
            if (!image) continue;
            mapped.push_back(c);
            images_.emplace(c, *image);
        }
        if (const auto image = map.image_of("\r\n")) {
            line_end_ = *image;
            if (!images_.contains('\r')) mapped.push_back('\r');
        }
        mapped_ = CharacterSet(mapped);
        beginning_ = CharacterSet(beginning);
        stops.insert(stops.end(), mapped.begin(), mapped.end());
        stops_ = CharacterSet(stops);
    }

    bool changes_ascii() const override { return mapped_.holds_ascii(); }
    void mark_pages(PageMarks& marks) const override { stops_.mark_pages(marks); }
    // No key of a cluster begins with the character, so it does not matter which cluster it is in, unless that is "\r\n".
    bool begins_apart(uint32_t c) const override { return !odd_.holds(c) && !beginning_.holds(c) && !(c == '\n' && line_end_); }
    // Where a cluster begins; or goes on, and each side is looked up by character as the whole is. A cluster that goes on before a
    // character that joins nothing is of Hangul, Indic consonants or emoji and has 6 bytes or more, but a side may have less: a
    // consonant, later jamo or emoji that begins a key, with a mark of 2 bytes; a first jamo; U+00A9 or U+00AE, and a joiner.
    bool divides(uint32_t left, uint32_t right) const override {
        if (preceding_.holds(left) || joining_.holds(right) || (right == '\n' && line_end_)) return false;
        if (is_first_jamo(left) || (left == JOINER && (beginning_.holds(0xA9) || beginning_.holds(0xAE)))) return false;
        return begins_apart(right) || has_no_conjuncts(right) || !(joining_.holds(left) || is_later_jamo(right));
    }
    // In a cluster of joining characters, after one at most that joins no others by a rule of its own. From 6 bytes on, each of
    // them is looked up by itself; and alone, if no key begins with the first of them.
    size_t last_place_among(const std::vector<uint32_t>& characters, bool goes_on) const override {
        size_t bytes = goes_on ? LOOKED_UP_WHOLE : 0, found = 0;
        for (size_t i = 0; i < characters.size(); i++) {
            const uint32_t c = characters[i];
            const bool may_begin = has_no_conjuncts(c) && c != 0xA9 && c != 0xAE && !preceding_.holds(c);
            if (!joining_.holds(c) && (i > 0 || goes_on || !may_begin)) break;
            if (bytes >= LOOKED_UP_WHOLE && !beginning_.holds(c)) found = i;
            bytes += bytes_of_character(c);
        }
        return found;
    }
    // Such a run is one long cluster, or as many clusters.
    uint32_t image_in_run(uint32_t c) const override {
        if (preceding_.holds(c) || (line_end_ && (c == '\r' || c == '\n'))) return NONE;
        const std::string* const image = image_of(c);
        if (!image) return c;
        const auto characters = code_points_of(*image);
        return characters.size() == 1 ? characters[0] : NONE;
    }
    bool keeps(const uint8_t* begin, const uint8_t* end) const override { return stops_.next(begin, end) == end; }
    bool passes(Junction& junction) const override {
        const uint32_t left = junction.left, right = junction.right;
        if (odd_.holds(left) || odd_.holds(right)) return false;
        const bool next_is_odd = junction.has_next ? odd_.holds(junction.next) : !junction.is_end;
        if (beginning_.holds(right) && (right >= 0x80 || next_is_odd)) return false;
        const std::string *before = image_of(left), *after = image_of(right);
        if ((before && before->empty()) || (after && after->empty())) return false;
        if (line_end_ && (right == '\r' || left == '\r' || (left == '\n' && (before ? *before : "\n") != *line_end_))) return false;
        junction.replace(before, after, junction.has_next && stops_.holds(junction.next));
        return true;
    }

    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, Sources* sources) const override {
        const uint8_t* const first = stops_.next(begin, end);
        if (first == end) return false;
        out.clear();
        out.reserve(static_cast<size_t>(end - begin) + 64);
        Changes changes;
        if (!append_images(begin, end, out, sources ? &changes : nullptr)) {
            if (sources) throw OffsetsUnknownError("a normalizer looks at characters that are joined");
            out.clear();
            for (const uint8_t* p = begin; p < end;) {
                const auto [odd, odd_end] = next_odd(p, end);
                append_images(p, odd, out, nullptr);
                if (odd == end) break;
                out += normalize_(text_between(odd, odd_end));
                p = odd_end;
            }
        }
        if (sources) changes.tell(begin, end, *sources);
        return true;
    }

  private:
    static constexpr int LOOKED_UP_WHOLE = 6;  // clusters of fewer bytes
    static constexpr uint32_t JOINER = 0x200D;
    static bool is_first_jamo(uint32_t c) { return (c >= 0x1100 && c < 0x1160) || (c >= 0xA960 && c < 0xA980); }
    static bool is_later_jamo(uint32_t c) { return (c >= 0x1160 && c < 0x1200) || (c >= 0xD7B0 && c < 0xD800); }
    // Of scripts that have none: those before Devanagari, and kana.
    static bool has_no_conjuncts(uint32_t c) { return c < 0x900 || (c >= 0x3040 && c < 0x3100); }

    // The alignment of the new text, as in the reference library. An added character has the source of the character
    // before it. A removed character is merged into the last character of the new text, or not counted if the new text is
    // empty.
    class Changes {
      public:
        void keep(const uint8_t* p, const uint8_t* end) { inserted_.resize(inserted_.size() + count_characters(p, end), 0); }
        void replace(size_t old_count, size_t new_count) {
            inserted_.resize(inserted_.size() + new_count, 0);
            for (size_t i = old_count; i < new_count; i++) inserted_[inserted_.size() - 1 - (i - old_count)] = 1;
            if (old_count <= new_count) return;
            if (inserted_.empty()) uncounted_ = true;
            else inserted_.back() -= static_cast<int32_t>(old_count - new_count);
        }
        void tell(const uint8_t* begin, const uint8_t* end, Sources& sources) const {
            std::vector<Offset> offsets;
            offsets.reserve(inserted_.size());
            int32_t taken = 0;
            for (const int32_t inserted : inserted_) {
                const int32_t source = inserted > 0 ? taken - 1 : taken;
                if (inserted <= 0) taken += 1 - inserted;
                offsets.push_back({source, source + 1});
            }
            sources.replace(begin, end, offsets);
            if (uncounted_) sources.misplace();
        }

      private:
        std::vector<int32_t> inserted_;  // per new character: 1, or minus the number of removed characters it takes
        bool uncounted_ = false;
    };

    static std::vector<uint32_t> both(std::vector<uint32_t> some, const std::vector<uint32_t>& others) {
        some.insert(some.end(), others.begin(), others.end());
        return some;
    }
    // The replacement of a single character; null if it is unchanged.
    const std::string* image_of(uint32_t c) const {
        if (!mapped_.holds(c)) return nullptr;
        const auto found = images_.find(c);
        return found == images_.end() ? nullptr : &found->second;
    }

    // The first part of [begin, end) in which clusters may matter; empty, at `end`, if there is none. It has certain
    // boundaries at both ends.
    std::pair<const uint8_t*, const uint8_t*> next_odd(const uint8_t* begin, const uint8_t* end) const {
        int length;
        for (const uint8_t* p = odd_.next(begin, end); p < end; p = odd_.next(p + length, end)) {
            const uint32_t c = decode_character(p, length);
            if (!is_odd(begin, p, c, length)) continue;
            const uint8_t* first = p;
            while (first > begin && !certain(begin, first)) first = character_before(first);
            const uint8_t* last = p + length;
            while (last < end && !certain(begin, last)) last += character_bytes(*last);
            return {first, last};
        }
        return {end, end};
    }
    // May the cluster of the character at p, which takes `length` bytes, matter? The text begins at `begin`.
    bool is_odd(const uint8_t* begin, const uint8_t* p, uint32_t c, int length) const {
        if (!odd_.holds(c)) return false;
        if (preceding_.holds(c)) return true;
        if (p == begin) return false;
        int before;
        const uint32_t joined = decode_character(character_before(p), before);
        return beginning_.holds(joined) && before + length < LOOKED_UP_WHOLE;
    }
    // Is the position before p a boundary, whatever else the text contains? The text begins at `begin`.
    bool certain(const uint8_t* begin, const uint8_t* p) const {
        if (*p >= 0x80) return false;
        if (p == begin) return true;
        int length;
        const uint32_t before = decode_character(character_before(p), length);
        return !preceding_.holds(before) && !(before == '\r' && *p == '\n');
    }

    // Appends the replacement of [begin, end), looking up each character, or "\r\n", on its own. Returns false, with part
    // of it appended, if clusters may matter.
    bool append_images(const uint8_t* begin, const uint8_t* end, std::string& out, Changes* changes) const {
        for (const uint8_t *p = begin, *next; p < end; p = next) {
            const uint8_t* const stop = stops_.next(p, end);
            out.append(p, stop);
            if (changes) changes->keep(p, stop);
            if (stop == end) break;
            int length;
            const uint32_t c = decode_character(stop, length);
            if (is_odd(begin, stop, c, length)) return false;
            const std::string* image = image_of(c);
            next = stop + length;
            if (line_end_ && c == '\r' && next < end && *next == '\n') {
                image = &*line_end_;
                next++;
            }
            if (image) out += *image;
            else out.append(stop, next);
            if (changes) changes->replace(count_characters(stop, next), image ? characters_in(*image) : 1);
        }
        return true;
    }

    CharacterSet joining_, preceding_, odd_;                        // odd: either
    CharacterSet mapped_{{}}, beginning_{{}}, stops_{{}};  // characters that change; that may begin a key of a cluster; that change or are odd
    std::unordered_map<uint32_t, std::string> images_;
    std::optional<std::string> line_end_;  // the replacement of "\r\n", if a key is a prefix of it
    AnswerCache<std::string> normalize_;
};

}  // namespace lopt
