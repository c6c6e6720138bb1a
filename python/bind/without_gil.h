// Giving up the GIL and taking it back, also while the interpreter goes away.
//
// Before Python 3.14, a thread that asks for the GIL when the interpreter is being finalised is ended by pthread_exit,
// which unwinds its stack; on the way it meets destructors and handlers of C++, and the process aborts. Later Pythons
// let such a thread hang until the process ends, and so do these two, on every Python. nanobind's own guards do not.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace headrace::python {

/// Call `take`, which takes the GIL; if the interpreter ends this thread instead, stay here.
template <class Take>
auto take_gil(Take&& take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}

/// The GIL is given up for this scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    take_gil([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// The GIL is held in this scope. For callbacks on threads that gave it up; never for the engine's own threads.
class WithGil {
 public:
  WithGil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Return what `work` returns, which is called without the GIL. Handles hold Python objects: they are made with it.
template <class Work>
auto without_gil(Work&& work) {
  const WithoutGil nogil;
  return work();
}

}  // namespace headrace::python
