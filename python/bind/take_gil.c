#include "bind/take_gil.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void stay(void* unused) {
  (void)unused;
  for (;;) pause();
}

void headrace_restore_thread(PyThreadState* state) {
  pthread_cleanup_push(stay, NULL);
  PyEval_RestoreThread(state);
  pthread_cleanup_pop(0);
}

PyObject* headrace_call(PyObject* callable, PyObject* arguments) {
  PyObject* volatile result;
  pthread_cleanup_push(stay, NULL);
  result = PyObject_Call(callable, arguments, NULL);
  pthread_cleanup_pop(0);
  return result;
}

PyGILState_STATE headrace_ensure_gil(void) {
  volatile PyGILState_STATE state;
  pthread_cleanup_push(stay, NULL);
  state = PyGILState_Ensure();
  pthread_cleanup_pop(0);
  return state;
}
