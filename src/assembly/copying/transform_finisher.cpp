#include "assembly/copying/transform_finisher.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace {
namespace {

/// Rows of a slot's array.
struct Rows {
  std::uint64_t first = 0, count = 1;
};

/// The rows that a sample has in the ragged fields of a batch, which are those of a map's first group.
Rows ragged_rows(const FilledBatch& batch, std::uint32_t position) {
  const std::vector<std::uint64_t>& starts = batch.starts[0];
  const std::uint64_t own =
      batch.lengths.empty() ? starts[position + 1] - starts[position] : batch.lengths[0][position];
  return {starts[position], own};
}

class TransformFinisher final : public Finisher {
 public:
  TransformFinisher(std::shared_ptr<const Program> program, double sample_rows) : program_(std::move(program)) {
    double bytes = 1;
    for (const Program::Staged& staged : program_->staged())
      for (const std::uint64_t row : staged.row_bytes)
        bytes += static_cast<double>(row) * (staged.is_ragged ? sample_rows : 1);
    if (!program_->staged().empty())
      finishing_.samples_per_task =
          static_cast<std::uint32_t>(std::clamp(static_cast<double>(kFinishingTaskBytes) / bytes, 1.0, 4096.0));
    finishing_.batch = !program_->mixed().empty();
  }
  std::string identity() const override { return {}; }  // the program's is part of a state already
  Finishing finishing() const override { return finishing_; }

  Status finish_sample(const FilledBatch& batch, std::uint32_t position) const override {
    std::vector<const std::byte*> columns;
    for (const Program::Staged& staged : program_->staged()) {
      columns.clear();
      const Rows rows = staged.is_ragged ? ragged_rows(batch, position) : Rows{position};
      for (std::size_t c = 0; c < staged.arrays.size(); ++c)
        columns.push_back(batch.fields[staged.arrays[c]] + rows.first * staged.row_bytes[c]);
      const std::uint64_t number = batch.sample_number(position);
      Status done =
          staged.program->run({batch.seed, batch.epoch, number}, columns, batch.fields.data(), rows.first, rows.count);
      if (!done.ok() && staged.is_ragged) return at_sample(done.error(), number);
      if (!done.ok()) return done;
    }
    return {};
  }

  Status finish_batch(const FilledBatch& batch) const override {
    std::vector<std::uint64_t> samples;
    for (std::size_t i = 0; i < batch.samples.size(); ++i) samples.push_back(batch.sample_number(i));
    std::vector<std::byte*> fields;
    for (const Program::Mixed& mixed : program_->mixed()) {
      fields.clear();
      for (const std::size_t array : mixed.arrays) fields.push_back(batch.fields[array]);
      Status done = mixed.kernel->run({batch.seed, batch.epoch, samples, fields});
      if (!done.ok()) return std::move(done.error().with_stage(mixed.text));
    }
    return {};
  }

 private:
  const std::shared_ptr<const Program> program_;
  Finishing finishing_;
};

}  // namespace

std::shared_ptr<const Finisher> make_transform_finisher(std::shared_ptr<const Program> program, double sample_rows) {
  if (program->staged().empty() && program->mixed().empty()) return nullptr;
  return std::make_shared<TransformFinisher>(std::move(program), sample_rows);
}

}  // namespace headrace
