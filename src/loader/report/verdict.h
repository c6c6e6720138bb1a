// Is loading the limit, which part of it, and what to change.
#pragma once

#include <headrace/report.h>

#include <cstdint>
#include <string>

#include "loader/loader_impl.h"

namespace headrace {

/// Shares of the time that waiting takes, below which loading is not the limit, and below which it is so in part: the
/// thresholds of TensorFlow's input-pipeline analyser.
inline constexpr double kFineShare = 0.05, kModerateShare = 0.20;

/// Say what to do where handling kept blocks takes the threads most of their time: what follows from what is kept.
std::string advice_for_cache(const Report::Cache& cache);

/// Say that the decode threads and the program's own computing share all processors, so that each slows the other;
/// empty if they do not. \param cpu_seconds  Of the process, in `wall_seconds`. \param busy_seconds  Of all decode
/// threads.
std::string advice_for_shared_cpus(double cpu_seconds, double wall_seconds, double busy_seconds, std::uint32_t cpus);

/// Fill in report.verdict and report.advice from its figures.
void diagnose(Report& report, const Loader::Impl& loader);

}  // namespace headrace
