// headrace: the command line. Results on stdout, everything else on stderr; exit statuses in exit_status.h.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <headrace/tools.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/text/nearest_name.h"
#include "exit_status.h"
#include "terminal.h"
#include "tools/json.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

std::string version_text(bool json) {
  if (json) {
    Json all;
    for (const auto& [name, version] : versions()) all[name] = version;
    return dump(all);
  }
  std::string text;
  for (const auto& [name, version] : versions())
    text += text.empty() ? fmt::format("{} {}", name, version) : fmt::format("\n  {:<18} {}", name, version);
  return text;
}

/// --batch_size is taken for --batch-size: both are written in run files and in Python.
std::vector<std::string> with_dashes(int argc, char** argv) {
  std::vector<std::string> arguments;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (text == "--") options = false;
    if (options && text.starts_with("--"))
      std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find('='), text.size())), '_',
                   '-');
    arguments.push_back(std::move(text));
  }
  return arguments;
}

/// What to give in place of an option that other loaders have; null: there is nothing.
const char* other_loaders_option(std::string_view name) {
  static constexpr std::pair<std::string_view, const char*> kInstead[] = {
      {"--num-workers", "Use --threads: C++ threads decode, and there are no worker processes. "},
      {"--num-threads", "Use --threads. "},
      {"--prefetch-factor", "Use --memory: the larger it is, the more batches are ready in advance. "},
      {"--read-chunk-size", "Not needed: the files' own chunks are decoded; --memory says how many bytes to hold. "},
      {"--max-cached-chunks", "Use --memory, or --cache for what is kept between epochs. "},
      {"--preload-to-ram", "Use --cache ram. "},
      {"--buffer-size", "Use --shuffle-buffer, in bytes of data that are mixed at any time. "}};
  const auto* const found = std::ranges::find(kInstead, name, [](const auto& pair) { return pair.first; });
  return found == std::end(kInstead) ? nullptr : found->second;
}

int usage_error(const std::string& message, const std::string& hint, bool json) {
  return show_error(Error(ErrorCode::kInvalidArgument, message).with_hint(hint), json);
}

std::string with_nearest(const std::string& word, const std::vector<std::string>& names, const std::string& rest) {
  const std::optional<std::string> meant = did_you_mean(word, names);
  return meant ? fmt::format("Did you mean {}? {}", *meant, rest) : rest;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// CLI11's words for what is wrong, with the nearest name where a name is wrong.
int parse_error(const CLI::App& program, const std::vector<Verb>& verbs, const std::vector<std::string>& arguments,
                const CLI::ParseError& error, bool json) {
  const CLI::App* chosen = &program;
  std::string words;  // "cache ls "
  for (const Verb& verb : verbs)
    if (verb.app->parsed()) chosen = verb.app;
  if (chosen != &program) words = chosen->get_name() + " ";
  if (chosen != &program && !chosen->get_subcommands().empty()) {
    chosen = chosen->get_subcommands().front();
    words += chosen->get_name() + " ";
  }
  const std::vector<std::string> names = option_names(*chosen);
  for (const std::string& text : arguments) {
    if (!text.starts_with("--") || text == "--") continue;
    const std::string name = text.substr(0, text.find('='));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string rest = fmt::format("headrace {}--help lists them.", words);
    const char* const instead = std::ranges::count(names, "--threads") > 0 ? other_loaders_option(name) : nullptr;
    if (instead != nullptr) return usage_error(fmt::format("there is no option {}", name), instead + rest, json);
    return usage_error(fmt::format("there is no option {}", name), with_nearest(name, names, rest), json);
  }
  return usage_error(error.what(), fmt::format("headrace {}--help shows how.", words), json);
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments = with_dashes(argc, argv);
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();

  CLI::App program("Training data as shuffled batches, from the files that you have.", "headrace");
  program.require_subcommand(0, 1);
  bool version = false, version_json = false;
  program.add_flag("--version", version, "Print the version, and those of the libraries");
  program.add_flag("--json", version_json, "Print JSON");
  const std::vector<Verb> verbs = {add_inspect(program),      add_verify(program), add_order(program),
                                   add_replay(program),       add_bench(program),  add_advise(program),
                                   add_check_memory(program), add_cache(program),  add_rewrite(program),
                                   add_tokenize(program),     add_demo(program)};
  program.footer(
      "Results go to stdout, progress to stderr. Exit status: 0 good, 1 findings, 2 usage, 3 bad data,\n"
      "4 out of resources, 130 interrupted; of check-memory: 0 fits, 10 tight, 11 would be killed.\n"
      "`headrace COMMAND --help` shows the options of a command.\n\n"
      "Examples:\n  headrace inspect 'train_*.h5'\n  headrace bench 'train_*.h5' --batch-size 512");

  std::vector<std::string> verb_names;
  for (const Verb& verb : verbs) verb_names.push_back(verb.app->get_name());
  const auto word =
      std::find_if(arguments.begin(), arguments.end(), [](const std::string& a) { return !a.starts_with('-'); });
  if (word == arguments.begin() && word != arguments.end() &&
      std::find(verb_names.begin(), verb_names.end(), *word) == verb_names.end())
    return usage_error(fmt::format("there is no command '{}'", *word),
                       with_nearest(*word, verb_names, fmt::format("There are: {}.", fmt::join(verb_names, ", "))),
                       json);

  if (arguments.size() > 1 && arguments[0] == "bench" && arguments[1] == "text")
    return usage_error("bench text runs tokenizers and loaders of Python, which this program cannot",
                       "The Python package's does: python -m headrace bench text, with the same options.", json);

  try {
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    say(program.help());
    return finish_stdout(kGood);
  } catch (const CLI::ParseError& error) {
    return parse_error(program, verbs, arguments, error, json);
  }
  if (version) {
    say(version_text(version_json) + "\n");
    return finish_stdout(kGood);
  }
  catch_interrupts();
  for (const Verb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    *verb.json = json;  // also when it was written before the verb
    try {
      return verb.run();
    } catch (const Error& error) {
      return show_error(error, *verb.json);
    } catch (const std::bad_alloc&) {
      return show_error(Error(ErrorCode::kOutOfBudget, "out of memory: the system refused an allocation")
                            .with_hint("Lower --memory or --threads."),
                        *verb.json);
    }
  }
  say(program.help());
  return finish_stdout(kUsage);
}

}  // namespace
}  // namespace headrace::cli

int main(int argc, char** argv) {
  headrace::cli::keep_standard_descriptors();
  try {
    return headrace::cli::run(argc, argv);
  } catch (const headrace::Error& error) {
    return headrace::cli::show_error(error, false);
  } catch (const std::exception& error) {
    return headrace::cli::show_error(headrace::Error(headrace::ErrorCode::kInternal, error.what()), false);
  }
}
