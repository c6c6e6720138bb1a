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

PyGILState_STATE headrace_ensure_gil(void) {
  volatile PyGILState_STATE state;
  pthread_cleanup_push(stay, NULL);
  state = PyGILState_Ensure();
  pthread_cleanup_pop(0);
  return state;
}
