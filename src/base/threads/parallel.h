// Threads: started with a name and without signals, joined with their first error.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"

namespace headrace {

/// Start a thread that is called `name` in debuggers and top (15 characters are kept) and to which the system delivers
/// no signals: those belong to the program's own threads. An exception that leaves `body` ends the process, as with
/// std::thread. Errors: kOutOfBudget  the system starts no more threads, or gives no memory for one.
Result<std::jthread> start_thread(std::string name, std::function<void(std::stop_token)> body);

/// Starts a named thread: start_thread(), or what a test puts in its place.
using ThreadStarter = std::function<Result<std::jthread>(std::string, std::function<void(std::stop_token)>)>;

/// What a thread of run_parallel does: its index, and a token that says another one failed.
using ParallelBody = std::function<Status(int thread_index, std::stop_token stop)>;

/// Run `body` on `num_threads` threads (1 at least), one of them the caller's, and join them all. The first error in
/// time is returned, a kCancelled only if there is no other; std::bad_alloc becomes kOutOfBudget, other exceptions
/// kInternal. After an error, or when the caller's `stop` is requested, the others' tokens say stop. Blocks: until all
/// are done.
Status run_parallel(int num_threads, const std::string& name, const ParallelBody& body, std::stop_token stop = {});

}  // namespace headrace
