// What is thrown, as an Error: where memory ends, on threads from which nothing may be thrown.
#pragma once

#include <exception>

#include "base/result.h"

namespace headrace {

/// Return the error for std::bad_alloc: kOutOfBudget. Copies of it take no memory. Threads: any.
const Error& out_of_memory() noexcept;

/// Return what an exception is as an error: an Error as it is, std::bad_alloc as out_of_memory(), others as kInternal
/// with their text. Never throws: where memory does not suffice for the text, it is out_of_memory().
Error error_of(const std::exception& thrown) noexcept;

}  // namespace headrace
