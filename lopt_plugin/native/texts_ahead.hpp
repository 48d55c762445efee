// Texts that worker threads encode while the interpreter goes on; their lists are made when they are asked for.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "id_objects.hpp"
#include "python_arguments.hpp"
#include "thread_pool.hpp"

namespace lopt {

class TextsAhead {
  public:
    // Ids of a text; throws what is wrong with it, or NotPythonThread where it takes a thread of Python's.
    using Encode = std::function<void(const Characters&, IdBuffer&)>;

    // pool, objects and what `encode` refers to outlive it. texts: of strings, to which `rows` refers.
    TextsAhead(ThreadPool& pool, size_t workers, const IdObjects& objects, nb::tuple texts, std::vector<Characters> rows, Encode encode)
        : objects_(objects), texts_(std::move(texts)), rows_(std::move(rows)), encode_(std::move(encode)), ids_(rows_.size()), whole_(rows_.size(), 0),
          background_(pool, rows_.size(), workers, [this](size_t i) {
              // Whoever takes it encodes it again, and is told.
              try {
                  encode_(rows_[i], ids_[i]);
                  whole_[i] = 1;
              } catch (...) {
              }
          }) {}

    size_t size() const { return rows_.size(); }
    nb::object take(size_t i) {
        if (i >= rows_.size()) throw nb::index_error("take: no such text");
        IdBuffer own;
        const IdBuffer* ids = &ids_[i];
        if (!background_.is_done(i) || !whole_[i]) {
            const InterpreterUnlocked unlocked;
            if (!background_.finish(i) || !whole_[i]) {
                encode_(rows_[i], own);
                ids = &own;
            }
        }
        IdObjects::List list(objects_);
        list.append(ids->data(), ids->size());
        nb::object made = nb::steal(list.finish());
#ifndef Py_GIL_DISABLED
        // Numbers are in no cycle. Among thousands of lists the collector would go through all of them again and again.
        PyObject_GC_UnTrack(made.ptr());
#endif
        return made;
    }

  private:
    const IdObjects& objects_;
    nb::tuple texts_;
    const std::vector<Characters> rows_;
    const Encode encode_;
    // Of a text, written by who does it and read after that.
    std::vector<IdBuffer> ids_;
    std::vector<uint8_t> whole_;
    // The last member: nobody is at work when the others go.
    ThreadPool::Background background_;
};

inline void define_texts_ahead(nb::module_& module) {
    nb::class_<TextsAhead>(module, "TextsAhead").def("take", &TextsAhead::take, nb::arg("place")).def("__len__", &TextsAhead::size);
}

}  // namespace lopt
