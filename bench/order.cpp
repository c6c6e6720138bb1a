// What the order itself costs: time until the first step of an epoch is planned, and of one resumed in its middle; time
// a sample; memory; and how well it mixes. No file is read: blocks are made up.
//
// bench_order [--rows 1000000000] [--blocks 1000000] [--files 1000] [--unequal] [--batch-size 512]
//             [--row-bytes 256] [--samples 20000000]                           prints one JSON object
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/random/philox.h"
#include "loader/position.h"
#include "order/quality.h"
#include "order/sampler.h"

namespace bench {
namespace {

using headrace::BlockTable;
using headrace::Sampler;
using headrace::SampleRef;

struct Options {
  std::uint64_t rows = 1'000'000'000, blocks = 1'000'000, files = 1000, batch_size = 512, row_bytes = 256,
                samples = 20'000'000;
  bool unequal = false;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A line of /proc/self/status in KiB. ru_maxrss would be the parent's where that was larger: exec keeps it.
std::int64_t status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1));
  throw std::runtime_error("/proc/self/status has no " + key);
}

/// Peak resident memory while something is done, above what is resident now.
std::int64_t above_kib(const std::function<void()>& work) {
  ::malloc_trim(0);                               // else it would be served from what others freed
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts anew
  const std::int64_t before = status_kib("VmRSS");
  work();
  return status_kib("VmHWM") - before;
}

/// Files of equal length in equal blocks; or of lengths that differ by a factor of ten, and blocks by one of four.
std::vector<BlockTable::FileBlocks> files_of(const Options& o) {
  std::vector<BlockTable::FileBlocks> files;
  headrace::KeyedRandom random(headrace::RandomKey::of({1}));
  const std::uint64_t rows = o.rows / o.files, block = std::max<std::uint64_t>(o.rows / o.blocks, 1);
  for (std::uint64_t f = 0; f < o.files; ++f)
    files.push_back(o.unequal
                        ? BlockTable::FileBlocks{rows / 6 + random.below(rows * 5 / 3), block / 2 + random.below(block)}
                        : BlockTable::FileBlocks{rows, block});
  return files;
}

nlohmann::json measure(const std::string& name, const std::function<std::unique_ptr<Sampler>()>& make,
                       const BlockTable& blocks, const Options& o) {
  using nlohmann::json;
  std::unique_ptr<Sampler> sampler;
  std::vector<SampleRef> out;
  std::vector<headrace::BlockRows> passed;
  const auto first_step = [&](std::uint64_t position) {
    const auto cursor = sampler->cursor({.epoch = 3, .position = position, .global_batch = o.batch_size});
    out.clear(), passed.clear();
    cursor->next_step(out, passed);
  };
  json result{{"order", name}};
  result["above_kib"] = above_kib([&] {
    result["ready_seconds"] = seconds_of([&] {
      sampler = make();
      first_step(0);
    });
    result["resume_seconds"] = seconds_of([&] { first_step(blocks.num_rows() / 2); });
  });
  const std::uint64_t steps = std::min(o.samples, blocks.num_rows()) / o.batch_size;
  const auto cursor = sampler->cursor({.epoch = 1, .global_batch = o.batch_size});
  std::uint64_t sum = 0;
  const double seconds = seconds_of([&] {
    for (std::uint64_t s = 0; s < steps; ++s) {
      out.clear(), passed.clear();
      cursor->next_step(out, passed);
      sum += out[0].row;
    }
  });
  result["ns_a_sample"] = seconds * 1e9 / static_cast<double>(steps * o.batch_size);
  result["checksum"] = sum;
  const headrace::OrderQuality q = headrace::measure_order(*sampler, blocks, o.batch_size, {}, 0, 1024);
  result["deff_block"] = q.block_effect;
  result["deff_file"] = q.file_effect;
  headrace::LoaderState state;
  state.rows = blocks.num_rows();
  state.order = sampler->identity();
  state.seed = 7;
  state.global_batch = o.batch_size;
  state.position = {12, blocks.num_rows() / 2};
  result["state_bytes"] = state.json().size();
  return result;
}

void run(const Options& o) {
  using nlohmann::json;
  json result{{"rows", o.rows}, {"batch_size", o.batch_size}, {"unequal", o.unequal}};
  std::shared_ptr<const BlockTable> blocks;
  result["table_kib"] = above_kib(
      [&] { result["table_seconds"] = seconds_of([&] { blocks = std::make_shared<BlockTable>(files_of(o)); }); });
  result["rows"] = blocks->num_rows();
  result["blocks"] = blocks->num_blocks();
  const auto shape = headrace::default_shuffle(*blocks, o.batch_size, o.row_bytes);
  result["mixed_rows"] =
      shape ? shape->mixed_blocks() * (blocks->num_rows() / blocks->num_blocks()) : blocks->num_rows();
  json orders = json::array();
  orders.push_back(measure(
      "block",
      [&] {
        return shape ? headrace::make_block_shuffle(blocks, *shape, 7) : headrace::make_global_shuffle(blocks, 7);
      },
      *blocks, o));
  orders.push_back(measure(
      "exact", [&] { return headrace::make_global_shuffle(blocks, 7); }, *blocks, o));
  orders.push_back(measure(
      "files", [&] { return headrace::make_sequential(blocks); }, *blocks, o));
  result["order"] = shape ? headrace::block_order_text(*shape) : "exact";
  result["orders"] = orders;
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  CLI::App app("What the order itself costs");
  bench::Options options;
  app.add_option("--rows", options.rows)->check(CLI::PositiveNumber);
  app.add_option("--blocks", options.blocks)->check(CLI::PositiveNumber);
  app.add_option("--files", options.files)->check(CLI::PositiveNumber);
  app.add_option("--batch-size", options.batch_size)->check(CLI::PositiveNumber);
  app.add_option("--row-bytes", options.row_bytes)->check(CLI::PositiveNumber);
  app.add_option("--samples", options.samples)->check(CLI::PositiveNumber);
  app.add_flag("--unequal", options.unequal);
  CLI11_PARSE(app, argc, argv);
  bench::run(options);
  return 0;
}
