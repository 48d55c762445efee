// Releases and acquires Python's lock, even while the interpreter shuts down.
#pragma once

#include <Python.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace lopt {

// Up to Python 3.13, a thread that requests the lock after shutdown has begun is ended by pthread_exit. Its unwinding
// must not pass through a destructor, or the process aborts. Such a thread hangs here instead, as in Python 3.14.
template <class Request>
void take_interpreter_lock(Request&& request) {
    try {
        request();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// Lets other Python threads run during its lifetime.
class InterpreterUnlocked {
  public:
    InterpreterUnlocked() : state_(PyEval_SaveThread()) {}
    ~InterpreterUnlocked() {
        take_interpreter_lock([this] { PyEval_RestoreThread(state_); });
    }
    InterpreterUnlocked(const InterpreterUnlocked&) = delete;
    InterpreterUnlocked& operator=(const InterpreterUnlocked&) = delete;

  private:
    PyThreadState* state_;
};

// Thrown if Python is needed on a thread that Python does not know, such as one of our workers.
struct NotPythonThread : std::runtime_error {
    NotPythonThread() : std::runtime_error("not a thread of Python's") {}
};

// Holds the lock during its lifetime, on Python's own threads only: a child forked while one of our threads creates or
// deletes a thread state could wait forever for the lock that guards thread states (CPython 3.11 and older).
class InterpreterLocked {
  public:
    InterpreterLocked() {
        if (!PyGILState_GetThisThreadState()) throw NotPythonThread();
        take_interpreter_lock([this] { state_ = PyGILState_Ensure(); });
    }
    ~InterpreterLocked() { PyGILState_Release(state_); }
    InterpreterLocked(const InterpreterLocked&) = delete;
    InterpreterLocked& operator=(const InterpreterLocked&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace lopt
