#include "transform/row_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory/page_buffer.h"
#include "base/memory/stream_copy.h"

namespace headrace {
namespace {

constexpr std::uint64_t kTileBytes = 16 << 10;  // half of the smallest first cache: other things are there too
constexpr std::uint64_t kMostTileRows = 1024;

/// Where the values of one step lie. A thread has one, as large as any program of its needed.
struct Arguments {
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
};
Arguments& arguments_of(std::size_t count) {
  thread_local Arguments arguments;
  if (arguments.in.size() < count) arguments.in.resize(count);
  if (arguments.out.size() < count) arguments.out.resize(count);
  return arguments;
}

/// What lies between two transforms, of this thread.
std::byte* scratch_of(std::size_t bytes) {
  thread_local std::vector<std::byte> memory;
  constexpr std::size_t kAlign = 64;
  if (memory.size() < bytes + kAlign) memory.resize(bytes + kAlign);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kAlign - address % kAlign) % kAlign;
}

}  // namespace

RowProgram::RowProgram(std::vector<Value> values, std::vector<Step> steps, std::size_t scratch_bytes, bool takes_rows)
    : values_(std::move(values)), steps_(std::move(steps)), scratch_bytes_(scratch_bytes), takes_rows_(takes_rows) {
  for (const Step& step : steps_) most_arguments_ = std::max({most_arguments_, step.in.size(), step.out.size()});
  std::uint64_t bytes = 1;
  for (const Value& value : values_) bytes += value.bytes;
  if (takes_rows_)
    tile_rows_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(kTileBytes / bytes, 1, kMostTileRows));
}

std::size_t RowProgram::lead_array() const {
  for (const Step& step : steps_)
    for (const std::size_t value : step.out)
      if (values_[value].where == Value::Where::kArray) return values_[value].index;
  return 0;
}

Status RowProgram::run(const SampleKey& key, std::span<const std::byte* const> columns, std::byte* const* arrays,
                       std::uint64_t position, std::uint64_t rows) const {
  for (std::uint64_t done = 0; done < rows; done += tile_rows_)
    HEADRACE_TRY(
        run_tile(key, columns, done, arrays, position + done, std::min<std::uint64_t>(rows - done, tile_rows_)));
  return {};
}

Status RowProgram::run_tile(const SampleKey& key, std::span<const std::byte* const> columns, std::uint64_t first_row,
                            std::byte* const* arrays, std::uint64_t position, std::uint64_t rows) const {
  std::byte* const scratch = scratch_bytes_ == 0 ? nullptr : scratch_of(scratch_bytes());
  const auto place = [&](const Value& value) {
    return value.where == Value::Where::kArray ? arrays[value.index] + position * value.bytes
                                               : scratch + value.index * tile_rows_;
  };
  Arguments& arguments = arguments_of(most_arguments_);
  const std::byte** const in = arguments.in.data();
  std::byte** const out = arguments.out.data();
  for (const Step& step : steps_) {
    bool is_last = true;
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      const Value& value = values_[step.in[i]];
      in[i] = value.where == Value::Where::kColumn ? columns[value.index] + first_row * value.bytes : place(value);
    }
    for (std::size_t i = 0; i < step.out.size(); ++i) {
      const Value& value = values_[step.out[i]];
      out[i] = place(value);
      is_last = is_last && value.where == Value::Where::kArray;
    }
    if (!step.kernel) {
      copy_run(out[0], in[0], values_[step.out[0]].bytes * rows);
      continue;
    }
    Status done = step.kernel->run({key, {in, step.in.size()}, {out, step.out.size()}, is_last, rows});
    if (!done.ok())  // the caller knows whose rows they are
      return std::move(
          done.error().with_stage(takes_rows_ ? step.text : fmt::format("{}, sample {}", step.text, key.sample)));
  }
  return {};
}

Error at_sample(const Error& error, std::uint64_t sample) {
  return Error(error.code(), error.message())
      .with_field(error.field())
      .with_stage(fmt::format("{}, sample {}", error.stage(), sample))
      .with_hint(error.hint());
}

}  // namespace headrace
