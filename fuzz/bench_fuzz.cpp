// Reads arbitrary bytes as measurements of headrace bench: the report, and what became slower against a baseline. A
// report is itself such measurements, and the same again. The input: the measurements and, behind a zero byte, the
// baseline; without one they are their own.
#include <cstdlib>
#include <string>

#include "tools/bench/bench_baseline.h"
#include "tools/bench/bench_report.h"

namespace headrace {
namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

/// Return the summarised measurements; nothing for what is none.
Json summarised(const std::string& text) {
  auto bench = parse_bench(text);
  return bench.ok() ? std::move(*bench) : Json();
}

void read_report(const std::string& text) {
  ToolResult report;
  try {
    report = bench_report(text, {});
  } catch (const Error&) {
    expect(summarised(text).is_null());
    return;
  }
  const ToolResult again = bench_report(report.json, {});
  expect(again.json == report.json && again.text == report.text && again.markdown == report.markdown &&
         again.plot == report.plot);
}

void compare(const std::string& text, const std::string& baseline, bool is_itself) {
  Json now = summarised(text);
  const Json before = summarised(baseline);
  if (now.is_null() || before.is_null()) return;
  ToolResult result;
  compare_bench(now, before, {.baseline = {}, .max_slowdown_percent = 5}, result);
  const Json& found = now["baseline"];
  std::size_t slower = 0;
  for (const Json& one : found["compared"]) {
    const double then = one["before"].get<double>(), rate = one["now"].get<double>();
    expect(one["slower"] == (rate / then < 0.95 && one["change_percent"].get<double>() < -5));
    slower += one["slower"].get<bool>() ? 1 : 0;
    if (is_itself && now["contestants"].size() == 1) expect(rate == then);
  }
  expect(found["slower"].size() == slower && result.findings == (slower > 0));
  expect(!is_itself || found["differs"].empty());
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string text = input.substr(0, cut);
  headrace::read_report(text);
  headrace::compare(text, cut == std::string::npos ? text : input.substr(cut + 1), cut == std::string::npos);
  return 0;
}
