// The Unigram model: of all segmentations of a word into pieces, it chooses the one with the largest sum of scores.
//
// The sums are computed as in the reference library: in double precision, from the start of the word, with the model's
// own scores. A later path to a position replaces an earlier one only if it is better, so rounding and ties have the same
// effect.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.hpp"
#include "base/id_buffer.hpp"
#include "base/table.hpp"
#include "bpe/trie.hpp"
#include "normalize/metaspace.hpp"
#include "text/utf8.hpp"

namespace lopt {

// Bytes [begin, end) of a word, with one id, or, for unknown characters, with one id per byte.
struct Piece {
    uint32_t begin, end, id;
    bool as_bytes;
};

// Scratch space for one word.
struct Lattice {
    // The best path to a position: its score and its last piece.
    struct Way {
        double score;
        uint32_t begin, id;
    };
    std::vector<Way> ways;
    std::vector<Piece> pieces;

    size_t keep_at_most(size_t bytes) { return lopt::keep_at_most(bytes, ways) + lopt::keep_at_most(bytes, pieces); }
};

class Unigram {
  public:
    // The ids are the indexes of the names. Words contain a space for each U+2581, so no name may contain both. Throws
    // std::invalid_argument.
    Unigram(const std::vector<std::string_view>& names, const std::vector<double>& scores, uint32_t unknown_id, bool byte_fallback)
        : unknown_id_(unknown_id) {
        if (scores.size() != names.size() || unknown_id >= names.size()) throw std::invalid_argument("a unigram model lacks scores, or its unknown id");
        // Sums of scores stay finite, whatever the length of a word.
        if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::abs(score) < LARGEST_SCORE; }))
            throw std::invalid_argument("a score of the unigram model is too large, or not finite");
        const Trie trie = trie_of(names);
        for (const std::string_view name : names) longest_ = std::max(longest_, static_cast<uint32_t>(name.size()));
        if (trie.size() > MOST_UNITS) throw std::invalid_argument("the trie of the unigram model is too large");
        links_.assign(trie.size(), 0);
        ends_.assign(trie.size(), {NO_SCORE, NONE});
        for (uint32_t i = 0; i < trie.size(); i++) {
            const uint32_t id = trie[i].token;
            links_[i] = trie[i].base() << BASE_SHIFT | (id != NONE ? ENDS : 0) | (trie[i].link & BYTE);
            if (id != NONE) ends_[i] = {scores[id], id};
        }
        unknown_score_ = *std::min_element(scores.begin(), scores.end()) - UNKNOWN_PENALTY;
        byte_ids_.fill(NONE);
        for (uint32_t id = 0; byte_fallback && id < names.size(); id++)
            if (const auto byte = byte_named(names[id])) byte_ids_[*byte] = id;
    }

    // Writes the pieces of a word, in order, to `lattice`.
    void divide(const uint8_t* p, const uint8_t* end, Lattice& lattice) const {
        const auto size = static_cast<uint32_t>(end - p);
        find_ways(p, size, lattice);
        auto& pieces = lattice.pieces;
        pieces.clear();
        visit_from_end(p, size, lattice.ways, [&pieces](const Piece& piece) { pieces.push_back(piece); });
        std::reverse(pieces.begin(), pieces.end());
    }
    // Appends the ids of a word.
    void encode(const uint8_t* p, const uint8_t* end, Lattice& lattice, IdBuffer& out) const {
        const auto size = static_cast<uint32_t>(end - p);
        find_ways(p, size, lattice);
        append_ids(p, size, lattice, out);
    }
    // The same in two steps, for a word that grows. The first finds the ways to all characters of p[0, size), of which those to
    // p[0, known] are known. Ways that lead there are offered once more, which changes nothing: they are not better.
    void find_ways_from(const uint8_t* p, uint32_t known, uint32_t size, Lattice& lattice) const {
        uint32_t begin = known - std::min(known, longest_);
        while (begin < known && is_continuation(p[begin])) begin++;
        find_ways(p, size, lattice, {begin, known, true});
    }
    void append_ids(const uint8_t* p, uint32_t size, const Lattice& lattice, IdBuffer& out) const {
        const size_t before = out.size();
        visit_from_end(p, size, lattice.ways, [&](const Piece& piece) {
            if (!piece.as_bytes) return out.push(piece.id);
            const size_t first = out.size();
            visit_bytes(p + piece.begin, p + piece.end, [&](uint8_t byte) { out.push(byte_ids_[byte]); });
            reverse_from(first, out);
        });
        reverse_from(before, out);
    }
    size_t ids_of(const uint8_t* p, const Piece& piece) const {
        size_t count = 0;
        if (piece.as_bytes) visit_bytes(p + piece.begin, p + piece.end, [&count](uint8_t) { count++; });
        return piece.as_bytes ? count : 1;
    }

    uint32_t unknown_id() const { return unknown_id_; }
    // The ids for the bytes of unknown characters; NONE if unknown characters do not become bytes.
    const std::array<uint32_t, 256>& byte_ids() const { return byte_ids_; }
    size_t bytes() const { return links_.bytes() + ends_.bytes(); }

    // The entry of these bytes; NONE if there is none.
    uint32_t piece_of(const uint8_t* p, const uint8_t* end) const {
        uint32_t base = Trie::ROOT, id = NONE;
        for (; p < end; p++) {
            const uint32_t unit = base ^ *p, link = links_[unit];
            if ((link & BYTE) != *p) return NONE;
            base = link >> BASE_SHIFT;
            id = ends_[unit].id;
        }
        return id;
    }
    // Visits the bytes of a part of a word in which a space stands for U+2581.
    template <class Visit>
    static void visit_bytes(const uint8_t* p, const uint8_t* end, Visit&& visit) {
        for (; p < end; p++) {
            if (*p != ' ') visit(*p);
            else for (const uint8_t byte : SIGN) visit(byte);
        }
    }

  private:
    static constexpr double UNKNOWN_PENALTY = 10.0, LARGEST_SCORE = 1e280;
    static constexpr double NO_SCORE = -std::numeric_limits<double>::infinity();  // less than every sum
    static constexpr std::array<uint8_t, 3> SIGN{0xE2, 0x96, 0x81};  // U+2581

    // The pieces, with a space for each U+2581. A name that itself contains a space occurs in no word.
    static Trie trie_of(const std::vector<std::string_view>& names) {
        if (names.size() > size_t{MAX_ID} + 1) throw std::invalid_argument("a unigram model has too many pieces");
        std::vector<std::string> spelled(names.size());
        std::unordered_map<std::string_view, uint32_t> last;
        for (uint32_t id = 0; id < names.size(); id++) {
            const std::string_view name = names[id];
            if (name.empty()) throw std::invalid_argument("a piece of the unigram model is empty");
            if (name.find(' ') != std::string_view::npos) continue;
            const auto* const p = reinterpret_cast<const uint8_t*>(name.data());
            if (!spaces_for_metaspaces(p, p + name.size(), spelled[id], nullptr)) spelled[id] = name;
            last[spelled[id]] = id;  // if two entries have the same name, the last one counts
        }
        std::vector<Entry> entries;
        for (const auto& [name, id] : last) entries.push_back({name, id});
        return Trie(in_byte_order(entries));
    }

    // The bits of a link, which is all that most steps through the trie read: the tables are larger than the caches.
    static constexpr uint32_t BYTE = 0x1FF, ENDS = 0x200;  // see Trie::Unit; whether a piece ends there
    static constexpr unsigned BASE_SHIFT = 10;
    static constexpr size_t MOST_UNITS = size_t{1} << (32 - BASE_SHIFT);
    struct [[gnu::packed]] End {
        double score;
        uint32_t id;
    };
    bool begins_piece(uint8_t byte) const { return (links_[Trie::ROOT ^ byte] & BYTE) == byte; }

    // Where a search goes on, and how far the ways known to it lead. to_all: to every character. Else the way over a run of
    // unknown characters may be one step, and what lies inside it is not written.
    struct Start {
        uint32_t begin, reached;
        bool to_all;
    };
    void find_ways(const uint8_t* p, uint32_t size, Lattice& lattice, const Start& start = {0, 0, false}) const {
        auto& ways = lattice.ways;
        if (ways.size() <= size) ways.resize(size_t{size} + 1);
        ways[0] = {0, 0, 0};
        uint32_t reached = start.reached;
        const auto reach = [&ways, &reached](uint32_t end) {
            while (reached < end) ways[++reached] = {NO_SCORE, 0, 0};
        };
        // Without branches: which way is better is hard to predict.
        const auto offer = [&ways](uint32_t begin, uint32_t end, double score, uint32_t id) {
            Lattice::Way& way = ways[end];
            const bool better = score > way.score;
            way.score = better ? score : way.score;
            way.begin = better ? begin : way.begin;
            way.id = better ? id : way.id;
        };
        for (uint32_t begin = start.begin; begin < size;) {
            if (begin == reached && !start.to_all && !begins_piece(p[begin])) {
                begin = reached = cross_unknown(p, begin, size, ways);
                continue;
            }
            const double before = ways[begin].score;
            const uint32_t after_character = begin + static_cast<uint32_t>(character_bytes(p[begin]));
            reach(after_character);
            bool known = false;
            uint32_t base = Trie::ROOT;
            for (uint32_t at = begin; at < size; at++) {
                const uint32_t unit = base ^ p[at], link = links_[unit];
                if ((link & BYTE) != p[at]) break;
                base = link >> BASE_SHIFT;
                if (!(link & ENDS)) continue;
                const End& end = ends_[unit];
                reach(at + 1);
                offer(begin, at + 1, end.score + before, end.id);
                known |= at + 1 == after_character;
            }
            if (!known) offer(begin, after_character, unknown_score_ + before, unknown_id_);
            begin = after_character;
        }
    }
    // Writes the only way over unknown characters that begin no piece, as one step; returns where it ends.
    uint32_t cross_unknown(const uint8_t* p, uint32_t begin, uint32_t size, std::vector<Lattice::Way>& ways) const {
        double score = ways[begin].score;
        uint32_t at = begin;
        while (at < size && !begins_piece(p[at])) {
            score += unknown_score_;  // one at a time, as in the reference
            if (begins_three_bytes(p + at)) [[likely]] at += 3;
            else at += static_cast<uint32_t>(character_bytes(p[at]));
        }
        ways[at] = {score, begin, unknown_id_};
        return at;
    }
    static void reverse_from(size_t first, IdBuffer& ids) {
        uint32_t* const end = ids.reserve(0);
        std::reverse(end - (ids.size() - first), end);
    }
    // Calls visit(piece) for each piece of the best way, the last one first.
    template <class Visit>
    void visit_from_end(const uint8_t* p, uint32_t size, const std::vector<Lattice::Way>& ways, Visit&& visit) const {
        for (uint32_t at = size; at > 0;) {
            Piece piece{ways[at].begin, at, ways[at].id, false};
            if (piece.id == unknown_id_) {
                // Adjacent unknown pieces are merged into one.
                while (piece.begin > 0 && ways[piece.begin].id == unknown_id_) piece.begin = ways[piece.begin].begin;
                name_unknown(p, piece);
            }
            visit(piece);
            at = piece.begin;
        }
    }
    // Sets the ids of a run of unknown characters: an entry, bytes, or the unknown id.
    void name_unknown(const uint8_t* p, Piece& piece) const {
        if (const uint32_t id = piece_of(p + piece.begin, p + piece.end); id != NONE) {
            piece.id = id;
            return;
        }
        const auto has_id = [this](uint8_t byte) { return byte_ids_[byte] != NONE; };
        piece.as_bytes = std::all_of(p + piece.begin, p + piece.end, [&](uint8_t byte) { return byte == ' ' ? std::all_of(SIGN.begin(), SIGN.end(), has_id) : has_id(byte); });
    }

    uint32_t unknown_id_;
    uint32_t longest_ = 0;  // bytes of a piece, or more
    double unknown_score_;
    std::array<uint32_t, 256> byte_ids_;
    // For each unit of the trie: its link, and the piece that ends there.
    Table<uint32_t> links_;
    Table<End> ends_;
};

}  // namespace lopt
