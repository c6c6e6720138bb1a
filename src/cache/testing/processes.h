// Processes for tests of what processes share: forked, never exec'd, so they must call nothing of gtest.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace headrace::testing_processes {

/// Run `work` in a child, whose exit status is what it returns. Fork from a process with one thread only.
template <class Work>
pid_t start(Work&& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(std::forward<Work>(work)());
  return pid;
}
/// Its exit status; -1 if a signal ended it.
inline int join(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}
inline void kill_and_join(pid_t pid) {
  ::kill(pid, SIGKILL);
  join(pid);
}

}  // namespace headrace::testing_processes
