// Reads arbitrary bytes as a run file, or as the configuration of a program that trains with Grain. What is written of
// the settings is a run file of the same settings, in whatever folder it lies.
#include <cstdlib>
#include <string>

#include "base/text/utf8.h"
#include "dataset/recipe/data_tree.h"
#include "tools/runs/run_file_text.h"

namespace headrace {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

void expect_same(const RunConfig& a, const RunConfig& b) {
  expect(flow_text(data_value(*a.data)) == flow_text(data_value(*b.data)));
  const LoaderSettings x = loader_settings(a), y = loader_settings(b);
  for (const Member& option : spec<LoaderSettings>().members()) expect(spec<LoaderSettings>().is_same(option, &x, &y));
  expect(a.loader.batch.index() == b.loader.batch.index() && a.loader.staged_batches == b.loader.staged_batches);
  expect(a.loader.order.shared()->index() == b.loader.order.shared()->index());
}

void read_input(const std::string& text) {
  const auto run = parse_run(text, "/runs/run.yaml");
  if (!run.ok()) return;
  if (!is_utf8(text)) return;  // YAML holds no other text
  const std::string written = run_file_text(*run);
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
