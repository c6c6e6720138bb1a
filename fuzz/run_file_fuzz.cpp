// Reads arbitrary bytes as a run file, or as the configuration of a program that trains with Grain. What is written of
// the settings is a run file of the same settings, in whatever folder it lies.
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/utf8.h"
#include "loader/options_table.h"
#include "tools/run_file_text.h"

namespace headrace {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

bool is_same(const auto& a, const auto& b, const auto& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Return a path with the FILES of a "FILES::PATH" where they lie.
std::string resolved(const std::string& path, const OpenOptions& open) {
  const std::size_t end = path.find("::");
  const auto known = open.companion_files.find(path.substr(0, end));
  return end == std::string::npos || known == open.companion_files.end() ? path
                                                                         : known->second.at(0) + path.substr(end);
}

void expect_same_fields(const RunConfig& a, const RunConfig& b) {
  const auto same = [&](const auto& x, const auto& y) {
    return x.name == y.name && resolved(x.path, a.open) == resolved(y.path, b.open);
  };
  expect(is_same(a.open.fields, b.open.fields, same));
  expect(is_same(a.open.targets, b.open.targets, same));
  expect(is_same(a.open.broadcast, b.open.broadcast, same));
  expect(a.open.sample_axes == b.open.sample_axes && a.open.nulls == b.open.nulls);
  expect(a.open.sample_by.has_value() == b.open.sample_by.has_value());
  if (!a.open.sample_by) return;
  const SampleBy &x = *a.open.sample_by, &y = *b.open.sample_by;
  expect(resolved(x.key, a.open) == resolved(y.key, b.open) && x.column == y.column);
  expect(resolved(x.offsets, a.open) == resolved(y.offsets, b.open) && x.meta == y.meta);
  expect(x.first == y.first && x.last == y.last && x.end == y.end && x.file == y.file);
  expect(x.file_template == y.file_template);
}

void expect_same_patches(const PatchOptions& a, const PatchOptions& b) {
  expect(a.shape == b.shape && a.samples_per_epoch == b.samples_per_epoch && a.stride == b.stride);
  expect(a.edge == b.edge && a.skip_small == b.skip_small && a.draws == b.draws);
  expect(a.fill == b.fill || (std::isnan(a.fill) && std::isnan(b.fill)));
  expect(is_same(a.balance, b.balance, [](const PatchClass& x, const PatchClass& y) {
    return x.array == y.array && x.value.has_value() == y.value.has_value() &&
           (!x.value || x.value->text() == y.value->text());
  }));
  expect(is_same(a.context, b.context, [&](const PatchContext& x, const PatchContext& y) {
    return x.array == y.array && (x.shape.empty() ? a.shape : x.shape) == (y.shape.empty() ? b.shape : y.shape);
  }));
}

void expect_same(const RunConfig& a, const RunConfig& b) {
  expect(a.files == b.files);
  expect_same_fields(a, b);
  expect(a.patches.has_value() == b.patches.has_value());
  if (a.patches) expect_same_patches(*a.patches, *b.patches);
  expect(a.windows.has_value() == b.windows.has_value() && a.tokens.has_value() == b.tokens.has_value());
  if (a.windows)
    expect(a.windows->length == b.windows->length && a.windows->stride == b.windows->stride &&
           a.windows->lookahead == b.windows->lookahead && a.windows->across_files == b.windows->across_files);
  if (a.tokens)
    expect(a.tokens->dtype == b.tokens->dtype && a.tokens->vocab_size == b.tokens->vocab_size &&
           a.tokens->check == b.tokens->check);
  const LoaderSettings x{a.loader, a.framework, a.device, a.batch_format, {}, {}},
      y{b.loader, b.framework, b.device, b.batch_format, {}, {}};
  for (const LoaderOption& option : loader_options())
    if (option.get) expect(option.get(x) == option.get(y));
  expect(a.loader.shuffle == b.loader.shuffle && a.loader.staged_batches == b.loader.staged_batches);
  expect(a.loader.group_by.has_value() == b.loader.group_by.has_value());
}

void read_input(const std::string& text) {
  const auto run = parse_run(text, "/runs/run.yaml");
  if (!run.ok()) return;
  const std::string written = run_file_text(*run);
  if (!is_utf8(text) || written.find("\uFFFD") != std::string::npos) return;  // JSON and YAML hold no other text
  const auto again = parse_run(written, "/elsewhere/run.yaml");
  expect(again.ok());
  expect_same(*run, *again);
  expect(run_file_text(*again) == written);
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::read_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
