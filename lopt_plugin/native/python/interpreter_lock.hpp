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

// Thrown if Python is needed on a thread that Python does not know, such as one of our workers.
struct NotPythonThread : OnlyOnCaller {
    NotPythonThread() : OnlyOnCaller("not a thread of Python's") {}
};

// Holds the lock during its lifetime, on Python's own threads only: a child forked while one of our threads creates or
// deletes a thread state could wait forever for the lock that guards thread states (CPython 3.11 and older).
class InterpreterLocked {
  public:
    InterpreterLocked() {
        if (!PyGILState_GetThisThreadState()) throw NotPythonThread();
        ensure_thread_state(&state_);
    }
    ~InterpreterLocked() { PyGILState_Release(state_); }
    InterpreterLocked(const InterpreterLocked&) = delete;
    InterpreterLocked& operator=(const InterpreterLocked&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace lopt
