// A bench as a picture for a talk: horizontal bars, one pair for each contestant.
#pragma once

#include <string>

#include "tools/json.h"

namespace headrace {

/// Draw a summarised bench (bench_report.h) as SVG text, well-formed whatever the names hold.
std::string bench_picture(const Json& bench);

}  // namespace headrace
