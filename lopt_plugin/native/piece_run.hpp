// Pieces of text that follow one another, with their ids. What is public never changes while anyone can see it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "characters.hpp"
#include "checksum.hpp"
#include "content_hash.hpp"
#include "list_form.hpp"

namespace lopt {

// Where a piece of a run ends, counted from the beginning of the run.
struct Piece {
    size_t characters, utf8_bytes, ids;
    uint64_t name = 0;  // given by the store
    size_t text_at = 0;  // where the run has its text
    int unit_bytes = 1;  // as narrow as it can be: one odd character widens its piece and no other one
    uint64_t text_checksum = 0, ids_checksum = 0;
};

class Run {
  public:
    // text, ids: of these pieces, of which there is at least one. first_hash: of the first one.
    Run(uint64_t first_hash, const Characters& text, const uint32_t* ids, std::vector<Piece> pieces)
        : pieces_(laid_out(std::move(pieces), text)), first_hash_(first_hash), text_bytes_(end_of_text(pieces_.back(), pieces_.size() > 1 ? pieces_[pieces_.size() - 2].characters : 0)),
          data_(allocate()) {
        if (count()) std::memcpy(data_.get(), ids, count() * sizeof *ids);
        for (size_t i = 0; i < size(); i++) {
            copy_text(text.part(begin(i).characters, pieces_[i].characters), pieces_[i]);
            pieces_[i].text_checksum = text_checksum(i);
            pieces_[i].ids_checksum = ids_checksum(i);
        }
    }
    // Of several runs, one behind the other, each of which is intact.
    explicit Run(const std::vector<std::shared_ptr<Run>>& parts)
        : pieces_(pieces_of(parts)), first_hash_(parts.front()->first_hash_), text_bytes_(text_bytes_of(parts)), data_(allocate()) {
        uint8_t *ids = data_.get(), *texts = text_data();
        for (const auto& part : parts) {
            if (part->count()) std::memcpy(ids, part->ids(), part->count() * sizeof(uint32_t));
            std::memcpy(texts, part->text_data(), part->text_bytes_);
            ids += part->count() * sizeof(uint32_t);
            texts += part->text_bytes_;
        }
        merge_forms(parts);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() { delete form_.load(); }

    size_t size() const { return pieces_.size(); }
    // Of the first `pieces`; the name is that of the last of them.
    size_t characters(size_t pieces) const { return pieces_[pieces - 1].characters; }
    size_t utf8_bytes(size_t pieces) const { return pieces_[pieces - 1].utf8_bytes; }
    size_t count(size_t pieces) const { return pieces_[pieces - 1].ids; }
    uint64_t name(size_t pieces) const { return pieces_[pieces - 1].name; }
    size_t count() const { return count(size()); }
    const uint32_t* ids() const { return reinterpret_cast<const uint32_t*>(data_.get()); }

    // With how many of these pieces the text begins. A text that has decayed is like no other: it might have become this
    // one, but its ids have not.
    size_t matching(const Characters& text) const {
        size_t i = 0;
        while (i < size() && pieces_[i].characters <= text.length && same_text(text.part(begin(i).characters, pieces_[i].characters), i)) i++;
        return i;
    }
    // Writes the ids of the first `pieces` to `out`; false if they are not what they were.
    bool copy_ids(size_t pieces, uint32_t* out) const {
        for (size_t i = 0; i < pieces; i++)
            if (!copy_checked(out + begin(i).ids, ids() + begin(i).ids, (pieces_[i].ids - begin(i).ids) * sizeof(uint32_t), pieces_[i].ids_checksum)) return false;
        return true;
    }
    bool ids_intact(size_t pieces) const {
        for (size_t i = 0; i < pieces; i++)
            if (ids_checksum(i) != pieces_[i].ids_checksum) return false;
        return true;
    }
    bool intact() const {
        for (size_t i = 0; i < size(); i++)
            if (text_checksum(i) != pieces_[i].text_checksum) return false;
        return ids_intact(size());
    }
    // Made when it is first asked for; its bytes are then added to `made`. See ListForm. The ids are intact.
    const ListForm& list_form(const void* const* addresses, size_t& made) {
        ListForm* known = form_.load(std::memory_order_acquire);
        if (known) return *known;
        auto fresh = std::make_unique<ListForm>(ids(), count(), addresses);
        if (form_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
            known = fresh.release();
            made += known->bytes();
        }
        return *known;
    }
    bool has_list_form() const { return form_.load(std::memory_order_acquire); }
    // All memory, what the store keeps for it included.
    size_t bytes() const {
        const ListForm* form = form_.load(std::memory_order_acquire);
        return data_bytes() + pieces_.capacity() * sizeof(Piece) + sizeof(Run) + OVERHEAD + (form ? form->bytes() : 0);
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
    // The text of a piece begins where units of any width may.
    static size_t end_of_text(const Piece& piece, size_t begin) {
        return piece.text_at + ((piece.characters - begin) * static_cast<size_t>(piece.unit_bytes) + 3) / 4 * 4;
    }
    static std::vector<Piece> laid_out(std::vector<Piece> pieces, const Characters& text) {
        size_t begin = 0, at = 0;
        for (Piece& piece : pieces) {
            piece.unit_bytes = narrowest(text.part(begin, piece.characters));
            piece.text_at = at;
            at = end_of_text(piece, begin);
            begin = piece.characters;
        }
        return pieces;
    }
    static size_t text_bytes_of(const std::vector<std::shared_ptr<Run>>& parts) {
        size_t bytes = 0;
        for (const auto& part : parts) bytes += part->text_bytes_;
        return bytes;
    }
    static std::vector<Piece> pieces_of(const std::vector<std::shared_ptr<Run>>& parts) {
        std::vector<Piece> pieces;
        Piece before = NOTHING;
        size_t text_at = 0;
        for (const auto& part : parts) {
            for (Piece piece : part->pieces_) {
                piece.characters += before.characters;
                piece.utf8_bytes += before.utf8_bytes;
                piece.ids += before.ids;
                piece.text_at += text_at;
                pieces.push_back(piece);
            }
            before = pieces.back();
            text_at += part->text_bytes_;
        }
        return pieces;
    }
    // Sorting all ids anew would cost more than the rest. Where the first part has never been asked for, none is made.
    void merge_forms(const std::vector<std::shared_ptr<Run>>& parts) {
        const ListForm* first = parts.front()->form_.load(std::memory_order_acquire);
        if (!first) return;
        std::vector<std::unique_ptr<ListForm>> made;
        std::vector<const ListForm*> forms;
        for (const auto& part : parts) {
            const ListForm* form = part->form_.load(std::memory_order_acquire);
            if (form && !form->intact()) return;
            if (!form) form = made.emplace_back(std::make_unique<ListForm>(part->ids(), part->count(), first->addresses())).get();
            forms.push_back(form);
        }
        form_.store(new ListForm(forms));
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
    // A text of the length of that piece.
    bool same_text(const Characters& other, size_t piece) const {
        return visit_units(other, [&](const auto* s) {
            return visit_units(text(piece), [&](const auto* own) { return same_units(s, own, other.length, pieces_[piece].text_checksum); });
        });
    }
    uint64_t text_checksum(size_t piece) const {
        return checksum(text_data() + pieces_[piece].text_at, length(piece) * static_cast<size_t>(pieces_[piece].unit_bytes));
    }
    uint64_t ids_checksum(size_t piece) const {
        return checksum(ids() + begin(piece).ids, (pieces_[piece].ids - begin(piece).ids) * sizeof(uint32_t));
    }

    std::vector<Piece> pieces_;
    const uint64_t first_hash_;
    const size_t text_bytes_;
    const Data data_;
    std::atomic<ListForm*> form_{nullptr};
    // Under the store's lock, but for the first one, which is known before anybody else sees the run.
    uint64_t before_ = 0;
    Run *newer_ = nullptr, *older_ = nullptr;
    bool kept_ = false;
    size_t charged_ = 0;  // bytes
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
