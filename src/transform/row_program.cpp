#include "transform/row_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page_buffer.h"
#include "base/stream_copy.h"

namespace headrace {
namespace {

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

RowProgram::RowProgram(std::vector<Value> values, std::vector<Step> steps, std::size_t scratch_bytes)
    : values_(std::move(values)), steps_(std::move(steps)), scratch_bytes_(scratch_bytes) {
  for (const Step& step : steps_) most_arguments_ = std::max({most_arguments_, step.in.size(), step.out.size()});
}

std::size_t RowProgram::lead_array() const {
  for (const Step& step : steps_)
    for (const std::size_t value : step.out)
      if (values_[value].where == Value::Where::kArray) return values_[value].index;
  return 0;
}

Status RowProgram::run(const SampleKey& key, std::span<const std::byte* const> columns, std::byte* const* arrays,
                       std::uint64_t position) const {
  std::byte* const scratch = scratch_bytes_ == 0 ? nullptr : scratch_of(scratch_bytes_);
  const auto place = [&](const Value& value) {
    return value.where == Value::Where::kArray ? arrays[value.index] + position * value.bytes : scratch + value.index;
  };
  Arguments& arguments = arguments_of(most_arguments_);
  const std::byte** const in = arguments.in.data();
  std::byte** const out = arguments.out.data();
  for (const Step& step : steps_) {
    bool is_last = true;
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      const Value& value = values_[step.in[i]];
      in[i] = value.where == Value::Where::kColumn ? columns[value.index] : place(value);
    }
    for (std::size_t i = 0; i < step.out.size(); ++i) {
      const Value& value = values_[step.out[i]];
      out[i] = place(value);
      is_last = is_last && value.where == Value::Where::kArray;
    }
    if (!step.kernel) {
      copy_run(out[0], in[0], values_[step.out[0]].bytes);
      continue;
    }
    Status done = step.kernel->run({key, {in, step.in.size()}, {out, step.out.size()}, is_last});
    if (!done.ok()) return std::move(done.error().with_stage(fmt::format("{}, sample {}", step.text, key.sample)));
  }
  return {};
}

}  // namespace headrace
