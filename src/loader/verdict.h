// Is loading the limit, which part of it, and what to change.
#pragma once

#include "loader/loader_impl.h"

namespace headrace {

/// Fill in report.verdict and report.advice from its figures.
void diagnose(Report& report, const Loader::Impl& loader);

}  // namespace headrace
