// Lists of ids that were returned to callers, kept so that the next prompt of a session can take over the memory of one that
// nobody else holds any more.
//
// In a session, a prompt's list is the previous one and some more ids. Comparing half a megabyte of addresses costs less than
// writing it again and dropping as many references. A caller may have changed its list: only an unchanged one is taken over.
//
// A changed list may hold any object, and dropping it may run code that calls back into this class. So lists are dropped last,
// when all members are consistent.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "python/cpython_layout.hpp"

namespace lopt {

// All members hold the interpreter lock; layouts are trusted.
class ReusableLists {
  public:
    ReusableLists() = default;
    ReusableLists(const ReusableLists&) = delete;
    ReusableLists& operator=(const ReusableLists&) = delete;
    ~ReusableLists() {
        Dropped dropped;
        limit(0, dropped);
    }

    // The list that was kept under this name, if nobody else holds it. A new reference; null: none.
    PyObject* take(uint64_t name) {
        for (Entry& entry : entries_) {
            if (!entry.list || entry.name != name || Py_REFCNT(entry.list) != 1) continue;
            bytes_ -= entry.bytes;
            return std::exchange(entry.list, nullptr);
        }
        return nullptr;
    }
    // Keeps a list in the place of another one of that name, or of the one that was kept for longest. All have at most
    // `most_bytes` together.
    void keep(uint64_t name, PyObject* list, size_t most_bytes) {
        Dropped dropped;  // goes last
        Entry* place = &entries_[0];
        for (Entry& entry : entries_) {
            if (entry.list && entry.name == name) {
                place = &entry;
                break;
            }
            if (place->list && (!entry.list || entry.time < place->time)) place = &entry;
        }
        drop(*place, dropped);
        look_through(dropped);
        const size_t bytes = bytes_of(list);
        if (bytes > most_bytes) return;
        limit(most_bytes - bytes, dropped);
        bytes_ += bytes;
        *place = {name, ++time_, bytes, Py_NewRef(list)};
    }
    size_t bytes() const { return bytes_; }

  private:
    static constexpr size_t MOST = 16;

    struct Entry {
        uint64_t name = 0, time = 0;
        size_t bytes = 0;
        PyObject* list = nullptr;
    };
    // References that are given up when it goes.
    struct Dropped {
        Dropped() = default;
        ~Dropped() {
            for (size_t i = 0; i < count; i++) Py_DECREF(lists[i]);
        }
        Dropped(const Dropped&) = delete;
        Dropped& operator=(const Dropped&) = delete;
        std::array<PyObject*, MOST> lists;
        size_t count = 0;
    };

    void drop(Entry& entry, Dropped& dropped) {
        if (!entry.list) return;
        bytes_ -= entry.bytes;
        dropped.lists[dropped.count++] = std::exchange(entry.list, nullptr);
    }
    void limit(size_t bytes, Dropped& dropped) {
        while (bytes_ > bytes) {
            Entry* oldest = nullptr;
            for (Entry& entry : entries_)
                if (entry.list && (!oldest || entry.time < oldest->time)) oldest = &entry;
            drop(*oldest, dropped);
        }
    }
    // The garbage collector need not visit lists that only we hold. One that has grown cannot be used.
    void look_through(Dropped& dropped) {
        for (Entry& entry : entries_) {
            if (!entry.list || Py_REFCNT(entry.list) > 1) continue;
            if (bytes_of(entry.list) > entry.bytes) drop(entry, dropped);
            else if (PyObject_GC_IsTracked(entry.list)) PyObject_GC_UnTrack(entry.list);
        }
    }
    static size_t bytes_of(PyObject* list) { return cpython::block_of(list).room * sizeof(PyObject*); }

    std::array<Entry, MOST> entries_;
    uint64_t time_ = 0;
    size_t bytes_ = 0;
};

}  // namespace lopt
