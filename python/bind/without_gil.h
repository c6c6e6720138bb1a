// Giving up the GIL and taking it back, also while the interpreter goes away (take_gil.h).
#pragma once

#include <nanobind/nanobind.h>

#include "bind/take_gil.h"

namespace headrace::python {

/// The GIL is given up for this scope.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { headrace_restore_thread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// The GIL is held in this scope. For callbacks on threads that gave it up; never for the engine's own threads.
class WithGil {
 public:
  WithGil() : state_(headrace_ensure_gil()) {}
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
