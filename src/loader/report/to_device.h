// What a report says of copies to a device.
#pragma once

#include <headrace/report.h>

#include <string>

namespace headrace {

/// Return one line: rate of the copies, what steps waited, buffers.
std::string to_device_text(const Report::ToDevice& copies);

}  // namespace headrace
