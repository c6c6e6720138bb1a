#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>

#include "exit_status.h"
#include "terminal.h"
#include "verbs.h"

namespace headrace::cli {
namespace {

struct TokenizeWords {
  std::vector<std::string> files;
  std::string memory, document = "file", bad_text = "error", format = "headrace";
  TokenizeArguments arguments;
  bool without_end = false, json = false, quiet = false;
};

template <class Value>
struct Word {
  const char* name;
  Value value;
};
constexpr Word<TextDocument> kDocuments[] = {{"file", TextDocument::kFile}, {"line", TextDocument::kLine}};
constexpr Word<BadText> kBadTexts[] = {
    {"error", BadText::kError}, {"replace", BadText::kReplace}, {"skip", BadText::kSkip}};
constexpr Word<TokenFormat> kFormats[] = {
    {"headrace", TokenFormat::kHeadrace}, {"megatron", TokenFormat::kMegatron}, {"nanogpt", TokenFormat::kNanogpt}};

std::vector<std::string> names_of(const auto& words) {
  std::vector<std::string> names;
  for (const auto& word : words) names.emplace_back(word.name);
  return names;
}

/// Return what a word stands for; CLI11 has seen that it is one of them.
auto value_of(const auto& words, const std::string& name) {
  return std::ranges::find_if(words, [&](const auto& word) { return name == word.name; })->value;
}

int run_tokenize(TokenizeWords words) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error like a full disk, not the end
  TokenizeOptions& options = words.arguments.options;
  options.document = value_of(kDocuments, words.document);
  options.bad_text = value_of(kBadTexts, words.bad_text);
  options.format = value_of(kFormats, words.format);
  options.end_of_text = !words.without_end;
  if (!words.memory.empty()) options.memory_bytes = parse_bytes(words.memory);
  bool announced = false;
  if (!words.quiet && !words.arguments.dry_run)
    words.arguments.announce = [&](const std::string& text) {
      announced = true;
      tell(text + "\n");
    };
  ProgressLine line("tokenising", ProgressLine::Unit::kBytes, !words.quiet);
  ToolResult result = tokenize_corpus(words.files, words.arguments, line.callback());
  const bool is_told = announced && stderr_is_terminal();  // the estimate stands above already
  if (is_told || (words.quiet && !words.arguments.dry_run)) result.text.erase(0, result.text.find("DONE"));
  return show_result(result, words.json);
}

}  // namespace

Verb add_tokenize(CLI::App& program) {
  const auto words = std::make_shared<TokenizeWords>();
  CLI::App* app =
      program.add_subcommand("tokenize", "Write the tokens of text files to files of tokens; exact, once, resumable");
  TokenizeArguments& arguments = words->arguments;
  TokenizeOptions& options = arguments.options;
  app->add_option("FILE", words->files, "Files or globs: .txt, .jsonl, .ndjson, each also .gz or .zst")->required();
  app->add_option("--tokenizer", arguments.tokenizer,
                  "A name (gpt2, cl100k_base), a tokenizer.json, a .tiktoken file, or a folder with either")
      ->required();
  app->add_option("--to", arguments.to, "Folder of the tokens; for nanogpt and megatron a .bin file")->required();
  app->add_option("--format", words->format, "headrace, megatron or nanogpt")
      ->check(CLI::IsMember(names_of(kFormats)))
      ->capture_default_str();
  app->add_option("--field", options.field, "Key of the text in a line of JSON, or a JSON Pointer: /meta/text")
      ->capture_default_str();
  app->add_option("--document", words->document, "What a document is in .txt files: file or line")
      ->check(CLI::IsMember(names_of(kDocuments)))
      ->capture_default_str();
  app->add_option("--bad-text", words->bad_text, "Damaged text: error, replace (bytes that are no UTF-8) or skip")
      ->check(CLI::IsMember(names_of(kBadTexts)))
      ->capture_default_str();
  app->add_option("--grammar", arguments.tokenizer_options.grammar,
                  "How a .tiktoken file divides text: gpt2, cl100k or llama3");
  app->add_option("--dtype", options.dtype, "Type of a token: u2 or u4; by default what the vocabulary needs");
  CLI::Option* const without =
      app->add_flag("--no-end-of-text", words->without_end, "Write no end of text behind documents");
  app->add_option("--end-of-text", options.end_of_text_word,
                  "The word behind each document, where it is not the tokenizer's <|endoftext|>, </s> or its like")
      ->check(CLI::Validator([](const std::string& word) { return word.empty() ? "an empty word ends no text" : ""; },
                             "WORD"))
      ->excludes(without);
  app->add_option("--shard-tokens", options.shard_tokens, "Tokens of a file in the folder")->capture_default_str();
  app->add_option("--memory", words->memory, "Most memory to hold, for example 2GiB");
  app->add_option("--threads", options.threads, "Threads; 0: as many as this process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app->add_flag("--dry-run", arguments.dry_run, "Say what it would take, and write nothing");
  app->add_flag("--restart", options.restart, "Begin anew where an earlier call was stopped");
  app->add_flag("--json", words->json, "Print JSON");
  app->add_flag("--quiet", words->quiet, "Show neither the estimate beforehand nor a progress line");
  app->footer(
      "Says beforehand what it takes, and asks nothing. After a kill, the same command goes on.\n\n"
      "Examples:\n  headrace tokenize 'corpus/*.jsonl.zst' --tokenizer gpt2 --to tokens/\n"
      "  headrace tokenize notes.txt --tokenizer tokenizer.json --to notes.bin --format nanogpt\n"
      "  headrace tokenize 'c4/*.json.gz' --tokenizer gpt2 --to c4 --format megatron --field text --threads 8");
  return {app, &words->json, [words] { return run_tokenize(*words); }};
}

}  // namespace headrace::cli
