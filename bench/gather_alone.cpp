// The physical limit of small samples in memory: rows copied by a random permutation into batch buffers that are used
// again, with prefetch, and nothing else. The permutation is there before the clock starts.
//
// bench_gather_alone [--rows 1875381] [--row-bytes 128,8] [--batch-size 5632] [--threads 1] [--passes 10]
//                    [--prefetch 16]                                              prints one JSON object
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "pages.h"

namespace bench {
namespace {

struct Options {
  std::uint64_t rows = 1'875'381, batch_size = 5632, passes = 10, prefetch = 16;
  std::vector<std::size_t> row_bytes = {128, 8};  // of each field
  unsigned threads = 1;
};

constexpr std::size_t kLine = 64;

/// One field of one batch. `bytes` is a constant for common sizes, so that the copy is a few instructions.
template <typename Bytes>
void gather(const std::byte* from, std::byte* to, const std::uint32_t* rows, std::uint64_t count, std::uint64_t ahead,
            Bytes bytes) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* next = from + std::size_t{rows[i + ahead]} * bytes;  // the permutation has a tail for this
    for (std::size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(next + at);
    std::memcpy(to + i * bytes, from + std::size_t{rows[i]} * bytes, bytes);
  }
}

void gather_field(const std::byte* from, std::byte* to, const std::uint32_t* rows, std::uint64_t count,
                  std::uint64_t ahead, std::size_t bytes) {
  using std::integral_constant;
  switch (bytes) {
    case 8:
      return gather(from, to, rows, count, ahead, integral_constant<std::size_t, 8>{});
    case 128:
      return gather(from, to, rows, count, ahead, integral_constant<std::size_t, 128>{});
    default:
      return gather(from, to, rows, count, ahead, bytes);
  }
}

nlohmann::json measure(const Options& o) {
  std::vector<std::uint32_t> order(o.rows + o.prefetch);
  std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(o.rows), 0U);
  std::shuffle(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(o.rows), std::mt19937_64(7));
  std::vector<std::unique_ptr<Pages>> fields;
  std::size_t all_bytes = 0;
  for (const std::size_t bytes : o.row_bytes) {
    fields.push_back(std::make_unique<Pages>(o.rows * bytes));
    for (std::uint64_t row = 0; row < o.rows; ++row)
      std::memset(fields.back()->data() + row * bytes, static_cast<int>(row % 251), bytes);
    all_bytes += bytes;
  }
  std::vector<std::unique_ptr<Pages>> batches;
  for (unsigned t = 0; t < o.threads; ++t) batches.push_back(std::make_unique<Pages>(o.batch_size * all_bytes));

  const std::uint64_t per_pass = (o.rows + o.batch_size - 1) / o.batch_size;
  const auto run = [&](std::uint64_t passes) {
    std::atomic<std::uint64_t> next{0};
    const auto started = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < o.threads; ++t) {
        threads.emplace_back([&, to = batches[t]->data()] {
          for (std::uint64_t i = next++; i < passes * per_pass; i = next++) {
            const std::uint64_t first = i % per_pass * o.batch_size;
            const std::uint64_t count = std::min(o.batch_size, o.rows - first);
            std::byte* at = to;
            for (std::size_t f = 0; f < fields.size(); ++f) {
              gather_field(fields[f]->data(), at, order.data() + first, count, o.prefetch, o.row_bytes[f]);
              at += o.batch_size * o.row_bytes[f];
            }
          }
        });
      }
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  run(1);
  const double seconds = run(o.passes);
  const double rows = static_cast<double>(o.rows * o.passes);
  std::uint64_t sum = 0;
  for (const auto& batch : batches)
    for (std::size_t i = 0; i < batch->size(); ++i) sum += std::to_integer<std::uint64_t>(batch->data()[i]);
  return {{"rows", o.rows},
          {"passes", o.passes},
          {"threads", o.threads},
          {"row_bytes", o.row_bytes},
          {"prefetch", o.prefetch},
          {"seconds", seconds},
          {"checksum", sum},
          {"rows_per_s", rows / seconds},
          {"bytes_per_s", rows * static_cast<double>(all_bytes) / seconds}};
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app("Gathers rows that lie in memory, and nothing else");
  app.add_option("--rows", options.rows)->check(CLI::Range(1U, 1U << 31))->capture_default_str();
  app.add_option("--row-bytes", options.row_bytes, "Of each field")->delimiter(',')->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch-size", options.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--passes", options.passes)->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--prefetch", options.prefetch, "Rows ahead")->check(CLI::Range(0, 4096))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    std::puts(bench::measure(options).dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
