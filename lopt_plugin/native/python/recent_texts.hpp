// The long texts that were encoded last, and their ids: a text that comes again is compared and not encoded.
//
// Nothing is copied. The caller's string is held, and the buffer of its ids is taken over; the encoder gets that of the text
// that goes. The prefix cache (prefix_store.hpp) serves texts that begin alike; it copies what it keeps.
#pragma once

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/hash.hpp"
#include "base/id_buffer.hpp"
#include "text/characters.hpp"

namespace lopt {

// All members hold the interpreter lock; a Python without it keeps nothing.
class RecentTexts {
  public:
    struct Counters {
        uint64_t hits = 0, bytes_saved = 0;  // bytes of UTF-8
        size_t bytes = 0;
    };

    RecentTexts() = default;
    ~RecentTexts() { limit(0); }
    RecentTexts(const RecentTexts&) = delete;
    RecentTexts& operator=(const RecentTexts&) = delete;

    // Turned off by 0, as it is at first.
    void turn_on(size_t limit_bytes, size_t least_characters) {
#ifndef Py_GIL_DISABLED
        limit_bytes_ = limit_bytes;
#endif
        least_characters_ = least_characters;
        limit(limit_bytes_);
    }
    // Whether a text is kept. A string of a class of its own is not: code could run when it goes.
    bool takes(PyObject* text, const Characters& characters) const {
        return limit_bytes_ && characters.length >= least_characters_ && PyUnicode_CheckExact(text);
    }
    // The ids of a text that it `takes`; null where it is not known. They are there until something is kept.
    const IdBuffer* find(PyObject* text, const Characters& characters, bool split_special) {
        const uint64_t key = key_of(characters);
        size_t compared = 0;  // texts of one key may be made at will
        for (size_t i = 0; i < MOST && compared < MOST_COMPARED; i++) {
            Entry& entry = entries_[i];
            if (keys_[i] != key || !entry.text || entry.split_special != split_special) continue;
            compared++;
            if (entry.text != text && !same(entry.characters, characters)) continue;
            entry.time = ++time_;
            counters_.hits++;
            counters_.bytes_saved += entry.utf8_bytes;
            return &entry.ids;
        }
        return nullptr;
    }
    // Keeps a text that it `takes` in the place of that which was used least recently, whose buffer `ids` is given.
    void keep(PyObject* text, const Characters& characters, bool split_special, IdBuffer& ids, size_t utf8_bytes) {
        const size_t bytes = sizeof(Entry) + characters.length * static_cast<size_t>(characters.unit_bytes) + ids.capacity_bytes();
        if (bytes > limit_bytes_ / 4) return;
        Entry& entry = oldest<false>();
        std::swap(entry.ids, ids);
        drop(entry);
        limit(limit_bytes_ - bytes);
        keys_[static_cast<size_t>(&entry - entries_.data())] = key_of(characters);
        entry.text = Py_NewRef(text);
        entry.characters = characters;
        entry.split_special = split_special;
        entry.bytes = bytes;
        entry.utf8_bytes = utf8_bytes;
        entry.time = ++time_;
        counters_.bytes += bytes;
    }
    size_t limit_bytes() const { return limit_bytes_; }
    const Counters& counters() const { return counters_; }

  private:
    static constexpr size_t MOST = 64, MOST_COMPARED = 4;

    struct Entry {
        PyObject* text = nullptr;
        Characters characters{};  // of the text
        IdBuffer ids;
        bool split_special = false;
        size_t bytes = 0, utf8_bytes = 0;
        uint64_t time = 0;
    };

    // Of the length and of eight places of the text.
    static uint64_t key_of(const Characters& characters) {
        constexpr size_t PLACES = 8;
        const size_t bytes = characters.length * static_cast<size_t>(characters.unit_bytes);
        uint64_t key = mix(bytes);
        if (bytes < sizeof(uint64_t)) return key;
        for (size_t i = 0; i < PLACES; i++) {
            uint64_t word;
            std::memcpy(&word, static_cast<const uint8_t*>(characters.data) + (bytes - sizeof word) / (PLACES - 1) * i, sizeof word);
            key = mix(key ^ word);
        }
        return key;
    }
    static bool same(const Characters& a, const Characters& b) {
        return a.length == b.length && a.unit_bytes == b.unit_bytes && std::memcmp(a.data, b.data, a.length * static_cast<size_t>(a.unit_bytes)) == 0;
    }
    // The entry that was used least recently; one that is empty comes first, or, among those that are TAKEN, never.
    template <bool TAKEN>
    Entry& oldest() {
        return *std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            if (!a.text != !b.text) return (a.text != nullptr) == TAKEN;
            return a.time < b.time;
        });
    }
    void limit(size_t bytes) {
        while (counters_.bytes > bytes) {
            Entry& entry = oldest<true>();
            entry.ids = {};
            drop(entry);
        }
    }
    void drop(Entry& entry) {
        if (!entry.text) return;
        counters_.bytes -= entry.bytes;
        Py_DECREF(std::exchange(entry.text, nullptr));
    }

    size_t limit_bytes_ = 0, least_characters_ = 0;
    std::array<uint64_t, MOST> keys_{};
    std::array<Entry, MOST> entries_{};
    uint64_t time_ = 0;
    Counters counters_;
};

}  // namespace lopt
