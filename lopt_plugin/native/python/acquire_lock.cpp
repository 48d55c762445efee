// Up to Python 3.13, a thread that requests the lock after shutdown has begun is ended by pthread_exit. In glibc, that
// unwinds the stack. No C++ frame must be unwound: destructors would run, and the unwinder that a wheel brings along does
// not know the one that glibc loads. So the thread hangs in a clean-up handler instead, as in Python 3.14.
//
// Compiled without exceptions: pthread_cleanup_push then jumps to the handler (setjmp), which ends the unwinding here.
#include "python/acquire_lock.hpp"

#include <pthread.h>
#include <unistd.h>

#ifdef __EXCEPTIONS
#error "needs -fno-exceptions"
#endif

namespace lopt {
namespace {

void hang(void*) {
    for (;;) pause();
}

}  // namespace

void restore_thread(PyThreadState* state) {
    pthread_cleanup_push(hang, nullptr);
    PyEval_RestoreThread(state);
    pthread_cleanup_pop(0);
}

void ensure_thread_state(PyGILState_STATE* previous) {
    pthread_cleanup_push(hang, nullptr);
    *previous = PyGILState_Ensure();
    pthread_cleanup_pop(0);
}

}  // namespace lopt
