// Advice as a run file: the settings, and beside each why.
#include <fmt/format.h>
#include <headrace/bytes.h>

#include <string>

#include "tools/advise/advice.h"
#include "tools/runs/run_file_text.h"

namespace headrace {

std::string advice_yaml(const Advice& a, const RunConfig& run) {
  std::string out;
  const auto setting = [&](const std::string& line, const std::string& reason) {
    out += reason.empty() ? fmt::format("  {}\n", line) : fmt::format("  {:<24} # {}\n", line, reason);
  };
  const MemoryLimit& rules = a.limits.rules();
  out += fmt::format("# By headrace advise, for {} processors ({}) and {} of memory ({} of {}).\n", a.cpus.usable,
                     a.cpus.rules().rule, format_bytes(a.available_bytes()), rules.rule, rules.where);
  out += fmt::format(
      "# Expected: {:.0f} samples/s in a first epoch from the page cache, {:.0f} from the disk, {:.0f} later.\n",
      first_epoch_rate(a, a.advised, a.advised.forecast.warm), first_epoch_rate(a, a.advised, a.advised.forecast.cold),
      a.advised.cache.later);
  out += "# Try it: headrace bench THIS_FILE --epochs 2\n" + data_section_text(run, &a.companion_files);
  out += "loader:\n";
  const LoaderSettings settings = loader_settings(run);
  for (const Member& option : spec<LoaderSettings>().members()) {
    const bool advised = option.name == "threads" || option.name == "memory" || option.name == "cache";
    const bool shown = option.name == "shuffle" || option.name == "seed" || is_given(option, settings);
    if (advised || !shown) continue;
    setting(fmt::format("{}: {}", option.name, flow_text(spec<LoaderSettings>().value_of(option, &settings))),
            option.name == "shuffle" && a.exact_is_free ? std::string(Advice::kExactReason) : "");
  }
  setting(fmt::format("threads: {}", a.advised.threads), a.threads_reason);
  setting("memory: " + size_setting(a.advised.memory_bytes), a.memory_reason);
  setting("cache: " + advised_cache(a, run), a.advised.cache.reason);
  return out;
}

}  // namespace headrace
