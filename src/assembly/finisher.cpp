#include "assembly/finisher.h"

#include <algorithm>

namespace headrace {

std::optional<RowFailure> finish_task(const Finisher& finisher, const FilledBatch& batch, std::uint32_t task) {
  const Finishing finishing = finisher.finishing();
  const auto rows = static_cast<std::uint32_t>(batch.samples.size());
  if (task >= finishing.sample_tasks(rows)) {
    if (Status done = finisher.finish_batch(batch); !done.ok()) return RowFailure{{0, rows}, done.error()};
    return std::nullopt;
  }
  const std::uint32_t first = task * finishing.samples_per_task;
  for (std::uint32_t i = first; i < std::min(rows, first + finishing.samples_per_task); ++i)
    if (Status done = finisher.finish_sample(batch, i); !done.ok()) return RowFailure{{i, 1}, done.error()};
  return std::nullopt;
}

Status finish_all(const Finisher& finisher, const FilledBatch& batch) {
  const std::uint32_t tasks = finisher.finishing().tasks(static_cast<std::uint32_t>(batch.samples.size()));
  for (std::uint32_t task = 0; task < tasks; ++task)
    if (std::optional<RowFailure> failure = finish_task(finisher, batch, task)) return std::move(failure->error);
  return {};
}

}  // namespace headrace
