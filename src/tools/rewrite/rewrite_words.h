// What rewrite() says before and after, for people and as data.
#pragma once

#include <optional>
#include <string>

#include "tools/json.h"
#include "tools/rewrite/rewrite_probe.h"

namespace headrace {

struct RewriteSummary {
  const RewritePlan& plan;
  const RewriteForecast* forecast = nullptr;  ///< Null: every file was whole already.
  RewriteMemory memory;
  std::uint64_t free_bytes = 0;  ///< Free bytes of the file system written to.
  std::optional<RewriteCounts> done;
};

/// Return cost and gain, before anything is written.
std::string forecast_text(const RewriteSummary& summary);
/// Return what was done, and what to type next.
std::string done_text(const RewriteSummary& summary);
/// Return the same where an earlier call did it all.
std::string nothing_to_do_text(const RewritePlan& plan);
Json rewrite_json(const RewriteSummary& summary);

}  // namespace headrace
