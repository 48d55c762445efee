// Texts that worker threads encode while the interpreter continues. Their lists are created on request.
#pragma once

#include <functional>
#include <vector>

#include "base/thread_pool.hpp"
#include "python/id_list.hpp"
#include "python/python_arguments.hpp"

namespace lopt {

class PrefetchedTexts {
  public:
    // Writes the ids of text number i. Throws the text's error, or OnlyOnCaller if it needs one of Python's own
    // threads.
    using Encode = std::function<void(size_t, IdBuffer&)>;

    // The pool and everything that `encode` refers to must outlive it.
    PrefetchedTexts(ThreadPool& pool, size_t workers, uint32_t largest_id, nb::tuple texts, Encode encode)
        : largest_id_(largest_id), texts_(std::move(texts)), encode_(std::move(encode)), ids_(texts_.size()), whole_(texts_.size(), 0),
          background_(pool, texts_.size(), workers, [this](size_t i) {
              // On any error, `take` encodes the text again, and throws.
              try {
                  encode_(i, ids_[i]);
                  whole_[i] = 1;
              } catch (...) {
              }
          }) {}

    size_t size() const { return ids_.size(); }
    nb::object take(size_t i) {
        if (i >= size()) throw nb::index_error("take: no such text");
        IdBuffer own;
        const IdBuffer* ids = &ids_[i];
        if (!background_.is_done(i) || !whole_[i]) {
            const InterpreterUnlocked unlocked;
            if (!background_.finish(i) || !whole_[i]) {
                encode_(i, own);
                ids = &own;
            }
        }
        nb::object made = id_list(largest_id_, ids->data(), ids->size());
#ifndef Py_GIL_DISABLED
        // Integers are in no cycle, and with thousands of lists, the collector would traverse all of them again and
        // again.
        PyObject_GC_UnTrack(made.ptr());
#endif
        return made;
    }

  private:
    const uint32_t largest_id_;
    nb::tuple texts_;
    const Encode encode_;
    // Written by the thread that encodes the text, and read afterwards.
    std::vector<IdBuffer> ids_;
    std::vector<uint8_t> whole_;
    // Must be the last member: its destructor stops the workers before the other members are destroyed.
    ThreadPool::Background background_;
};

inline void define_prefetched_texts(nb::module_& module) {
    nb::class_<PrefetchedTexts>(module, "TextsAhead").def("take", &PrefetchedTexts::take, nb::arg("place")).def("__len__", &PrefetchedTexts::size);
}

}  // namespace lopt
