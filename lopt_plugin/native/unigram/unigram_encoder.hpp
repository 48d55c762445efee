// Encodes a stretch of normalized text by Unigram. Words are looked up in the word cache, a block at a time; words that
// are not cached are segmented by the model.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.hpp"
#include "base/id_buffer.hpp"
#include "bpe/word_cache.hpp"
#include "bpe/words.hpp"
#include "text/text.hpp"
#include "unigram/growing_lattice.hpp"
#include "unigram/unigram.hpp"
#include "unigram/unigram_words.hpp"

namespace lopt {

class UnigramEncoder {
  public:
    // Scratch space for one scan; not shared between threads.
    struct Workspace {
        static constexpr uint32_t BLOCK = 64;  // number of words looked up together, so that their cache misses overlap
        struct Word {
            const uint8_t *begin, *end;
            WordKey key;
            uint64_t hash;
        };
        Word words[BLOCK];
        uint32_t count = 0;
        Lattice lattice;
        std::vector<uint8_t> spelled;

        // Frees each buffer larger than `bytes`; returns the size of the remaining buffers in bytes.
        size_t keep_at_most(size_t bytes) { return lattice.keep_at_most(bytes) + lopt::keep_at_most(bytes, spelled); }
    };

    // prepends: a word between white space gets a U+2581 if it does not begin with one.
    UnigramEncoder(const Unigram& model, UnigramWords words, bool prepends)
        : model_(model), words_(std::move(words)), prepends_(prepends), cache_(CACHE_SLOTS), long_cache_(LONG_CACHE_SLOTS) {}

    // Appends the ids of a stretch.
    void encode(const Text& text, Workspace& space, IdBuffer& out) const {
        for (const uint8_t* p = text.begin; (p = words_.skip_white_space(p, text.end)) < text.end;) {
            const uint8_t* const end = words_.word_end(p, text.end);
            add({p, end}, text.readable_end, space, out);
            p = end;
        }
        resolve(space, out);
    }
    // Calls visit(end) for each unit of a stretch, after appending its ids to `out`, until it returns false.
    template <class Visit>
    void visit_pre_tokens(const Text& text, Workspace& space, IdBuffer& out, Visit&& visit) const {
        for (const uint8_t* p = text.begin; p < text.end;) {
            const uint8_t* const end = words_.next(p, text.end);
            encode({p, end, text.readable_end}, space, out);
            if (!visit(p = end)) return;
        }
    }
    // The end of the text that must be encoded together with a space prepended at p.
    const uint8_t* first_cut(const uint8_t* p, const uint8_t* end) const { return words_.word_end(p, end); }
    bool divides(uint32_t left, uint32_t right) const { return words_.divides(left, right); }
    bool drops(uint32_t c) const { return words_.drops(c); }

    // Calls visit(word, prepended) for each word of a stretch. `spelled` contains the model's input, which begins with a
    // space that is not in the text if `prepended`.
    template <class Visit>
    void visit_words(const Span& stretch, std::vector<uint8_t>& spelled, Visit&& visit) const {
        for (const uint8_t* p = words_.skip_white_space(stretch.begin, stretch.end); p < stretch.end;) {
            const Span word{p, words_.word_end(p, stretch.end)};
            const Span text = spell(word, spelled);
            if (!visit(word, text, gets_space(word))) return;
            p = words_.skip_white_space(word.end, stretch.end);
        }
    }
    // Calls visit(text, begins) for each word of a text that grows, as the model expects it. The first may be more of a word that
    // `goes_on`, which does not begin. Returns whether the last word may go on after this text.
    template <class Visit>
    bool visit_spelled(std::string_view text, bool goes_on, Visit&& visit) const {
        const auto *p = reinterpret_cast<const uint8_t*>(text.data()), *const end = p + text.size();
        std::vector<uint8_t> spelled;
        const auto as_text = [](const Span& word) { return text_between(word.begin, word.end); };
        if (const uint8_t* const stop = goes_on ? words_.next_end(p, end) : p; stop > p) {
            visit(as_text(words_.division() == WordDivision::none ? spell({p, stop}, spelled) : Span{p, stop}), false);
            p = stop;
        }
        while (p < end) {
            const uint8_t* const begin = words_.skip_white_space(p, end);
            if (begin == end) return false;
            p = words_.word_end(begin, end);
            visit(as_text(spell({begin, p}, spelled)), true);
        }
        return goes_on || !text.empty();
    }
    GrowingLattice growing_lattice() const { return GrowingLattice(model_); }
    size_t bytes() const { return cache_.bytes() + long_cache_.bytes(); }

  private:
    static constexpr size_t CACHE_SLOTS = 1 << 16, LONG_CACHE_SLOTS = 1 << 14;

    void add(const Span& word, const uint8_t* readable_end, Workspace& space, IdBuffer& out) const {
        const auto length = static_cast<size_t>(word.end - word.begin);
        const bool near_end = readable_end - word.begin < static_cast<ptrdiff_t>(LONGEST_KEY);
        const WordKey key = near_end ? masks_.key_near_end(word.begin, length) : masks_.key(word.begin, length);
        const bool is_long = length > LONGEST_KEY;
        const uint64_t hash = is_long ? LongWordKey::hash(word.begin, std::min(length, LongWordKey::LONGEST)) : key.hash();
        if (is_long) long_cache_.prefetch(hash);
        else cache_.prefetch(hash);
        space.words[space.count++] = {word.begin, word.end, key, hash};
        if (space.count == Workspace::BLOCK) resolve(space, out);
    }
    void resolve(Workspace& space, IdBuffer& out) const {
        for (uint32_t i = 0; i < space.count; i++) {
            const Workspace::Word& word = space.words[i];
            const auto length = static_cast<size_t>(word.end - word.begin);
            const auto encode = [&] {
                const Span text = spell({word.begin, word.end}, space.spelled);
                model_.encode(text.begin, text.end, space.lattice, out);
            };
            if (length <= LONGEST_KEY) cache_.append(word.key, word.hash, out, encode);
            else if (length > LongWordKey::LONGEST) encode();
            else long_cache_.append(LongWordKey(word.begin, length), word.hash, out, encode);
        }
        space.count = 0;
    }

    static bool begins_with_sign(const Span& word) { return word.end - word.begin >= 3 && find_metaspace(word.begin, word.begin + 3) == word.begin; }
    bool gets_space(const Span& word) const { return words_.division() == WordDivision::white_space && prepends_ && !begins_with_sign(word); }
    // A word as the model expects it.
    Span spell(const Span& word, std::vector<uint8_t>& spelled) const {
        if (words_.division() == WordDivision::none) {
            std::string text;
            if (!spaces_for_metaspaces(word.begin, word.end, text, nullptr)) return word;
            spelled.assign(text.begin(), text.end());
            return {spelled.data(), spelled.data() + spelled.size()};
        }
        const bool sign = begins_with_sign(word);
        if (!sign && !gets_space(word)) return word;
        spelled.assign(1, ' ');
        spelled.insert(spelled.end(), word.begin + (sign ? 3 : 0), word.end);
        return {spelled.data(), spelled.data() + spelled.size()};
    }

    const Unigram& model_;
    UnigramWords words_;
    bool prepends_;
    KeyMasks masks_;
    mutable WordCache cache_;
    mutable LongWordCache long_cache_;
};

}  // namespace lopt
