#include "loader_options.h"

#include <fmt/format.h>
#include <headrace/base/bytes.h>

namespace headrace::cli {
namespace {

constexpr std::uint64_t kBatchSize = 512;  // where neither the command line nor a run file says

bool is_run_file(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

FieldChoice field_choice(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, text};
  if (equals == 0 || equals + 1 == text.size())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("--fields {}: NAME=PATH or PATH is expected", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void LoaderArguments::add_to(CLI::App& app) {
  app.add_option("FILE", files, "Files or globs, or one run file (.yaml)")->required();
  app.add_option("--fields", fields, "NAME=PATH or PATH, comma separated; default: all that fit together")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--batch-size", batch_size, fmt::format("Samples a batch, on each rank (default {})", kBatchSize))
      ->check(CLI::PositiveNumber);
  app.add_option("--world-size", world_size, "Data-parallel ranks")->check(CLI::PositiveNumber);
  app.add_option("--rank", rank, "As this rank of them, from 0 (default 0)")->needs("--world-size");
  app.add_option("--threads", threads, "Decode threads (default: as many as this process may use)")
      ->check(CLI::Range(0, 4096));
  app.add_option("--memory", memory, "Most bytes to hold, for example 2GiB (default: 60 % of what is free)");
  app.add_option("--cache", cache, "What stays of decoded data: auto (default), none, ram, or a DIRECTORY");
  app.add_flag_function(
      "--shuffle,!--no-shuffle", [this](std::int64_t times) { shuffle = times > 0; },
      "Shuffle (default), or go through the files in order");
  app.add_flag("--exact", exact, "Shuffle by one permutation of all rows");
  app.add_option("--mix", mix, "How much the shuffle mixes at any time, for example 1GiB");
  app.add_option("--seed", seed, "Seed of the order (default 0)");
}

RunConfig LoaderArguments::config() const {
  RunConfig run;
  if (is_run_file(files.front())) {
    if (files.size() > 1)
      throw Error(ErrorCode::kInvalidArgument, "give one run file, or data files, but not both")
          .with_file(files.front());
    run = load_run(files.front());
  } else {
    run.files = files;
    run.loader.batch_size = kBatchSize;
    run.loader.shuffle = true;
  }
  if (!fields.empty()) {
    run.open.fields.clear();
    for (const std::string& field : fields) run.open.fields.push_back(field_choice(field));
  }
  if (batch_size) run.loader.batch_size = *batch_size, run.loader.global_batch_size = 0;
  if (seed) run.loader.seed = *seed;
  if (threads) run.loader.threads = *threads;
  if (memory) run.loader.memory = parse_bytes(*memory);
  if (cache) run.loader.cache = CacheChoice::parse(*cache);
  if (mix) run.loader.mix = {0, 0, parse_bytes(*mix)};
  if (shuffle) run.loader.shuffle = *shuffle;
  if (exact && shuffle == false)
    throw Error(ErrorCode::kInvalidArgument, "--exact and --no-shuffle contradict each other");
  if (exact) run.loader.shuffle = Shuffle::kExact;
  if (world_size) {
    run.loader.rank = rank.value_or(0);
    run.loader.world_size = *world_size;
  }
  return run;
}

}  // namespace headrace::cli
