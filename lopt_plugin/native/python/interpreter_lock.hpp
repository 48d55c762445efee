// Releasing Python's lock and acquiring it again, also while the interpreter shuts down.
#pragma once

#include <Python.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace lopt {

// Up to Python 3.13 a thread that asks for the lock after shutdown has begun is ended by pthread_exit, whose unwinding
// may not leave a destructor: the process would abort. Such a thread hangs here instead, as in Python 3.14.
template <class Request>
void take_interpreter_lock(Request&& request) {
    try {
        request();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// Lets other Python threads run while it lives.
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

// Thrown where Python is needed on a thread that Python does not know: a worker of ours.
struct NotPythonThread : std::runtime_error {
    NotPythonThread() : std::runtime_error("not a thread of Python's") {}
};

// Holds the lock while it lives, on threads of Python's only: a child forked while one of ours makes or drops a thread
// state could wait forever for the lock that guards them (CPython 3.11 and older).
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
