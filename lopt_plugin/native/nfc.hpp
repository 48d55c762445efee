// NFC by the reference library's own normalizer, on just the stretches that it may change.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "alignment.hpp"
#include "hash.hpp"
#include "table.hpp"
#include "unicode.hpp"

namespace lopt {

struct ComposingPair {
    uint32_t first, second;
};

class Nfc {
  public:
    // Normalizes a short text; may throw.
    using Normalize = std::function<std::string(std::string_view)>;

    // `pairs`: all (a, b) that NFC makes one character of.
    Nfc(const ClassTable& classes, const std::vector<ComposingPair>& pairs, Normalize normalize)
        : classes_(classes), normalize_(std::move(normalize)), pairs_(PAIR_BITS / 64, 0), page_marks_(0x110000 >> 4, 0) {
        for (const auto& pair : pairs) pairs_[pair_bit(pair.first, pair.second) >> 6] |= uint64_t{1} << (pair_bit(pair.first, pair.second) & 63);
        for (uint32_t c = 0x80; c < 0x110000; c++)
            if (classes.of(c) & INVOLVED) page_marks_[c >> 4] = 1;
    }

    // One mark for every 16 code points: zero where none of them can take part in a change.
    const uint8_t* page_marks() const { return page_marks_.data(); }

    // True, with the normalized text in `out`, when [begin, end) may change; false when it certainly does not. `edits`, if
    // not null, gets what was normalized, in order.
    bool apply(const uint8_t* begin, const uint8_t* end, std::string& out, std::vector<Edit>* edits = nullptr) const {
        const uint8_t* copied = begin;
        const uint8_t* p = begin;
        bool changed = false;
        while (p < end) {
            const Stretch stretch = next_stretch(begin, p, end);
            if (stretch.begin == end) break;
            if (!changed) out.clear();
            changed = true;
            out.append(copied, stretch.begin);
            const size_t before = out.size();
            append_normalized({reinterpret_cast<const char*>(stretch.begin), static_cast<size_t>(stretch.end - stretch.begin)}, out);
            if (edits) edits->push_back({static_cast<size_t>(stretch.begin - begin), static_cast<size_t>(stretch.end - begin), before, out.size()});
            p = copied = stretch.end;
        }
        if (changed) out.append(copied, end);
        return changed;
    }

  private:
    static constexpr uint16_t INVOLVED = class_bit::nfc_changes | class_bit::nfc_follows;
    static constexpr size_t PAIR_BITS = size_t{1} << 18;
    static constexpr size_t MEMO_ENTRIES = 1 << 15, MEMO_LONGEST = 64;

    struct Stretch {
        const uint8_t *begin, *end;
    };

    // The next stretch that may change, or an empty one at `end`. A stretch begins before a character that neither
    // changes nor follows, or with one that changes but does not follow (its decomposition begins with a starter that
    // composes with nothing before it); it ends before a character that neither changes nor follows. So nothing outside
    // has a part in its normalization.
    Stretch next_stretch(const uint8_t* begin, const uint8_t* p, const uint8_t* end) const {
        while (p < end) {
            if (end - p >= 8 && !(load64(p) & 0x8080808080808080u)) {
                p += 8;
                continue;
            }
            int length;
            const uint16_t bits = classes_.at(p, end, length);
            const uint8_t* next = p + length;
            if (!(bits & INVOLVED) || harmless(begin, p, next, end, bits)) {
                p = next;
                continue;
            }
            const uint8_t* start = p;
            if (bits & class_bit::nfc_follows)
                while (start > begin) {
                    start = character_before(start);
                    if (!(classes_.at(start, end, length) & INVOLVED)) break;
                }
            return {start, classes_.skip(INVOLVED, next, end)};
        }
        return {end, end};
    }

    // A single following character stays as it is when it has no decomposition, what it follows neither follows,
    // changes nor decomposes, the two do not compose, and nothing else follows them.
    bool harmless(const uint8_t* begin, const uint8_t* p, const uint8_t* next, const uint8_t* end, uint16_t bits) const {
        if (bits & (class_bit::nfc_changes | class_bit::decomposes)) return false;
        int length;
        if (next < end && (classes_.at(next, end, length) & INVOLVED)) return false;
        if (p == begin) return true;
        const uint8_t* before = character_before(p);
        if (classes_.at(before, end, length) & (INVOLVED | class_bit::decomposes)) return false;
        const size_t bit = pair_bit(decode_character(before, length), decode_character(p, length));
        return !(pairs_[bit >> 6] >> (bit & 63) & 1);  // a collision only costs a question to the oracle
    }

    void append_normalized(std::string_view text, std::string& out) const {
        if (text.size() > MEMO_LONGEST) {
            out += normalize_(text);
            return;
        }
        const std::string key(text);
        {
            // Not held for long by anyone; after a fork it may be held for ever, so nobody waits for it.
            const std::unique_lock<std::mutex> lock(memo_mutex_, std::try_to_lock);
            const auto found = lock ? memo_.find(key) : memo_.end();
            if (lock && found != memo_.end()) {
                out += found->second;
                return;
            }
        }
        const std::string normalized = normalize_(text);
        out += normalized;
        const std::unique_lock<std::mutex> lock(memo_mutex_, std::try_to_lock);
        if (!lock) return;
        if (memo_.size() >= MEMO_ENTRIES) memo_.clear();
        memo_.emplace(key, normalized);
    }

    static const uint8_t* character_before(const uint8_t* p) {
        do p--;
        while ((*p & 0xC0) == 0x80);
        return p;
    }
    static size_t pair_bit(uint32_t first, uint32_t second) {
        return ((static_cast<uint64_t>(first) << 21 | second) * HASH_A) >> (64 - 18);
    }

    const ClassTable& classes_;
    Normalize normalize_;
    Table<uint64_t> pairs_;
    Table<uint8_t> page_marks_;
    mutable std::mutex memo_mutex_;
    mutable std::unordered_map<std::string, std::string> memo_;
};

}  // namespace lopt
