// Lists that were given away, kept so that the memory of those that nobody else has any more serves the next turn.
//
// A turn's list is the one before and some ids more. Writing half a megabyte of addresses anew, and dropping as many
// references, costs more than looking whether they are still there.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lopt {

// All members hold the interpreter lock.
class UsedLists {
  public:
    UsedLists() = default;
    UsedLists(const UsedLists&) = delete;
    UsedLists& operator=(const UsedLists&) = delete;
    ~UsedLists() { limit(0); }

    // The list that was kept under this name, if nobody else has it: whoever had it may have changed it. A new reference;
    // null: none.
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
        Entry* place = &entries_[0];
        for (Entry& entry : entries_) {
            if (entry.list && entry.name == name) {
                place = &entry;
                break;
            }
            if (place->list && (!entry.list || entry.time < place->time)) place = &entry;
        }
        drop(*place);
        look_through();
        const size_t bytes = bytes_of(list);
        if (bytes > most_bytes) return;
        limit(most_bytes - bytes);
        bytes_ += bytes;
        *place = {name, ++time_, bytes, Py_NewRef(list)};
    }
    size_t bytes() const { return bytes_; }

  private:
    struct Entry {
        uint64_t name = 0, time = 0;
        size_t bytes = 0;
        PyObject* list = nullptr;
    };

    void drop(Entry& entry) {
        if (!entry.list) return;
        bytes_ -= entry.bytes;
        Py_DECREF(std::exchange(entry.list, nullptr));
    }
    void limit(size_t bytes) {
        while (bytes_ > bytes) {
            Entry* oldest = nullptr;
            for (Entry& entry : entries_)
                if (entry.list && (!oldest || entry.time < oldest->time)) oldest = &entry;
            drop(*oldest);
        }
    }
    // What only we have, the garbage collector need not walk through. What has become larger is of no use.
    void look_through() {
        for (Entry& entry : entries_) {
            if (!entry.list || Py_REFCNT(entry.list) > 1) continue;
            if (bytes_of(entry.list) > entry.bytes) drop(entry);
            else if (PyObject_GC_IsTracked(entry.list)) PyObject_GC_UnTrack(entry.list);
        }
    }
    static size_t bytes_of(PyObject* list) { return static_cast<size_t>(reinterpret_cast<PyListObject*>(list)->allocated) * sizeof(PyObject*); }

    std::array<Entry, 16> entries_;
    uint64_t time_ = 0;
    size_t bytes_ = 0;
};

}  // namespace lopt
