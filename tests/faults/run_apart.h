// Runs with faults in processes of their own, which may crash or hang without ending the test.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "faulty_run.h"

namespace headrace::faults {

/// Let the events of these numbers fail, each in a run of its own, and call `ended` with the number and the ending of
/// each. A process makes many runs, one after another, until one does not end right: the next begins in a new process.
void run_apart(const Data& data, Keeping keeping, Fault fault, std::span<const std::uint64_t> events,
               const std::function<void(std::uint64_t, const Ending&)>& ended);

}  // namespace headrace::faults
