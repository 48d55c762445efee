// The Unigram model: of all segmentations of a word into pieces, it chooses the one with the largest sum of scores.
//
// The sums are computed as in the reference library: in double precision, from the start of the word, with the model's
// own scores. A later path to a position replaces an earlier one only if it is better, so rounding and ties have the same
// effect.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.hpp"
#include "base/id_buffer.hpp"
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
    static constexpr uint32_t UNREACHED = ~uint32_t{0};
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
    Unigram(const std::vector<std::string_view>& names, std::vector<double> scores, uint32_t unknown_id, bool byte_fallback)
        : scores_(std::move(scores)), unknown_id_(unknown_id), trie_(entries(names)) {
        if (scores_.size() != names.size() || unknown_id >= names.size()) throw std::invalid_argument("a unigram model lacks scores, or its unknown id");
        if (!std::all_of(scores_.begin(), scores_.end(), [](double score) { return std::isfinite(score); }))
            throw std::invalid_argument("a score of the unigram model is not finite");
        unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - UNKNOWN_PENALTY;
        byte_ids_.fill(NONE);
        if (byte_fallback) find_bytes(names);
    }

    // Writes the pieces of a word, in order, to `lattice`.
    void divide(const uint8_t* p, const uint8_t* end, Lattice& lattice) const {
        find_ways(p, static_cast<uint32_t>(end - p), lattice);
        auto& pieces = lattice.pieces;
        pieces.clear();
        for (auto at = static_cast<uint32_t>(end - p); at > 0;) {
            const Lattice::Way& way = lattice.ways[at];
            // Adjacent unknown pieces are merged into one.
            if (way.id == unknown_id_ && !pieces.empty() && pieces.back().id == unknown_id_) pieces.back().begin = way.begin;
            else pieces.push_back({way.begin, at, way.id, false});
            at = way.begin;
        }
        std::reverse(pieces.begin(), pieces.end());
        for (Piece& piece : pieces)
            if (piece.id == unknown_id_) name_unknown(p, piece);
    }
    // Appends the ids of a word.
    void encode(const uint8_t* p, const uint8_t* end, Lattice& lattice, IdBuffer& out) const {
        divide(p, end, lattice);
        for (const Piece& piece : lattice.pieces) {
            if (!piece.as_bytes) out.push(piece.id);
            else visit_bytes(p + piece.begin, p + piece.end, [&](uint8_t byte) { out.push(byte_ids_[byte]); });
        }
    }
    size_t ids_of(const uint8_t* p, const Piece& piece) const {
        size_t count = 0;
        if (piece.as_bytes) visit_bytes(p + piece.begin, p + piece.end, [&count](uint8_t) { count++; });
        return piece.as_bytes ? count : 1;
    }

    uint32_t unknown_id() const { return unknown_id_; }
    // The ids for the bytes of unknown characters; NONE if unknown characters do not become bytes.
    const std::array<uint32_t, 256>& byte_ids() const { return byte_ids_; }
    size_t bytes() const { return trie_.bytes() + scores_.size() * sizeof(double); }

  private:
    static constexpr double UNKNOWN_PENALTY = 10.0;
    static constexpr std::array<uint8_t, 3> SIGN{0xE2, 0x96, 0x81};  // U+2581

    // The entries of the trie, with a space for each U+2581. A name that itself contains a space occurs in no word.
    class Entries {
      public:
        explicit Entries(const std::vector<std::string_view>& names) : spelled_(names.size()) {
            if (names.size() > size_t{MAX_ID} + 1) throw std::invalid_argument("a unigram model has too many pieces");
            std::unordered_map<std::string_view, uint32_t> last;
            for (uint32_t id = 0; id < names.size(); id++) {
                const std::string_view name = names[id];
                if (name.empty()) throw std::invalid_argument("a piece of the unigram model is empty");
                if (name.find(' ') != std::string_view::npos) continue;
                const auto* const p = reinterpret_cast<const uint8_t*>(name.data());
                if (!spaces_for_metaspaces(p, p + name.size(), spelled_[id], nullptr)) spelled_[id] = name;
                last[spelled_[id]] = id;  // if two entries have the same name, the last one counts
            }
            for (const auto& [name, id] : last) sorted_.push_back({name, id});
            std::sort(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) { return a.bytes < b.bytes; });
        }
        const std::vector<Entry>& sorted() const { return sorted_; }

      private:
        std::vector<std::string> spelled_;
        std::vector<Entry> sorted_;
    };
    static Trie entries(const std::vector<std::string_view>& names) { return Trie(Entries(names).sorted()); }

    void find_bytes(const std::vector<std::string_view>& names) {
        constexpr char DIGITS[] = "0123456789ABCDEF";
        for (uint32_t id = 0; id < names.size(); id++) {
            if (names[id].size() != 6 || !names[id].starts_with("<0x") || names[id][5] != '>') continue;
            const char *const high = std::strchr(DIGITS, names[id][3]), *const low = std::strchr(DIGITS, names[id][4]);
            if (high && low && *high && *low) byte_ids_[static_cast<size_t>((high - DIGITS) * 16 + (low - DIGITS))] = id;
        }
    }

    void find_ways(const uint8_t* p, uint32_t size, Lattice& lattice) const {
        auto& ways = lattice.ways;
        ways.assign(size_t{size} + 1, {0.0, Lattice::UNREACHED, 0});
        const auto offer = [&ways](uint32_t begin, uint32_t end, double score, uint32_t id) {
            Lattice::Way& way = ways[end];
            if (way.begin == Lattice::UNREACHED || score > way.score) way = {score, begin, id};
        };
        for (uint32_t begin = 0; begin < size;) {
            const double before = ways[begin].score;
            const uint32_t after_character = begin + static_cast<uint32_t>(character_bytes(p[begin]));
            bool known = false;
            uint32_t base = Trie::ROOT;
            for (uint32_t at = begin; at < size; at++) {
                const Trie::Unit unit = trie_[base ^ p[at]];
                if (!unit.is(p[at])) break;
                base = unit.base();
                if (unit.token == NONE) continue;
                offer(begin, at + 1, scores_[unit.token] + before, unit.token);
                known |= at + 1 == after_character;
            }
            if (!known) offer(begin, after_character, unknown_score_ + before, unknown_id_);
            begin = after_character;
        }
    }
    // Sets the ids of a run of unknown characters: an entry, bytes, or the unknown id.
    void name_unknown(const uint8_t* p, Piece& piece) const {
        uint32_t base = Trie::ROOT, id = NONE;
        for (uint32_t at = piece.begin; at < piece.end; at++) {
            const Trie::Unit unit = trie_[base ^ p[at]];
            if (!unit.is(p[at])) {
                id = NONE;
                break;
            }
            base = unit.base();
            id = unit.token;
        }
        if (id != NONE) {
            piece.id = id;
            return;
        }
        piece.as_bytes = true;
        visit_bytes(p + piece.begin, p + piece.end, [&](uint8_t byte) { piece.as_bytes &= byte_ids_[byte] != NONE; });
    }
    // Visits the bytes of a part of a word in which a space stands for U+2581.
    template <class Visit>
    static void visit_bytes(const uint8_t* p, const uint8_t* end, Visit&& visit) {
        for (; p < end; p++) {
            if (*p != ' ') visit(*p);
            else for (const uint8_t byte : SIGN) visit(byte);
        }
    }

    std::vector<double> scores_;
    uint32_t unknown_id_;
    double unknown_score_;
    std::array<uint32_t, 256> byte_ids_;
    Trie trie_;
};

}  // namespace lopt
