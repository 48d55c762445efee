// Acquires Python's lock; hangs where the interpreter has begun to shut down.
#pragma once

#include <Python.h>

namespace lopt {

// PyEval_RestoreThread.
void restore_thread(PyThreadState* state);
// PyGILState_Ensure; writes what PyGILState_Release needs.
void ensure_thread_state(PyGILState_STATE* previous);

}  // namespace lopt
