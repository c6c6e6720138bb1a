// Advice as a run file: the settings, and beside each why.
#include <fmt/format.h>
#include <headrace/base/bytes.h>

#include <filesystem>
#include <set>
#include <string>

#include "loader/options_table.h"
#include "tools/advice.h"
#include "tools/json.h"

namespace headrace {
namespace {

/// A string that YAML and JSON read alike.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A run file's relative paths begin at the run file, wherever that is written.
std::string from_anywhere(const std::string& path) {
  if (path.starts_with('/') || path.starts_with('~')) return path;
  std::error_code ec;
  const std::filesystem::path here = std::filesystem::current_path(ec);
  return ec ? path : (here / path).string();
}

/// \param beside  FILES of the fields' "FILES::PATH".
std::string path_from_anywhere(const FieldChoice& field, const std::set<std::string>& beside, const OpenOptions& open) {
  const std::string& path = field.path.empty() ? field.name : field.path;
  const std::size_t end = path.find("::");
  if (end == std::string::npos || !beside.contains(path.substr(0, end))) return path;
  const auto known = open.beside.find(path.substr(0, end));
  const std::string files = known == open.beside.end() ? path.substr(0, end) : known->second[0];
  return from_anywhere(files) + path.substr(end);
}

}  // namespace

std::string advice_yaml(const Advice& a, const RunConfig& run) {
  std::string out;
  const auto setting = [&](const std::string& line, const std::string& reason) {
    out += reason.empty() ? fmt::format("  {}\n", line) : fmt::format("  {:<24} # {}\n", line, reason);
  };
  const MemoryLimit& rules = a.limits.rules();
  out += fmt::format("# By headrace advise, for {} processors ({}) and {} of memory ({} of {}).\n", a.cpus.usable,
                     a.cpus.rules().rule, format_bytes(a.available_bytes()), rules.rule, rules.where);
  out +=
      fmt::format("# Expected: {:.0f} samples/s from the page cache, {:.0f} from the disk, {:.0f} in later epochs.\n",
                  a.advised.forecast.warm, a.advised.forecast.cold, a.advised.cache.later);
  out += "# Try it: headrace bench THIS_FILE --epochs 2\ndata:\n  files:\n";
  for (const std::string& file : run.files) out += fmt::format("    - {}\n", quoted(from_anywhere(file)));
  if (!run.open.fields.empty()) {
    out += "  fields:\n";
    for (const FieldChoice& f : run.open.fields)
      out += fmt::format("    {}: {}\n", quoted(f.name), quoted(path_from_anywhere(f, a.beside, run.open)));
  }
  if (run.open.sample_axes > 1) out += fmt::format("  sample_axes: {}\n", run.open.sample_axes);
  if (!run.open.broadcast.empty()) {
    out += "  broadcast:\n";
    for (const BroadcastChoice& b : run.open.broadcast)
      out +=
          fmt::format("    {}: {}\n", quoted(b.name), quoted(path_from_anywhere({b.name, b.path}, a.beside, run.open)));
  }
  out += "loader:\n";
  const LoaderSettings settings{run.loader, run.framework, run.batch_format, {}, {}};
  for (const LoaderOption& option : loader_options()) {
    const bool advised = option.name == "threads" || option.name == "memory" || option.name == "cache";
    const bool shown = option.name == "shuffle" || option.name == "seed" || is_given(option, settings);
    if (advised || !shown || (option.where & LoaderOption::kRunFile) == 0) continue;
    const std::uint64_t mixed = run.loader.shuffle_buffer.bytes;
    const bool mebibytes = option.name == "shuffle_buffer" && mixed > 0 && mixed % (1 << 20) == 0;
    setting(fmt::format("{}: {}", option.name, mebibytes ? size_setting(mixed) : option.get(settings)), "");
  }
  setting(fmt::format("threads: {}", a.advised.threads), a.threads_reason);
  setting("memory: " + size_setting(a.advised.memory_bytes), a.memory_reason);
  setting("cache: " + cache_setting(a.advised.cache.kind), a.advised.cache.reason);
  return out;
}

}  // namespace headrace
