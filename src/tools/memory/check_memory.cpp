// check-memory: does it fit, what limits it and by which rule. From metadata alone, before anything is allocated.
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>

#include "base/machine/cpu_count.h"
#include "base/memory/memory_budget.h"
#include "loader/engine/access.h"
#include "loader/engine/small_budget.h"
#include "loader/options/loader_settings.h"
#include "loader/plan/plan_for.h"
#include "loader/plan/window_decodes.h"
#include "tools/memory/memory_breakdown.h"
#include "tools/text_table.h"

namespace headrace {
namespace {

using Align = TextTable::Align;

struct Check {
  std::uint64_t available_bytes = 0, budget_bytes = 0, smallest_bytes = 0, total_bytes = 0, first_bytes = 0,
                data_bytes = 0;
  std::optional<EnginePlan> plan;
  std::string refusal;         // why there is no plan
  bool asks_too_much = false;  // memory= is more than what is available
  std::vector<MemoryComponent> components;
  std::vector<MemoryPreset> presets;
  double decodes = 1;  // of a block
  MemoryLimits limits;
  Fit fit = Fit::kKilled;
};

std::string what_happens(MemoryLimit::Past past) {
  return past == MemoryLimit::Past::kKilled      ? "killed"
         : past == MemoryLimit::Past::kThrottled ? "slowed down"
                                                 : "no memory given";
}

std::string limits_text(const MemoryLimits& limits) {
  TextTable table({{"limit"},
                   {"", Align::kRight},
                   {"in use", Align::kRight},
                   {"reclaimable", Align::kRight},
                   {"free", Align::kRight},
                   {"beyond it"}});
  for (std::size_t i = 0; i < limits.all.size(); ++i) {
    const MemoryLimit& l = limits.all[i];
    table.add({shorten(l.where + ", " + l.rule, 44), format_bytes(l.limit_bytes), format_bytes(l.used_bytes),
               format_bytes(l.reclaimable_bytes), format_bytes(l.free_bytes),
               what_happens(l.past) + (i == limits.ruling ? "; this limit decides" : "")});
  }
  return table.indented();
}

std::string components_text(const Check& check) {
  TextTable table({{"peak"}, {"", Align::kRight}, {""}});
  for (const MemoryComponent& c : check.components)
    table.add({c.name, format_bytes(c.bytes), c.what + (c.inside_budget ? "" : " (not counted in memory=)")});
  table.add({"total", format_bytes(check.total_bytes),
             fmt::format("at most, ± {}; the budget is {}", format_bytes(uncertainty_bytes(check.total_bytes)),
                         format_bytes(check.budget_bytes))});
  if (check.first_bytes < check.total_bytes)
    table.add(
        {"at first", format_bytes(check.first_bytes), "before the cache fills; the peak of a short run lies between"});
  return table.indented();
}

std::string presets_text(const std::vector<MemoryPreset>& presets) {
  TextTable table({{"preset"},
                   {"memory", Align::kRight},
                   {"peak", Align::kRight},
                   {"decodes per block", Align::kRight},
                   {"data kept decoded", Align::kRight}});
  for (const MemoryPreset& p : presets) {
    const std::string name = fmt::format("{} ({:.0f} %)", p.name, 100 * p.share);
    if (p.possible)
      table.add({name, format_bytes(p.memory_bytes), format_bytes(p.peak_bytes), fmt::format("{:.1f}", p.decodes),
                 fmt::format("{:.0f} %", 100 * p.kept_share)});
    else
      table.add({name, format_bytes(p.memory_bytes), "too small", "-", "-"});
  }
  return table.indented();
}

std::string memory_option(std::uint64_t bytes) {
  return "memory=" + size_setting(bytes);
}

/// Another machine as the only limit, all of it free.
MemoryLimits limits_of_machine(std::uint64_t bytes) {
  return {{{"another machine", "all of its memory", MemoryLimit::Past::kKilled, bytes, 0, 0, bytes}}, 0};
}

/// The one setting that changes most.
std::string knob(const Check& c, const SampleSource& source, const LoaderOptions& options) {
  const auto most = static_cast<std::uint64_t>(kTightShare * static_cast<double>(c.available_bytes));
  if (!c.plan)
    return c.smallest_bytes < most
               ? fmt::format("{}: the smallest budget that can work", memory_option(c.smallest_bytes))
               : fmt::format("batch_size={}: even the smallest budget, {}, is too much here",
                             std::max<std::uint64_t>(settings_of(options).batch_size / 4, 1),
                             format_bytes(c.smallest_bytes));
  if (c.asks_too_much && c.total_bytes < most)
    return fmt::format("{}: enough for these data, and far from the limit",
                       memory_option(c.total_bytes + (c.total_bytes >> 4)));
  if (c.fit != Fit::kFits && c.smallest_bytes < most)
    return fmt::format("{}: the same batches from less memory, at most {:.0f} % of what is available",
                       memory_option(most >> 20 << 20), 100 * kTightShare);
  if (c.fit != Fit::kFits) return "a smaller batch_size=: two batches alone take most of the memory";
  if (const std::optional<SmallBudget> small = judge_small_budget(source, options, *c.plan)) {
    const bool fits = small->memory_bytes > 0 && small->memory_bytes < most;
    std::string ways = fits ? memory_option(small->memory_bytes) : "";
    if (small->fitting) ways += (fits ? ", or " : "") + small->fitting->setting + " in this budget";
    if (!ways.empty())
      return fmt::format("{}: every block would be decoded once instead of {:.1f} times{}", ways, c.decodes,
                         small->fitting ? ". That buffer costs mixing. " + mixing_text(*small) : "");
    return small->is_shuffle ? no_shuffle_text(*small) : "a smaller batch_size=: it needs fewer decodes";
  }
  if (c.plan->draws_samples() && c.plan->tier == CacheTier::kNothing)
    return fmt::format("nothing needed; {} are decoded anew in each epoch", source.what());
  if (source.mapped() && c.plan->tier == CacheTier::kNothing)
    return fmt::format("nothing needed: every block is decoded once an epoch; {} are not kept for later ones",
                       source.what());
  if (c.plan->tier == CacheTier::kDirectory)
    return "nothing needed: from the second epoch on rows come from the cache directory";
  if (const std::uint64_t all = c.plan->window_bytes() + c.data_bytes + c.data_bytes / 32;
      kept_share(*c.plan, c.data_bytes) < 1 && all < most)
    return fmt::format("{}: all decoded data would stay in memory, and later epochs decode nothing",
                       memory_option(all));
  if (kept_share(*c.plan, c.data_bytes) < 1)
    return "nothing needed: every block is decoded once an epoch; more memory= would keep more decoded rows for later "
           "epochs";
  return "nothing needed: the batches and all decoded data fit";
}

std::string torch_text(const TorchRecipe& t) {
  return fmt::format(
      "a torch DataLoader of {} workers that each keep {} decoded chunks takes {} x {} x {} = {} of cache, {} x {} x "
      "{} "
      "= {} of /dev/shm, and about {} for the workers' interpreters",
      t.workers, t.cached_chunks, t.workers, t.cached_chunks, format_bytes(t.chunk_bytes),
      format_bytes(t.cache_bytes()), t.workers, t.prefetch, format_bytes(t.batch_bytes),
      format_bytes(t.shared_memory_bytes()), format_bytes(t.interpreter_bytes()));
}

}  // namespace

ToolResult check_memory(const RunConfig& run, const CheckMemoryOptions& options) {
  return check_memory(open_run(run), run.loader, options);
}

ToolResult check_memory(const Dataset& dataset, const LoaderOptions& loader, const CheckMemoryOptions& options) {
  const bool elsewhere = options.machine_memory_bytes != 0;
  Check c;
  c.limits = elsewhere ? limits_of_machine(options.machine_memory_bytes) : list_memory_limits();
  const LocalProcesses local = count_local_processes();
  c.available_bytes = c.limits.rules().free_bytes / local.count;
  const std::uint64_t by_default =
      elsewhere ? process_share_bytes(c.available_bytes) : MemoryBudget::process()->free_bytes();
  c.budget_bytes = loader.memory ? loader.memory : by_default;
  c.data_bytes = decoded_bytes(dataset);
  const std::uint64_t chunks = count_chunks(dataset);
  Result<EnginePlan> plan = plan_for(dataset, loader, c.budget_bytes);
  if (plan.ok()) {
    c.plan = std::move(*plan);
    c.decodes = window_decodes(*c.plan);
    c.components = memory_components(*c.plan, chunks);
    c.total_bytes = sum_bytes(c.components);
    c.first_bytes = first_bytes(*c.plan, c.total_bytes);
    c.fit = judge_fit(c.total_bytes, c.available_bytes);
    c.asks_too_much = loader.memory > c.available_bytes;
    if (c.asks_too_much) c.fit = std::max(c.fit, Fit::kTight);
  } else if (plan.error().code() == ErrorCode::kOutOfBudget) {
    c.refusal = plan.error().message();
  } else {
    throw plan.error();
  }
  c.smallest_bytes = smallest_budget(dataset, loader);
  c.presets = memory_presets(dataset, loader, c.available_bytes);
  const CpuLimits cpus = list_cpu_limits();
  const auto shm = shared_memory_size();
  const std::uint64_t resident = resident_bytes();

  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += paragraph(key, kLabelColumns, value);
  };
  const MemoryLimit& rules = c.limits.rules();
  const double share =
      c.available_bytes ? static_cast<double>(c.total_bytes) / static_cast<double>(c.available_bytes) : 1;
  if (c.plan)
    line("VERDICT",
         fmt::format("{}: the predicted peak of {} is {:.0f} % of the {} that are available {}", to_string(c.fit),
                     format_bytes(c.total_bytes), 100 * share, format_bytes(c.available_bytes),
                     elsewhere ? "there" : "here") +
             (c.asks_too_much ? fmt::format(", but memory= allows {}: more than there is", format_bytes(c.budget_bytes))
                              : ""));
  else
    line("VERDICT", fmt::format("cannot be made: {}; the smallest budget is {} ({})", c.refusal,
                                memory_option(c.smallest_bytes), format_bytes(c.smallest_bytes)));
  const std::string shares =
      fmt::format("tight above {:.0f} %, killed above {:.0f} %", 100 * kTightShare, 100 * kKilledShare);
  line("LIMIT", (elsewhere ? fmt::format("a machine with {}, all of it taken as free ({})",
                                         format_bytes(rules.limit_bytes), shares)
                           : fmt::format("{} of {}: {} of {} are free ({})", rules.rule, rules.where,
                                         format_bytes(rules.free_bytes), format_bytes(rules.limit_bytes), shares)) +
                    shared_text(local));
  text += "\n" + limits_text(c.limits) + "\n";
  if (c.plan) text += components_text(c) + "\n";
  text += presets_text(c.presets) + "\n";
  if (elsewhere)
    line("PROCESS",
         "the system, your model and the batches that you keep take their part of such a machine: nothing is "
         "known of them here");
  else
    line("PROCESS",
         fmt::format("this process uses {} now, which is counted as in use above; your model and the batches that "
                     "you keep come on top",
                     format_bytes(resident)));
  if (!elsewhere)
    line("/dev/shm",
         shm ? fmt::format("{} ({} free). Headrace needs none of it: its workers are threads, not processes",
                           format_bytes(shm->size_bytes), format_bytes(shm->free_bytes))
             : "there is none. Headrace needs none: its workers are threads, not processes");
  std::optional<TorchRecipe> torch;
  const auto workers = static_cast<std::uint64_t>(cpus.usable);
  if (c.plan && source_of(dataset).rows()) {  // workers' caches are of chunks of rows
    torch = torch_recipe(*c.plan, dataset.sample_bytes(), workers);
    line("COMPARE", torch_text(*torch));
  }
  const std::string turn = knob(c, source_of(dataset), loader);
  line("DO", turn);

  Json json = {{"verdict", c.plan ? to_string(c.fit) : "cannot be made"},
               {"exit_status", exit_status_of(c.fit)},
               {"machine_memory_bytes", elsewhere ? Json(options.machine_memory_bytes) : Json(nullptr)},
               {"available_bytes", c.available_bytes},
               {"rule", rules.rule},
               {"where", rules.where},
               {"limits", limits_json(c.limits)},
               {"budget_bytes", c.budget_bytes},
               {"smallest_budget_bytes", c.smallest_bytes},
               {"components", components_json(c.components)},
               {"total_bytes", c.total_bytes},
               {"first_bytes", c.first_bytes},
               {"uncertainty_bytes", uncertainty_bytes(c.total_bytes)},
               {"share", c.plan ? Json(share) : Json(nullptr)},
               {"decoded_bytes", c.data_bytes},
               {"process_resident_bytes", resident},
               {"shared_memory_bytes", shm ? Json(shm->size_bytes) : Json(nullptr)},
               {"cpus", {{"usable", cpus.usable}, {"rule", cpus.rules().rule}}},
               {"presets", presets_json(c.presets)},
               {"knob", turn}};
  if (!c.plan) json["refusal"] = c.refusal;
  if (torch)
    json["torch_recipe"] = {{"workers", torch->workers},
                            {"cached_chunks", torch->cached_chunks},
                            {"prefetch", torch->prefetch},
                            {"cache_bytes", torch->cache_bytes()},
                            {"shared_memory_bytes", torch->shared_memory_bytes()},
                            {"interpreter_bytes", torch->interpreter_bytes()}};
  ToolResult result;
  result.text = std::move(text);
  result.json = dump(json);
  result.exit_status = exit_status_of(c.fit);
  return result;
}

}  // namespace headrace
