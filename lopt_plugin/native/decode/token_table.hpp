// The text that each id contributes to a decoded text.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/invalid_utf8.hpp"

namespace lopt {

// Stripped from the start of the joined text: the character, at most `most` times.
struct LeadingStrip {
    char character;
    uint32_t most;
};

class TokenTable {
  public:
    // joins_bytes: tokens are bytes, which are joined before they become text. Otherwise, tokens are text, but some may stand
    // for one byte, and a run of these is decoded together.
    TokenTable(bool joins_bytes, LeadingStrip strip) : joins_bytes_(joins_bytes), strip_(strip) {}

    // Adds the next id: its token, the text it contributes, and the text it contributes as the first token.
    void add(std::string_view token, std::string_view added, std::string_view first) {
        const Place token_place = stored(token), added_place = added == token ? token_place : stored(added);
        entries_.push_back({token_place, added_place, first == added ? added_place : stored(first), KNOWN, 0});
        if (adds_plain_text(entries_.back())) entries_.back().flags |= PLAIN;
    }
    void add_unknown() { entries_.push_back({}); }
    void set_special(size_t id) { entries_.at(id).flags |= SPECIAL; }
    void set_byte(size_t id, uint8_t byte) {
        entries_.at(id).flags = (entries_.at(id).flags | BYTE) & ~PLAIN;
        entries_.at(id).byte = byte;
    }

    // Call it after the last id.
    void shrink() {
        entries_.shrink_to_fit();
        texts_.shrink_to_fit();
    }

    size_t size() const { return entries_.size(); }
    size_t memory() const { return entries_.capacity() * sizeof(Entry) + texts_.capacity(); }
    bool joins_bytes() const { return joins_bytes_; }
    const LeadingStrip& strip() const { return strip_; }

    // Does the id have a token in the text? False for unknown ids.
    bool shows(uint32_t id, bool skip_special) const {
        if (id >= entries_.size()) return false;
        const uint8_t flags = entries_[id].flags;
        return flags & KNOWN && !(skip_special && flags & SPECIAL);
    }
    // Only for an id that is shown:
    std::string_view token(uint32_t id) const { return text_of(entries_[id].token); }
    std::string_view added(uint32_t id) const { return text_of(entries_[id].added); }
    std::string_view first(uint32_t id) const { return text_of(entries_[id].first); }
    bool is_byte(uint32_t id) const { return entries_[id].flags & BYTE; }
    // Does the id add its own text whatever its neighbours are? Not if the text begins or ends inside a character, is
    // empty (also as the first id), or ends in U+FFFD, for which a stream waits.
    bool is_plain(uint32_t id) const { return entries_[id].flags & PLAIN; }
    // Is the text of this id alone the same as what it adds to any other text?
    bool adds_alone(uint32_t id) const { return joins_bytes_ || (strip_.most == 0 && entries_[id].first.begin == entries_[id].added.begin); }
    uint8_t byte(uint32_t id) const { return entries_[id].byte; }

    // The table is larger than a core's cache. These ask for what a later id needs: first its entry, then its text.
    void prefetch_entry(uint32_t id) const {
        if (id < entries_.size()) __builtin_prefetch(&entries_[id]);
    }
    void prefetch_text(uint32_t id) const {
        if (id < entries_.size()) __builtin_prefetch(texts_.data() + entries_[id].added.begin);
    }

  private:
    static constexpr uint8_t KNOWN = 1, SPECIAL = 2, BYTE = 4, PLAIN = 8;
    struct Place {
        uint32_t begin = 0, length = 0;
    };
    struct Entry {
        Place token, added, first;
        uint8_t flags = 0, byte = 0;
    };

    bool adds_plain_text(const Entry& entry) const {
        const std::string_view added = text_of(entry.added), first = text_of(entry.first);
        if (added.empty() || added.ends_with(REPLACEMENT_CHARACTER)) return false;
        if (joins_bytes_) return is_utf8(added);
        return first.find_first_not_of(strip_.character) < first.size() || first.size() > strip_.most;
    }
    Place stored(std::string_view text) {
        if (text.size() > UINT32_MAX - texts_.size()) throw std::invalid_argument("the tokens have more than 2^32 bytes");
        const Place place = {static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size())};
        texts_ += text;
        return place;
    }
    std::string_view text_of(Place place) const { return std::string_view(texts_).substr(place.begin, place.length); }

    bool joins_bytes_;
    LeadingStrip strip_;
    std::vector<Entry> entries_;
    std::string texts_;
};

}  // namespace lopt
