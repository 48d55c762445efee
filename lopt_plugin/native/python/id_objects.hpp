// One Python integer for each id, made once: a list of ids then costs a reference per id, not an allocation.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "base/table.hpp"
#include "prefix/address_code.hpp"
#include "prefix/list_template.hpp"
#include "python/cpython_layout.hpp"
#include "python/list_builder.hpp"

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
        // first: an id that the list begins with. To insert it later would move all others.
        explicit List(const IdObjects& objects, uint32_t first = NO_ID) : objects_(objects.objects_.data()), first_(first) {}

        void append(const uint32_t* ids, size_t count) {
            append_each(count, [&](size_t i) { return objects_[ids[i]]; });
        }
        // The same of objects of ids.
        void append_objects(PyObject* const* objects, size_t count) {
            append_each(count, [&](size_t i) { return objects[i]; });
        }
        // Appends `count` objects, whose addresses `write` writes. A reference to each is to be counted: see `refer`.
        template <class Write>
        void append_written(size_t count, Write&& write) {
            reserve(count);
            write(const_cast<const void**>(reinterpret_cast<void**>(items_.end())));
            items_.set_end(items_.end() + count);
        }
        // Takes over the items of a list that nobody else holds, which is left empty, if `is_same` finds those after the first
        // id to be what is to be appended first, of which there are `count`. False, and nothing is taken, where the list was
        // changed. Where layouts are trusted.
        template <class Same>
        bool take_over(PyObject* list, size_t count, Same&& is_same) {
            const cpython::Block block = cpython::block_of(list);
            const size_t begin = first_ != NO_ID, size = begin + count;
            if (!items_.empty() || block.size < size) return false;
            if (begin && block.items[0] != objects_[first_]) return false;
            if (!is_same(const_cast<const void* const*>(reinterpret_cast<void**>(block.items + begin)))) return false;
            // To drop an int runs no code of Python's.
            if (!std::all_of(block.items + size, block.items + block.size, [](PyObject* item) { return PyLong_CheckExact(item); })) return false;
            cpython::take_block(list);
            items_.take(block, size);
            first_ = NO_ID;
            for (size_t i = size; i < block.size; i++) Py_DECREF(block.items[i]);
            return true;
        }
        void reserve(size_t count) {
            const bool begins = first_ != NO_ID;
            items_.reserve(count + begins);
            if (begins) items_.push(Py_NewRef(objects_[std::exchange(first_, NO_ID)]));
        }
        // The list object, which takes over the items. Never null.
        PyObject* finish() {
            reserve(0);
            return items_.finish();
        }

      private:
        template <class Object>
        void append_each(size_t count, Object&& object) {
            reserve(count);
            constexpr size_t AHEAD = 24;  // the objects lie in memory of their own: ask for them early
            PyObject** items = items_.end();
            size_t i = 0;
            for (; i + AHEAD < count; i++) {
                __builtin_prefetch(object(i + AHEAD), 1);
                items[i] = Py_NewRef(object(i));
            }
            for (; i < count; i++) items[i] = Py_NewRef(object(i));
            items_.set_end(items + count);
        }

        PyObject* const* objects_;
        uint32_t first_;
        ListBuilder items_;
    };
    // Counts the references of that many lists with these ids, or, if negative, takes them back.
    void refer(const IdCounts& tally, Py_ssize_t lists) const {
        constexpr size_t AHEAD = 48;
        for (size_t i = 0; i < tally.size(); i++) {
            if (i + AHEAD < tally.size()) __builtin_prefetch(objects_[tally.id(i + AHEAD)], 1);
            cpython::add_references(objects_[tally.id(i)], lists * static_cast<Py_ssize_t>(tally.count(i)));
        }
    }
    // Whether lists may be made of forms.
    bool takes_templates() const { return cpython::trusted() && code_.known(); }
    // Appends the ids of a form, which are `ids`.
    void append_template(ListTemplate& form, const uint32_t* ids, List& list) const {
        list.append_written(form.size(), [&form](const void** out) { form.write(out); });
        if (!form.counted_for()) {
            refer(form.tally(ids), ListTemplate::LISTS_AT_ONCE);
            form.counted_for() = ListTemplate::LISTS_AT_ONCE;
        }
        form.counted_for()--;
    }
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
