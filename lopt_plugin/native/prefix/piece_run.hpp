// Consecutive pieces of a text with their ids. Immutable once it is shared, apart from what the store's lock guards.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "prefix/content_hash.hpp"
#include "text/characters.hpp"

namespace lopt {

// Where a piece of a run ends, counted from the beginning of the run.
struct Piece {
    size_t characters, utf8_bytes, ids;
    uint64_t name = 0;  // given by the store
    size_t text_at = 0;  // where the run has its text
    int unit_bytes = 1;  // as narrow as it can be: one odd character widens its piece and no other one
};

class Run {
  public:
    // text, ids: of these pieces, of which there is at least one. first_hash: of the first one.
    Run(uint64_t first_hash, const Characters& text, const uint32_t* ids, std::vector<Piece> pieces)
        : pieces_(narrowed(std::move(pieces), text)), first_hash_(first_hash), text_bytes_(lay_out()), data_(allocate()) {
        if (count()) std::memcpy(data_.get(), ids, count() * sizeof *ids);
        size_t before = 0;
        for (const Piece& piece : pieces_) {
            copy_text(text.part(before, piece.characters), piece);
            before = piece.characters;
        }
    }
    // Of several runs, one after the other.
    explicit Run(const std::vector<std::shared_ptr<Run>>& parts)
        : pieces_(pieces_of(parts)), first_hash_(parts.front()->first_hash_), text_bytes_(lay_out()), data_(allocate()) {
        uint8_t* ids = data_.get();
        size_t next = 0;
        for (const auto& part : parts) {
            if (part->count()) std::memcpy(ids, part->ids(), part->count() * sizeof(uint32_t));
            ids += part->count() * sizeof(uint32_t);
            for (size_t i = 0; i < part->size(); i++, next++) {
                const Characters from = part->text(i);
                std::memcpy(text_data() + pieces_[next].text_at, from.data, from.length * static_cast<size_t>(from.unit_bytes));
            }
        }
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    size_t size() const { return pieces_.size(); }
    // Of the first `pieces`; the name is that of the last of them.
    size_t characters(size_t pieces) const { return pieces_[pieces - 1].characters; }
    size_t utf8_bytes(size_t pieces) const { return pieces_[pieces - 1].utf8_bytes; }
    size_t count(size_t pieces) const { return pieces_[pieces - 1].ids; }
    uint64_t name(size_t pieces) const { return pieces_[pieces - 1].name; }
    size_t count() const { return count(size()); }
    const uint32_t* ids() const { return reinterpret_cast<const uint32_t*>(data_.get()); }

    // With how many of these pieces the text begins.
    size_t matching(const Characters& text) const {
        const auto is_longer = [](size_t length, const Piece& piece) { return length < piece.characters; };
        const auto fitting = static_cast<size_t>(std::upper_bound(pieces_.begin(), pieces_.end(), text.length, is_longer) - pieces_.begin());
        size_t i = 0;
        for (const size_t end_of_section : sections_) {
            const size_t end = std::min(end_of_section, fitting);
            if (i < end && same_text(text, i, end)) i = end;
            while (i < end && same_text(text, i, i + 1)) i++;
            if (i < end_of_section) break;
        }
        return i;
    }
    // Whether these runs begin with the same piece.
    bool begins_like(const Run& other) const { return characters(1) == other.characters(1) && same_text(other.text(0), 0, 1); }
    // All memory, what the store keeps for it included.
    size_t bytes() const {
        return data_bytes() + pieces_.capacity() * sizeof(Piece) + sections_.capacity() * sizeof(size_t) + sizeof(Run) + OVERHEAD;
    }

  private:
    friend class PrefixStore;
    static constexpr size_t OVERHEAD = 160;  // of the allocations and an entry of the table
    static constexpr Piece NOTHING{0, 0, 0};

    struct Free {
        void operator()(uint8_t* p) const { std::free(p); }
    };
    using Data = std::unique_ptr<uint8_t, Free>;

    static int narrowest(const Characters& text) {
        if (text.unit_bytes == 1) return 1;
        return visit_units(text, [&text](const auto* s) {
            uint32_t all = 0;
            for (size_t i = 0; i < text.length; i++) all |= s[i];
            return all < 0x100 ? 1 : all < 0x10000 ? 2 : 4;
        });
    }
    static std::vector<Piece> narrowed(std::vector<Piece> pieces, const Characters& text) {
        size_t begin = 0;
        for (Piece& piece : pieces) {
            piece.unit_bytes = narrowest(text.part(begin, piece.characters));
            begin = piece.characters;
        }
        return pieces;
    }
    static std::vector<Piece> pieces_of(const std::vector<std::shared_ptr<Run>>& parts) {
        std::vector<Piece> pieces;
        Piece before = NOTHING;
        for (const auto& part : parts) {
            for (Piece piece : part->pieces_) {
                piece.characters += before.characters;
                piece.utf8_bytes += before.utf8_bytes;
                piece.ids += before.ids;
                pieces.push_back(piece);
            }
            before = pieces.back();
        }
        return pieces;
    }
    // Says where the text of each piece stands, and returns the bytes of all. Pieces of units of one width are a section:
    // their text has no gaps. A section begins where units of any width may.
    size_t lay_out() {
        size_t at = 0, begin = 0;
        for (size_t i = 0; i < size(); i++) {
            if (i && pieces_[i].unit_bytes != pieces_[i - 1].unit_bytes) {
                sections_.push_back(i);
                at = (at + 3) / 4 * 4;
            }
            pieces_[i].text_at = at;
            at += (pieces_[i].characters - begin) * static_cast<size_t>(pieces_[i].unit_bytes);
            begin = pieces_[i].characters;
        }
        sections_.push_back(size());
        return at;
    }
    const Piece& begin(size_t piece) const { return piece ? pieces_[piece - 1] : NOTHING; }
    size_t data_bytes() const { return count() * sizeof(uint32_t) + text_bytes_; }
    Data allocate() const {
        Data data(static_cast<uint8_t*>(std::malloc(data_bytes())));
        if (!data) throw std::bad_alloc();
        return data;
    }
    uint8_t* text_data() const { return data_.get() + count() * sizeof(uint32_t); }
    size_t length(size_t piece) const { return pieces_[piece].characters - begin(piece).characters; }
    Characters text(size_t piece) const { return {text_data() + pieces_[piece].text_at, length(piece), pieces_[piece].unit_bytes, false}; }
    void copy_text(const Characters& text, const Piece& piece) {
        uint8_t* out = text_data() + piece.text_at;
        visit_units(text, [&](const auto* s) {
            if (piece.unit_bytes == text.unit_bytes) std::memcpy(out, s, text.length * sizeof *s);
            else if (piece.unit_bytes == 1) std::copy(s, s + text.length, out);
            else std::copy(s, s + text.length, reinterpret_cast<uint16_t*>(out));
        });
    }
    // Whether text[first, last), pieces of one section, is the same.
    bool same_text(const Characters& text, size_t first, size_t last) const {
        const size_t from = begin(first).characters, length = pieces_[last - 1].characters - from;
        const uint8_t* const own = text_data() + pieces_[first].text_at;
        const int unit_bytes = pieces_[first].unit_bytes;
        return visit_units(text, [&](const auto* s) {
            using Unit = std::remove_cvref_t<decltype(*s)>;
            if (unit_bytes == 1) return same_units(s + from, own, length);
            if constexpr (sizeof(Unit) >= 2)
                if (unit_bytes == 2) return same_units(s + from, reinterpret_cast<const uint16_t*>(own), length);
            if constexpr (sizeof(Unit) == 4)
                if (unit_bytes == 4) return same_units(s + from, reinterpret_cast<const uint32_t*>(own), length);
            return false;  // a piece that holds wider characters than the text has
        });
    }

    std::vector<Piece> pieces_;
    std::vector<size_t> sections_;  // pieces up to the end of each
    const uint64_t first_hash_;
    const size_t text_bytes_;
    const Data data_;
    // Guarded by the store's lock, apart from the first one, which is set before the run is shared.
    uint64_t before_ = 0;
    Run *newer_ = nullptr, *older_ = nullptr;
    bool kept_ = false;
};

// The pieces of a run that a text has, from its first one on.
struct Recalled {
    std::shared_ptr<Run> run;
    size_t pieces = 0;

    size_t characters() const { return run->characters(pieces); }
    size_t count() const { return run->count(pieces); }
    bool whole() const { return pieces == run->size(); }
};

}  // namespace lopt
