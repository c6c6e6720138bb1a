#include "assembly/transform_finisher.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace {
namespace {

constexpr std::uint64_t kTaskBytes = 256 << 10;  // some tens of microseconds

class TransformFinisher final : public Finisher {
 public:
  explicit TransformFinisher(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    std::uint64_t bytes = 1;
    for (const Program::Staged& staged : program_->staged())
      for (const std::uint64_t row : staged.row_bytes) bytes += row;
    if (!program_->staged().empty())
      finishing_.samples_per_task = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kTaskBytes / bytes, 1, 4096));
    finishing_.batch = !program_->mixed().empty();
  }
  std::string identity() const override { return {}; }  // the program's is part of a state already
  Finishing finishing() const override { return finishing_; }

  Status finish_sample(const FilledBatch& batch, std::uint32_t position) const override {
    std::vector<const std::byte*> columns;
    for (const Program::Staged& staged : program_->staged()) {
      columns.clear();
      for (std::size_t c = 0; c < staged.arrays.size(); ++c)
        columns.push_back(batch.fields[staged.arrays[c]] + position * staged.row_bytes[c]);
      HEADRACE_TRY(staged.program->run({batch.seed, batch.epoch, batch.sample_number(position)}, columns,
                                       batch.fields.data(), position));
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

std::shared_ptr<const Finisher> make_transform_finisher(std::shared_ptr<const Program> program) {
  if (program->staged().empty() && program->mixed().empty()) return nullptr;
  return std::make_shared<TransformFinisher>(std::move(program));
}

}  // namespace headrace
