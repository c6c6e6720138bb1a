// The heap of the process: what was freed there and is still held.
#pragma once

namespace headrace {

/// Return free pages of the heap to the system (malloc_trim). glibc keeps what a step of work has freed, such as lists
/// of a million keys, for the next one, which may never come. Takes about a millisecond for each 10 MiB. Threads: any.
void trim_heap();

}  // namespace headrace
