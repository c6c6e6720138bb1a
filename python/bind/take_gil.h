/* Taking the GIL, also while the interpreter goes away.

   Before Python 3.14, a thread that asks for the GIL when the interpreter is being finalised is ended by pthread_exit,
   which unwinds its stack; on the way it meets destructors and handlers of C++, and the process aborts. Later Pythons
   let such a thread hang until the process ends, and so do these, on every Python. nanobind's own guards do not.

   This is C: there glibc ends the unwinding at the first cleanup that it meets, by a jump. In C++ a cleanup is a
   destructor, which the unwinder of libgcc would have to call by means of this library's own unwinder; those of clang
   and of GCC do not go together. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Call PyEval_RestoreThread(); if the interpreter ends this thread instead, stay here. */
void headrace_restore_thread(PyThreadState* state);

/* Call PyGILState_Ensure(); if the interpreter ends this thread instead, stay here. */
PyGILState_STATE headrace_ensure_gil(void);

/* Call PyObject_Call() with positional arguments; if the interpreter ends this thread in it, where Python code gives
   other threads a turn, stay here. */
PyObject* headrace_call(PyObject* callable, PyObject* arguments);

#ifdef __cplusplus
}
#endif
