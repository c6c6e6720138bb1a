#include "loader_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "loader/options/loader_settings.h"
#include "tools/runs/run_file_text.h"

namespace headrace::cli {
namespace {

constexpr std::uint64_t kBatchSize = 512;  // where neither the command line nor a run file says

std::string flag_of(const std::string& option) {
  std::string flag = "--" + option;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

FieldChoice field_choice(const std::string& text, std::string_view flag = "--fields") {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, text};
  if (equals == 0 || equals + 1 == text.size())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{} {}: NAME=PATH or PATH is expected", flag, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

bool is_run_file(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

CLI::Validator above_zero(bool or_zero) {
  const auto check = [or_zero](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && (number > 0 || (or_zero && number == 0))) return "";
    return fmt::format("must be {} 0, not {}", or_zero ? "at least" : "above", text);
  };
  return {check, or_zero ? "NONNEGATIVE" : "POSITIVE"};
}

void LoaderArguments::add_to(CLI::App& app) {
  app.add_option("FILE", files, "Files or globs, or one run file (.yaml)")->required();
  app.add_option("--fields", fields,
                 "NAME=PATH or PATH, comma separated, PATH also FILES::PATH; default: all arrays of the common length")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--sample-axes", sample_axes, "So many first axes count samples (default 1)")->check(above_zero());
  app.add_option("--broadcast", broadcast, "NAME=PATH of an array with fewer of them, repeated along the others")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  for (const Member& option : spec<LoaderSettings>().members()) {
    if (!option.is_on_command_line || option.name == "shuffle") continue;
    const std::string name(option.name);
    std::string help(option.doc);
    if (name == "batch_size") help += fmt::format(" (default {})", kBatchSize);
    if (option.type == &value_type<bool>)
      app.add_flag_function(
          flag_of(name), [this, name](std::int64_t times) { given[name] = times > 0 ? "true" : "false"; }, help);
    else
      app.add_option_function<std::string>(
          flag_of(name), [this, name](const std::string& text) { given[name] = text; }, help);
  }
  app.add_flag_function(
      "--shuffle,!--no-shuffle", [this](std::int64_t times) { shuffle = times > 0; },
      "Shuffle (default), or read the files in order");
  app.add_flag("--exact", exact, "Shuffle by one permutation of all rows");
}

DataTree LoaderArguments::with_choices(const DataNode& data) const {
  const FilesNode* const source = options_of<FilesNode>(source_of(data));
  if (!source)
    throw Error(ErrorCode::kInvalidArgument,
                "--fields, --sample-axes and --broadcast choose arrays of files with rows, and the run file has others")
        .with_hint("Write them into the run file, where its data are.");
  FilesNode made = *source;
  if (!fields.empty()) made.options = {};  // paths on the command line begin where the program was started
  for (const std::string& field : fields) made.options.fields.push_back(field_choice(field));
  if (sample_axes != 0) made.options.sample_axes = sample_axes;
  if (!broadcast.empty()) made.options.broadcast.clear();
  for (const std::string& field : broadcast) {
    FieldChoice choice = field_choice(field, "--broadcast");
    made.options.broadcast.push_back({std::move(choice.name), std::move(choice.path)});
  }
  return with_source(data, node_of(std::move(made)));
}

RunConfig LoaderArguments::config() const {
  RunConfig run;
  if (is_run_file(files.front())) {
    if (files.size() > 1)
      throw Error(ErrorCode::kInvalidArgument, "give one run file, or data files, but not both")
          .with_file(files.front());
    run = load_run(files.front());
    for (const std::string& line : run.became) std::fprintf(stderr, "note: %s\n", line.c_str());
  } else {
    run.data = tree_of(files);
    run.loader.batch = Samples{kBatchSize};
    run.loader.order = BlockShuffle{};
  }
  if (!fields.empty() || sample_axes != 0 || !broadcast.empty()) run.data = with_choices(*run.data);
  LoaderSettings settings = loader_settings(run);
  ValueMap over;  // given goes before what excludes it
  for (const auto& [name, text] : given) over.push_back({name, {text, true}, 0});
  if (exact || shuffle)
    over.push_back({"shuffle", {std::string(exact ? "exact" : *shuffle ? "true" : "false"), true}, 0});
  for (const std::string_view name : options_replaced_by(over))
    spec<LoaderSettings>().reset(*spec<LoaderSettings>().find(name), &settings);
  for (const auto& [name, text] : given) {
    const Member& option = *spec<LoaderSettings>().find(name);
    const At at{nullptr, flag_of(name)};
    spec<LoaderSettings>().read_member(option, {text, true}, at, &settings).value();
  }
  if (settings.options.world_size && !settings.options.rank) settings.options.rank = 0;
  if (exact && shuffle == false)
    throw Error(ErrorCode::kInvalidArgument, "--exact and --no-shuffle contradict each other");
  if (shuffle) settings.shuffle = *shuffle ? ShuffleWord::kBlock : ShuffleWord::kNone;
  if (exact) settings.shuffle = ShuffleWord::kExact;
  settle(settings).value();
  run.loader = settings.options;
  return run;
}

}  // namespace headrace::cli
