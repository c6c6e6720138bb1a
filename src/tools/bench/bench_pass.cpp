#include "tools/bench/bench_pass.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kBenchTick{100};  // between two calls of progress
constexpr std::uint64_t kLeastBatches = 2;            // the first is start-up

double seconds_between(std::uint64_t start_ns, std::uint64_t end_ns) {
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

}  // namespace

double BenchPass::samples_per_second() const {
  return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
}

BenchPass joined(const std::vector<BenchPass>& passes) {
  BenchPass all;
  for (const BenchPass& pass : passes) {
    if (all.batches == 0) all.epoch = pass.epoch;
    all.samples += pass.samples, all.batches += pass.batches, all.bytes += pass.bytes;
    all.first_batch_samples += pass.first_batch_samples, all.first_batch_seconds += pass.first_batch_seconds;
    all.seconds += pass.seconds;
    all.batch_seconds.insert(all.batch_seconds.end(), pass.batch_seconds.begin(), pass.batch_seconds.end());
    all.complete = pass.complete;
  }
  return all;
}

std::uint64_t usual_batch(const Loader& loader) {
  const BatchChoice& batch = loader.options().batch;
  return std::holds_alternative<Samples>(batch) || std::holds_alternative<GlobalSamples>(batch) ? loader.batch_rows()
                                                                                                : 0;
}

std::vector<BenchPass> time_epochs(Loader& loader, const BenchOptions& options,
                                   const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  std::vector<BenchPass> passes;
  const std::uint64_t most = options.max_batches == 0 ? ~std::uint64_t{0} : options.max_batches;
  std::uint64_t epoch_samples = loader.dataset().size();
  if (const std::uint64_t batch = usual_batch(loader); batch > 0 && epoch_samples / batch >= most)
    epoch_samples = most * batch;
  std::uint64_t done = 0;
  const auto tick = [&] {
    if (progress && !progress(done, epoch_samples * options.epochs))
      throw Error(ErrorCode::kCancelled, "stopped before the end");
  };
  const std::uint64_t start = now_ns();
  std::uint64_t last_tick = start;
  for (bool stopped = false; !stopped && passes.size() < options.epochs;) {
    BenchPass pass;
    const std::uint64_t epoch_start = now_ns();
    Loader::Epoch epoch = loader.epoch();
    pass.epoch = epoch.number();
    std::uint64_t before = epoch_start;
    while (!stopped) {
      if (pass.batches == most) {
        pass.complete = true;
        break;
      }
      while (!epoch.wait(kBenchTick)) tick();
      const std::optional<Batch> batch = epoch.next();
      if (!batch) {
        pass.complete = true;
        break;
      }
      const std::uint64_t now = now_ns();
      if (pass.batches++ == 0)
        pass.first_batch_seconds = seconds_between(epoch_start, now), pass.first_batch_samples = batch->rows();
      else
        pass.batch_seconds.push_back(seconds_between(before, now));
      before = now;
      pass.samples += batch->rows(), done += batch->rows();
      for (std::size_t i = 0; i < batch->fields().size(); ++i) pass.bytes += batch->array(i).size_bytes();
      if (now - last_tick > static_cast<std::uint64_t>(std::chrono::nanoseconds(kBenchTick).count()))
        tick(), last_tick = now;
      stopped = options.max_seconds > 0 && pass.batches >= kLeastBatches &&
                seconds_between(start, now) >= options.max_seconds;
    }
    pass.seconds = seconds_between(epoch_start, now_ns());
    passes.push_back(std::move(pass));
  }
  return passes;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Json pass_json(const BenchPass& pass) {
  const std::vector<double>& waits = pass.batch_seconds;
  Json batch_ms = nullptr;
  if (!waits.empty()) {
    const double sum = std::accumulate(waits.begin(), waits.end(), 0.0);
    batch_ms = {{"mean", sum / static_cast<double>(waits.size()) * 1e3},
                {"p50", percentile(waits, 0.5) * 1e3},
                {"p99", percentile(waits, 0.99) * 1e3},
                {"max", *std::max_element(waits.begin(), waits.end()) * 1e3}};
  }
  return {{"samples", pass.samples},
          {"batches", pass.batches},
          {"seconds", pass.seconds},
          {"first_batch_samples", pass.first_batch_samples},
          {"first_batch_seconds", pass.first_batch_seconds},
          {"samples_per_second", pass.samples_per_second()},
          {"batch_ms", std::move(batch_ms)},
          {"complete", pass.complete}};
}

}  // namespace headrace
