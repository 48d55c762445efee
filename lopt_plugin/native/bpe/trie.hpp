// A double-array trie of the entries that BPE reproduces from their own bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "bpe/vocabulary.hpp"

namespace lopt {

inline constexpr uint32_t IRREGULAR = 1u << 31;  // flag on a token id: a word that meets it is merged by rank

// The entries in byte order. Compares the first eight bytes as one number, which decides nearly always.
inline std::vector<Entry> in_byte_order(const std::vector<Entry>& entries) {
    struct Keyed {
        uint64_t first;
        Entry entry;
    };
    std::vector<Keyed> keyed;
    keyed.reserve(entries.size());
    for (const Entry& entry : entries) {
        uint64_t first = 0;
        for (size_t i = 0; i < 8; i++) first = first << 8 | (i < entry.bytes.size() ? static_cast<uint8_t>(entry.bytes[i]) : 0);
        keyed.push_back({first, entry});
    }
    std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.first != b.first ? a.first < b.first : a.entry.bytes < b.entry.bytes; });
    std::vector<Entry> sorted;
    sorted.reserve(entries.size());
    for (const Keyed& each : keyed) sorted.push_back(each.entry);
    return sorted;
}

class Trie {
  public:
    // The child of a node with base b for byte c is at b ^ c.
    struct Unit {
        uint32_t link;   // base << 9 | byte; byte FREE marks an unused unit
        uint32_t token;  // id, possibly with IRREGULAR; NONE if no entry ends here
        bool is(uint8_t byte) const { return (link & 0x1FF) == byte; }
        uint32_t base() const { return link >> 9; }
    };
    static constexpr uint32_t ROOT = 0;
    static constexpr uint32_t NO_CHILDREN = 256;  // the base of every leaf: a block that stays free

    // `sorted`: entries `in_byte_order`, with IRREGULAR set in the ids it applies to.
    explicit Trie(const std::vector<Entry>& sorted) {
        std::vector<Unit> units;
        Builder{units}.build(sorted);
        if (units.size() > size_t{1} << 23) throw std::invalid_argument("the vocabulary's trie is too large");
        units_.assign(units.size(), Unit{FREE, NONE});
        for (size_t i = 0; i < units.size(); i++) units_[i] = units[i];
    }

    const Unit& operator[](uint32_t i) const { return units_[i]; }
    // The longest entry that is a prefix of [p, end), searched from a node with this base: its token, and its end. NONE and p
    // if there is none.
    struct Match {
        uint32_t token;
        const uint8_t* end;
    };
    [[gnu::always_inline]] Match longest(uint32_t base, const uint8_t* p, const uint8_t* end) const {
        Match best{NONE, p};
        while (p < end) {
            const Unit unit = units_[base ^ *p];
            if (!unit.is(*p)) break;
            p++;
            if (unit.token != NONE) best = {unit.token, p};
            base = unit.base();
        }
        return best;
    }
    size_t size() const { return units_.size(); }
    size_t bytes() const { return units_.bytes(); }

  private:
    static constexpr uint32_t FREE = 0x1FF;

    struct Builder {
        std::vector<Unit>& units;
        std::vector<uint64_t> free{};  // a bit for each unused unit
        std::vector<bool> is_base{};
        std::vector<uint32_t> open{};  // blocks to search for bases, the newest last

        struct Range {
            uint32_t low, high, depth, at;  // entries [low, high) share their first `depth` bytes; their node is unit `at`
        };
        struct Child {
            uint32_t low, high, deeper;
            uint8_t byte;
        };

        uint32_t add_block() {
            const uint32_t block = static_cast<uint32_t>(units.size() / 256);
            units.resize(units.size() + 256, Unit{FREE, NONE});
            free.resize(units.size() / 64, ~uint64_t{0});
            is_base.resize(units.size());
            return block;
        }

        bool is_free(uint32_t at) const { return free[at >> 6] >> (at & 63) & 1; }
        uint32_t find_base(const std::vector<Child>& children) {
            constexpr size_t KEEP_OPEN = 8;
            for (size_t k = open.size(); k-- > 0;)
                for (uint32_t word = open[k] * 4; word < open[k] * 4 + 4; word++)
                    for (uint64_t left = free[word]; left; left &= left - 1) {
                        const uint32_t base = (word * 64 + static_cast<uint32_t>(__builtin_ctzll(left))) ^ children[0].byte;
                        bool fits = !is_base[base];
                        for (size_t c = 1; fits && c < children.size(); c++) fits = is_free(base ^ children[c].byte);
                        if (fits) return base;
                    }
            open.push_back(add_block());
            if (open.size() > KEEP_OPEN) open.erase(open.begin());
            return open.back() * 256;
        }

        void build(const std::vector<Entry>& sorted) {
            add_block();  // the root's children
            is_base[ROOT] = true;
            add_block();  // NO_CHILDREN
            is_base[NO_CHILDREN] = true;
            open.push_back(add_block());
            std::vector<Range> ranges{{0, static_cast<uint32_t>(sorted.size()), 0, NONE}};
            std::vector<Child> children;
            while (!ranges.empty()) {
                const Range range = ranges.back();
                ranges.pop_back();
                children.clear();
                for (uint32_t i = range.low; i < range.high;) {
                    const uint8_t byte = static_cast<uint8_t>(sorted[i].bytes[range.depth]);
                    uint32_t high = i + 1;
                    while (high < range.high && static_cast<uint8_t>(sorted[high].bytes[range.depth]) == byte) high++;
                    children.push_back({i, high, i + (sorted[i].bytes.size() == range.depth + 1), byte});
                    i = high;
                }
                if (children.empty()) continue;
                uint32_t base = ROOT;
                if (range.at != NONE) {
                    base = find_base(children);
                    is_base[base] = true;
                    units[range.at].link = base << 9 | (units[range.at].link & 0x1FF);
                }
                for (const auto& child : children) {
                    const uint32_t at = base ^ child.byte;
                    free[at >> 6] &= ~(uint64_t{1} << (at & 63));
                    units[at] = {NO_CHILDREN << 9 | child.byte, child.deeper > child.low ? sorted[child.low].id : NONE};
                }
                for (size_t c = children.size(); c-- > 0;)
                    if (children[c].deeper < children[c].high)
                        ranges.push_back({children[c].deeper, children[c].high, range.depth + 1, base ^ children[c].byte});
            }
        }
    };

    Table<Unit> units_;
};

}  // namespace lopt
