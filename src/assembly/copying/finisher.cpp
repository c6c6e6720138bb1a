#include "assembly/copying/finisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "base/memory/stream_copy.h"

namespace headrace {

namespace {

Error thrown(const Finisher& finisher, const std::string& what, const std::exception& e) {
  return {ErrorCode::kInternal, fmt::format("unexpected, in '{}' of {}: {}", finisher.identity(), what, e.what())};
}

std::optional<RowFailure> run_task(const Finisher& finisher, const FilledBatch& batch, std::uint32_t task) {
  const Finishing finishing = finisher.finishing();
  const auto rows = static_cast<std::uint32_t>(batch.samples.size());
  if (task >= finishing.sample_tasks(rows)) {
    try {
      if (Status done = finisher.finish_batch(batch); !done.ok()) return RowFailure{{0, rows}, done.error()};
    } catch (const std::exception& e) {
      return RowFailure{{0, rows}, thrown(finisher, "a batch", e)};
    }
    return std::nullopt;
  }
  const std::uint32_t first = task * finishing.samples_per_task;
  const std::uint32_t count = std::min(rows - first, finishing.samples_per_task);
  for (std::uint32_t i = first; i < first + count; ++i) try {
      if (Status done = finisher.finish_sample(batch, i); !done.ok()) return RowFailure{{i, 1}, done.error()};
    } catch (const std::exception& e) {
      return RowFailure{{i, 1}, thrown(finisher, fmt::format("sample {}", batch.sample_number(i)), e)};
    }
  return std::nullopt;
}

}  // namespace

std::optional<RowFailure> finish_task(const Finisher& finisher, const FilledBatch& batch, std::uint32_t task) {
  std::optional<RowFailure> failure = run_task(finisher, batch, task);
  finish_streaming();
  return failure;
}

Status finish_all(const Finisher& finisher, const FilledBatch& batch) {
  const std::uint32_t tasks = finisher.finishing().tasks(static_cast<std::uint32_t>(batch.samples.size()));
  for (std::uint32_t task = 0; task < tasks; ++task)
    if (std::optional<RowFailure> failure = finish_task(finisher, batch, task)) return std::move(failure->error);
  return {};
}

}  // namespace headrace
