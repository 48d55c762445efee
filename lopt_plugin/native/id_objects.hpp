// Python integers for all ids, made once: a list of ids then costs a reference each, not an allocation.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "address_code.hpp"
#include "id_buffer.hpp"
#include "list_form.hpp"
#include "table.hpp"

namespace lopt {

class IdObjects {
  public:
    // Holds the interpreter lock, as do all members.
    explicit IdObjects(uint32_t largest) : objects_(size_t{largest} + 1, nullptr) {
        for (size_t id = 0; id < objects_.size(); id++) {
            objects_[id] = PyLong_FromSize_t(id);
            if (!objects_[id]) throw std::bad_alloc();
        }
        code_ = AddressCode(addresses(), objects_.size());
    }
    ~IdObjects() {
        for (size_t id = 0; id < objects_.size(); id++) Py_XDECREF(objects_[id]);
    }
    IdObjects(const IdObjects&) = delete;
    IdObjects& operator=(const IdObjects&) = delete;

    // A list that grows by ids, each at most `largest`. All members hold the interpreter lock.
    class List {
      public:
        static constexpr uint32_t NO_ID = ~uint32_t{0};
        // first: an id that the list begins with; put there later, all others would have to make room.
        explicit List(const IdObjects& objects, uint32_t first = NO_ID) : objects_(objects.objects_.data()), first_(first) {}
        ~List() {
            for (size_t i = 0; i < size_; i++) Py_DECREF(items_[i]);
            PyMem_Free(items_);
        }
        List(const List&) = delete;
        List& operator=(const List&) = delete;

        void append(const uint32_t* ids, size_t count) {
            append_each(count, [&](size_t i) { return objects_[ids[i]]; });
        }
        // The same of objects of ids.
        void append_objects(PyObject* const* objects, size_t count) {
            append_each(count, [&](size_t i) { return objects[i]; });
        }
#ifndef Py_GIL_DISABLED
        // Appends `count` objects if `write` writes their addresses and returns true. A reference to each is to be counted: see
        // `refer`.
        template <class Write>
        bool append_written(size_t count, Write&& write) {
            reserve(count);
            if (!write(const_cast<const void**>(reinterpret_cast<void**>(items_ + size_)))) return false;
            size_ += count;
            return true;
        }
#endif
        // Takes over the items of a list that nobody else has, which is left empty, if `is_same` finds those behind the first id
        // to be what is to be appended first, of which there are `count`. False: nothing is taken.
        template <class Same>
        bool take_over(PyObject* list, size_t count, Same&& is_same) {
            auto* object = reinterpret_cast<PyListObject*>(list);
            const size_t begin = first_ != NO_ID, size = begin + count;
            if (size_ || items_ || static_cast<size_t>(Py_SIZE(list)) < size) return false;
            if (begin && object->ob_item[0] != objects_[first_]) return false;
            if (!is_same(const_cast<const void* const*>(reinterpret_cast<void**>(object->ob_item + begin)))) return false;
            items_ = std::exchange(object->ob_item, nullptr);
            capacity_ = static_cast<size_t>(std::exchange(object->allocated, 0));
            const auto rest = static_cast<size_t>(Py_SIZE(list));
            Py_SET_SIZE(object, 0);
            size_ = size;
            first_ = NO_ID;
            for (size_t i = size; i < rest; i++) Py_DECREF(items_[i]);
            return true;
        }
        // The first call reserves what it brings: mostly it is the only one.
        void reserve(size_t count) {
            if (capacity_ - size_ >= count) return;
            const bool begins = first_ != NO_ID;
            const size_t capacity = size_ == 0 ? roomy(count + begins) : std::max(size_ + count, capacity_ + capacity_ / 4);
            auto* items = static_cast<PyObject**>(PyMem_Realloc(items_, capacity * sizeof(PyObject*)));
            if (!items) throw std::bad_alloc();
            items_ = items;
            capacity_ = capacity;
            if (begins) items_[size_++] = Py_NewRef(objects_[std::exchange(first_, NO_ID)]);
        }
        // The list object, which takes over what was gathered; null never.
        PyObject* finish() {
            if (first_ != NO_ID) reserve(1);
#ifdef Py_GIL_DISABLED
            // There, the interpreter keeps numbers of its own in front of a list's items.
            PyObject* list = PyList_New(static_cast<Py_ssize_t>(size_));
            if (!list) throw std::bad_alloc();
            for (size_t i = 0; i < size_; i++) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items_[i]);
            size_ = 0;
            return list;
#else
            PyObject* list = PyList_New(0);
            if (!list) throw std::bad_alloc();
            if (!size_) return list;
            // What PyList_New(n) and n assignments would leave, without knowing n from the start.
            auto* object = reinterpret_cast<PyListObject*>(list);
            object->ob_item = items_;
            object->allocated = static_cast<Py_ssize_t>(capacity_);
            Py_SET_SIZE(object, static_cast<Py_ssize_t>(size_));
            items_ = nullptr;
            size_ = capacity_ = 0;
            return list;
#endif
        }

      private:
        template <class Object>
        void append_each(size_t count, Object&& object) {
            reserve(count);
            constexpr size_t AHEAD = 24;  // the objects lie in memory of their own: ask for them early
            PyObject** items = items_ + size_;
            size_t i = 0;
            for (; i + AHEAD < count; i++) {
                __builtin_prefetch(object(i + AHEAD), 1);
                items[i] = Py_NewRef(object(i));
            }
            for (; i < count; i++) items[i] = Py_NewRef(object(i));
            size_ += count;
        }

        PyObject* const* objects_;
        uint32_t first_;
        PyObject** items_ = nullptr;
        size_t size_ = 0, capacity_ = 0;
    };
#ifndef Py_GIL_DISABLED
    // Counts the references of that many lists with these ids, or, if negative, takes them back.
    void refer(const IdTally& tally, Py_ssize_t lists) const {
        constexpr size_t AHEAD = 48;
        for (size_t i = 0; i < tally.size(); i++) {
            if (i + AHEAD < tally.size()) __builtin_prefetch(objects_[tally.id(i + AHEAD)], 1);
            PyObject* object = objects_[tally.id(i)];
#if PY_VERSION_HEX >= 0x030C0000
            if (_Py_IsImmortal(object)) continue;
#endif
            Py_SET_REFCNT(object, Py_REFCNT(object) + lists * static_cast<Py_ssize_t>(tally.count(i)));
        }
    }
    // Appends the ids of a form, which are `ids`; false, and nothing, if it has decayed.
    bool append_form(ListForm& form, const uint32_t* ids, List& list) const {
        if (!form.counted_for() && !form.tally(ids).intact()) return false;
        if (!list.append_written(form.size(), [&form](const void** out) { return form.write(out); })) return false;
        if (!form.counted_for()) {
            refer(form.tally(ids), ListForm::LISTS_AT_ONCE);
            form.counted_for() = ListForm::LISTS_AT_ONCE;
        }
        form.counted_for()--;
        return true;
    }
#endif
    // Whether these are the objects of the ids.
    bool are(const void* const* objects, const uint32_t* ids, size_t count) const {
        bool same = true;
        for (size_t i = 0; i < count; i++) same &= objects[i] == objects_[ids[i]];
        return same;
    }
    // What List reads for each id.
    const void* const* addresses() const { return reinterpret_cast<const void* const*>(objects_.data()); }
    const AddressCode& code() const { return code_; }
    // How many ids have an object: those below this.
    size_t size() const { return objects_.size(); }
    size_t bytes() const { return objects_.size() * (sizeof(PyObject*) + 32); }

  private:
    Table<PyObject*> objects_;
    AddressCode code_;
};

}  // namespace lopt
