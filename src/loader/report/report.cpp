#include <headrace/report.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/bytes.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "assembly/kept/keep_forecast.h"
#include "base/machine/cgroup.h"
#include "base/text/number_text.h"
#include "dataset/dataset_contents.h"
#include "loader/loader_impl.h"
#include "loader/report/report_fields.h"
#include "loader/report/to_device.h"
#include "loader/report/verdict.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

std::string summarise_data(const Loader::Impl& loader) {
  const Dataset& d = loader.dataset();
  std::set<std::string> codecs;
  for (const FieldStorage& s : d.storage()) codecs.insert(s.codec);
  return fmt::format("{} file{}, {} samples of {}, {}", d.files().size(), plural(d.files().size()),
                     group_digits(d.size()), format_bytes(d.sample_bytes()), fmt::join(codecs, " / "));
}

/// VmHWM: the most that was ever resident.
std::uint64_t process_peak_bytes() {
  return read_keyed_number("/proc/self/status", "VmHWM").value_or(0);
}

/// Return Report::Cache::epochs_left.
std::uint64_t epochs_left(const Report::Cache& c, const KeepPolicy::Totals& seen, double share) {
  constexpr std::size_t kMost = 100;
  if (c.complete || c.blocks == 0 || c.all_blocks == 0 || seen.decode_bytes == 0) return 0;
  const auto ns_a_byte = [](std::uint64_t ns, std::uint64_t bytes) {
    return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(bytes, 1));
  };
  const auto all = static_cast<double>(c.all_blocks), now = static_cast<double>(c.blocks);
  const double each = static_cast<double>(c.bytes) / now;
  const double room = std::min(1.0, static_cast<double>(c.capacity_bytes) / std::max(each * all, 1.0));
  const double most = std::max(room, now / all);
  const double decode = ns_a_byte(seen.decode_ns, seen.decode_bytes);
  const KeepCosts costs{decode, ns_a_byte(seen.keep_ns, seen.keep_bytes),
                        std::min(decode, ns_a_byte(seen.hit_ns, seen.hit_bytes))};
  const std::vector<KeepEpoch> epochs = forecast_keeping(costs, now / all, most, kMost, share);
  const double last = epochs.back().kept_share;
  const auto at = std::find_if(epochs.begin(), epochs.end(), [&](const KeepEpoch& e) { return e.kept_share >= last; });
  return last <= now / all ? 0 : static_cast<std::uint64_t>(at - epochs.begin()) + 1;
}

Report::Cache describe_cache(const Engine& engine) {
  const EnginePlan& plan = engine.plan();
  Report::Cache c;
  static constexpr std::array<const char*, 5> kKinds{"nothing", "blocks", "all rows", "shared rows", "directory"};
  if (engine.lacks_its_stores()) {
    c.kind = kKinds[static_cast<std::size_t>(CacheTier::kNothing)];
    return c;
  }
  c.kind = kKinds[static_cast<std::size_t>(plan.tier)];
  c.capacity_bytes = plan.tier == CacheTier::kDirectory ? plan.data_bytes : plan.cache_bytes;
  c.all_blocks = plan.kept_units ? plan.kept_units : plan.stored_blocks().num_blocks();
  const std::shared_ptr<DecodedCache> decoded_cache = engine.decoded_cache();
  if (!decoded_cache) return c;
  const DecodedCache::Last now = decoded_cache->last();
  if (now.of_blocks) {
    const BlockCache::Usage& u = now.usage;
    c.coding = to_string(u.coding);
    c.coded_share = u.coded_share;
    c.bytes = u.bytes;
    c.blocks = u.blocks;
    c.hits = u.hits;
    c.misses = u.misses;
    c.complete = u.blocks == c.all_blocks;
    c.capacity_bytes = u.capacity_bytes;
  }
  if (now.of_rows) {
    c.coding = "decoded";
    c.blocks = now.ready_units;
    c.all_blocks = now.all_units;
    c.hits = decoded_cache->counters.hits;
    c.misses = decoded_cache->counters.fills;
    c.complete = now.complete;
    if (c.all_blocks > 0)
      c.bytes = static_cast<std::uint64_t>(static_cast<double>(plan.data_bytes) * static_cast<double>(c.blocks) /
                                           static_cast<double>(c.all_blocks));
  }
  c.epochs_left = epochs_left(c, decoded_cache->policy.totals(), decoded_cache->policy.share());
  return c;
}

/// Return the value of a field as JSON; none is a number below 0.
Json json_of(const Value& value) {
  Json json;
  if (const ValueMap* const map = value.map()) {
    json = Json::object();
    for (const ValueEntry& entry : *map) json[entry.key] = json_of(entry.value);
  } else if (const ValueList* const list = value.list()) {
    json = Json::array();
    for (const Value& item : *list) json.push_back(json_of(item));
  } else if (const auto* const whole = std::get_if<WholeNumber>(&value.is)) {
    json = whole->bits();
  } else if (const auto* const real = std::get_if<double>(&value.is)) {
    json = *real;
  } else if (const auto* const truth = std::get_if<bool>(&value.is)) {
    json = *truth;
  } else if (const std::string* const text = value.text()) {
    json = *text;
  }
  return json;
}

}  // namespace

Report make_report(const Loader::Impl& loader) {
  const EngineTotals totals = loader.manager->totals();
  const std::shared_ptr<const Engine> held = loader.engine();
  const Engine& engine = *held;
  const EnginePlan& plan = engine.plan();
  const ConsumerState& c = *loader.consumer;
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  Report r;
  r.data_summary = summarise_data(loader);
  r.notices = loader.notices().all();
  r.epochs_started = c.epochs_started;
  r.epochs_finished = c.epochs_finished;
  r.batches = c.batches;
  r.samples = c.samples;
  if (plan.budget) {
    r.tokens = c.ragged_rows;
    r.token_budget = tokens_of_rank(*plan.budget, plan.share.world_size);
  }
  r.delivered_bytes = r.samples * loader.dataset().sample_bytes();
  r.wall_seconds = c.batches ? seconds(c.last_batch_ns - c.first_start_ns) : 0;
  r.consumer_wait_seconds = seconds(c.wait_ns);
  r.consumer_work_seconds = seconds(c.work_ns);
  r.batch_wait_p99_seconds = seconds(c.batch_waits_ns.quantile(0.99));
  r.first_batch_seconds = seconds(c.first_batch_ns);
  const Engine::Decodes& decodes = totals.decodes;
  r.read_amplification =
      decodes.needed_bytes ? static_cast<double>(decodes.decoded_bytes) / static_cast<double>(decodes.needed_bytes) : 0;
  r.slow_path_chunks = decodes.slow_pieces;
  if (const ReadingFigures& f = totals.reading; f.reads > 0) {
    const std::uint64_t units = f.ready + f.late + f.missed;
    r.reading = {f.reads,
                 f.bytes,
                 seconds(f.read_ns) / static_cast<double>(f.reads),
                 static_cast<double>(f.read_ns) / static_cast<double>(std::max<std::uint64_t>(f.busy_ns, 1)),
                 f.most_in_flight,
                 static_cast<double>(f.ready) / static_cast<double>(std::max<std::uint64_t>(units, 1))};
  }
  r.threads = engine.started() ? engine.num_threads() : plan.threads;
  r.rank = plan.share.rank;
  r.world_size = plan.share.world_size;
  const EpochSums sums = engine.sums();
  r.row_sums = {sums.epoch, sums.sums.rows, sums.sums.first, sums.sums.second, sums.sums.third};
  r.exactly_once = sums.complete;
  const auto add = [&](const char* name, Stage s) {
    const StageTotals& t = totals.stages[static_cast<std::size_t>(s)];
    r.stages.push_back({name, seconds(t.ns), t.count, t.bytes});
  };
  r.stages.push_back({"plan", seconds(totals.plan_ns), totals.slots_planned, 0});
  add("read", Stage::kRead);
  add("decode", Stage::kDecode);
  add("scatter", Stage::kScatter);
  add("cache", Stage::kCache);
  add("idle", Stage::kWaitWork);
  r.chunks_decoded = r.stages[2].count;
  std::uint64_t record_bytes = 0, field_bytes = loader.dataset().sample_bytes();
  const SampleSource& source = impl_of(loader.dataset())->source;
  for (const Source* const stored : source.stored())
    for (const auto& a : stored->files[0].arrays) {
      if (source.rows()) record_bytes += a->info().row_record_bytes();  // mapped samples differ in what they skip
      if (is_slow(a->info())) r.slow_fields.push_back(a->info().path + ": " + a->info().reason);
    }
  r.waste = record_bytes > field_bytes
                ? static_cast<double>(record_bytes - field_bytes) / static_cast<double>(record_bytes)
                : 0;
  Report::Memory& m = r.memory;
  m.budget_bytes = plan.budget_bytes;
  m.planned_bytes = plan.planned_bytes();
  m.slots = plan.slots;
  m.slot_bytes = plan.slot_bytes;
  m.scratch_bytes = plan.scratch_bytes;
  m.read_buffer_bytes = plan.read_buffer_bytes;
  m.resident_bytes = plan.side_bytes();
  m.index_bytes = plan.index_bytes;
  m.staging_bytes = plan.staging_bytes;
  m.held_over_bytes = totals.peak_held_over_bytes;
  r.cache = describe_cache(engine);
  m.cache_bytes = plan.cache_bytes;
  m.scratch_bytes += plan.keeping_bytes;
  m.peak_slot_bytes = totals.peak_slot_bytes;
  if (const auto decoded_cache = engine.decoded_cache(); decoded_cache && decoded_cache->last().of_blocks)
    m.peak_cache_bytes = decoded_cache->last().usage.peak_bytes;
  else if (plan.tier == CacheTier::kAllRows || plan.tier == CacheTier::kHostRows)
    m.peak_cache_bytes = r.cache.bytes;
  m.peak_scratch_bytes = totals.peak.scratch_bytes;
  m.peak_read_buffer_bytes = totals.peak.read_buffer_bytes;
  m.peak_resident_bytes = totals.peak.side_bytes;
  m.peak_bytes = m.peak_slot_bytes + m.peak_scratch_bytes + m.peak_read_buffer_bytes + m.peak_resident_bytes +
                 (engine.has_memory() ? m.index_bytes + m.staging_bytes : 0) + m.peak_cache_bytes;
  // The parts had theirs at different times: as the cache grows, the window shrinks.
  if (engine.has_memory()) m.peak_bytes = std::min(m.peak_bytes, loader.manager->peak_reserved_bytes());
  m.process_peak_bytes = process_peak_bytes();
  diagnose(r, loader);
  return r;
}

double Report::samples_per_second() const {
  return wall_seconds > 0 ? static_cast<double>(samples) / wall_seconds : 0;
}

double Report::bytes_per_second() const {
  return wall_seconds > 0 ? static_cast<double>(delivered_bytes) / wall_seconds : 0;
}

double Report::batch_wait_seconds() const {
  return batches > 0 ? consumer_wait_seconds / static_cast<double>(batches) : 0;
}

std::string Report::text() const {
  std::string out;
  const auto line = [&](std::string_view key, const std::string& value) {
    out += fmt::format("{:<10} {}\n", key, value);
  };
  line("VERDICT", verdict);
  line("DATA", data_summary);
  line("DELIVERED", fmt::format("{} samples in {} batches, {} of {} epochs finished, {:.2f} s", group_digits(samples),
                                group_digits(batches), epochs_finished, epochs_started, wall_seconds));
  if (token_budget > 0 && batches > 0)
    line("TOKENS",
         fmt::format(
             "{} rows, {:.0f} % of the budget of {} a batch; {:.1f} samples a batch on average", group_digits(tokens),
             100 * static_cast<double>(tokens) / static_cast<double>(token_budget) / static_cast<double>(batches),
             group_digits(token_budget), static_cast<double>(samples) / static_cast<double>(batches)));
  line("RATE", fmt::format("{} samples/s, {:.2f} GB/s; first batch after {:.3f} s",
                           group_digits(static_cast<std::uint64_t>(samples_per_second())), bytes_per_second() * 1e-9,
                           first_batch_seconds));
  if (batches > 0)
    line("CHECKED",
         fmt::format(
             "{} batches: every row was copied to its place in the planned order, by the addresses of the copies{}",
             group_digits(batches),
             exactly_once ? fmt::format("; epoch {}: every sample exactly once", row_sums.epoch) : ""));
  if (world_size > 1) line("RANK", fmt::format("{} of {}", rank, world_size));
  // On the way to a device it is the copying thread that takes batches.
  line(to_device ? "COPIER" : "CONSUMER",
       fmt::format("waited {:.2f} s for batches{}, worked {:.2f} s on them", consumer_wait_seconds,
                   batches > 0 ? fmt::format(" ({:.2f} ms each on average, 99 % within {:.2f} ms)",
                                             1e3 * batch_wait_seconds(), 1e3 * batch_wait_p99_seconds)
                               : "",
                   consumer_work_seconds));
  if (to_device) line("TO DEVICE", to_device_text(*to_device));
  out += fmt::format("{:<10} {:>8} {:>7} {:>10} {:>12}   ({} threads)\n", "STAGE", "seconds", "share", "calls",
                     "GB/s a thread", threads);
  double total = 0;
  for (const Stage& s : stages) total += s.seconds;
  for (const Stage& s : stages)
    out += fmt::format(
        "  {:<8} {:>8.3f} {:>6.1f}% {:>10} {:>12}\n", s.name, s.seconds, total > 0 ? 100 * s.seconds / total : 0,
        s.count,
        s.bytes && s.seconds > 0 ? fmt::format("{:.2f}", static_cast<double>(s.bytes) / s.seconds * 1e-9) : "-");
  line("READS",
       fmt::format("{} chunks decoded, read amplification {:.3f}{}{}", group_digits(chunks_decoded), read_amplification,
                   waste > 0.005
                       ? fmt::format(", {:.0f} % of the decoded bytes are columns that no field uses", 100 * waste)
                       : "",
                   slow_path_chunks ? fmt::format(", {} of them one at a time", slow_path_chunks) : ""));
  if (reading)
    line("READING",
         fmt::format("files answered late, {:.1f} ms a read: {:.0f} reads in flight ahead of decoding, {} at "
                     "most; {:.0f} % of the blocks were read before they were needed",
                     1e3 * reading->seconds_a_read, reading->in_flight, reading->most_in_flight,
                     100 * reading->ready_share));
  for (const std::string& s : slow_fields) line("", "one at a time: " + s);
  if (mixing) line("MIXING", mixing_summary({mixing->deff_blocks, mixing->deff_files, mixing->mixed_bytes}));
  if (cache.kind != "nothing") {
    line("CACHE",
         fmt::format("{}{}: {} of {} blocks, {} of {}; {} hits, {} misses", cache.kind,
                     cache.coding.empty() ? "" : ", " + cache.coding, group_digits(cache.blocks),
                     group_digits(cache.all_blocks), format_bytes(cache.bytes), format_bytes(cache.capacity_bytes),
                     group_digits(cache.hits), group_digits(cache.misses)));
    if (cache.complete) line("", "complete: batches come from it, and nothing is read from the files");
    if (cache.epochs_left > 0)
      line("",
           fmt::format(
               "it grows as blocks are decoded, and more while your loop works on a batch: about {}{} more epoch{} of "
               "all samples until it is full",
               cache.epochs_left, cache.epochs_left < 100 ? "" : " or", plural(cache.epochs_left)));
  }
  for (const std::string& notice : notices) line("NOTICE", notice);
  line("MEMORY", fmt::format("peak {} of {} planned, budget {}", format_bytes(memory.peak_bytes),
                             format_bytes(memory.planned_bytes), format_bytes(memory.budget_bytes)));
  out += memory.text();
  if (memory.held_over_bytes)
    line("", fmt::format("batches you kept: {} beyond the budget", format_bytes(memory.held_over_bytes)));
  for (const std::string& a : advice) line("DO", a);
  return out;
}

std::string Report::Memory::text() const {
  std::string out;
  const auto part = [&](std::string_view name, std::uint64_t planned, std::uint64_t measured) {
    if (planned || measured)
      out += fmt::format("  {:<16} {:>10} {:>10}\n", name, format_bytes(planned), format_bytes(measured));
  };
  out += fmt::format("  {:<16} {:>10} {:>10}\n", "", "planned", "peak");
  part(fmt::format("{} slots", slots), slots * slot_bytes, peak_slot_bytes);
  part("cache", cache_bytes, peak_cache_bytes);
  part("scratch", scratch_bytes, peak_scratch_bytes);
  part("read buffers", read_buffer_bytes, peak_read_buffer_bytes);
  part("side fields", resident_bytes, peak_resident_bytes);
  part("bookkeeping", index_bytes, index_bytes);
  part("staging", staging_bytes, staging_bytes);
  part("all", planned_bytes, peak_bytes);
  return out;
}

std::string Report::json() const {
  Json j = json_of(spec<Report>().write_all(this));
  j["stages"] = Json::object();
  for (const Stage& stage : stages) (j["stages"][stage.name] = json_of(spec<Stage>().write_all(&stage))).erase("name");
  j["samples_per_second"] = samples_per_second();
  j["bytes_per_second"] = bytes_per_second();
  j["batch_wait_seconds"] = batch_wait_seconds();
  // File names in notes and reasons are bytes that need not be UTF-8.
  return j.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace headrace
