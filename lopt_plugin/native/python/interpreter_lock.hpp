// Releases and acquires Python's lock.
#pragma once

#include <Python.h>

#include "base/thread_pool.hpp"
#include "python/acquire_lock.hpp"

namespace lopt {

// Lets other Python threads run during its lifetime.
class InterpreterUnlocked {
  public:
    InterpreterUnlocked() : state_(PyEval_SaveThread()) {}
    ~InterpreterUnlocked() { restore_thread(state_); }
    InterpreterUnlocked(const InterpreterUnlocked&) = delete;
    InterpreterUnlocked& operator=(const InterpreterUnlocked&) = delete;

  private:
    PyThreadState* state_;
};

// Holds the lock during its lifetime, on Python's own threads only: a child forked while one of our threads creates or
// deletes a thread state could wait forever for the lock that guards thread states (CPython 3.11 and older). Throws
// OnlyOnCaller on others, such as our workers.
class InterpreterLocked {
  public:
    InterpreterLocked() {
        if (!PyGILState_GetThisThreadState()) throw OnlyOnCaller("not a thread of Python's");
        ensure_thread_state(&state_);
    }
    ~InterpreterLocked() { PyGILState_Release(state_); }
    InterpreterLocked(const InterpreterLocked&) = delete;
    InterpreterLocked& operator=(const InterpreterLocked&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace lopt
