// What a failed system call means to the user of `headrace demo`.
#pragma once

#include <string>

#include "base/result.h"

namespace headrace::demo {

/// Return "`doing` failed: No space left on device", with the code and the hint that belong to this errno.
Error write_error(const std::string& file, const char* doing, int number);

}  // namespace headrace::demo
