#include "tokenizer/vocabulary/open_vocabulary.h"

#include <fmt/format.h>

#include "base/checksum/sha256.h"
#include "storage/file_system.h"
#include "tokenizer/vocabulary/vocabulary_text.h"

namespace headrace::tokenizing {
namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;

/// Read a whole file. \param sha256  What it must have; empty: any.
Result<std::string> read_text(const std::string& path, std::string_view sha256 = {}) {
  HEADRACE_ASSIGN(const auto file, FileSystem::of(path).open(path));
  if (file->size() > kMostFileBytes)
    return Error(ErrorCode::kUnsupported, "a vocabulary of more than 1 GiB is not read").with_file(path);
  std::string text(file->size(), '\0');
  HEADRACE_TRY(file->read_at(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  if (const std::string found = sha256.empty() ? "" : sha256_hex(text); found != sha256)
    return Error(ErrorCode::kCorruptData,
                 fmt::format("this is not the file that its name says: its SHA-256 is {}, that of the file is "
                             "{}",
                             found, sha256))
        .with_file(path)
        .with_stage("vocabulary")
        .with_hint(
            "A download that was cut off? Remove it and fetch it again; a vocabulary of your "
            "own is opened by its path.");
  return text;
}

/// A vocabulary with its name, or the error with its file.
Result<Vocabulary> finished(Result<Vocabulary> parsed, const std::string& path, const std::string& name) {
  if (!parsed.ok()) return std::move(parsed.error().with_file(path).with_stage("vocabulary"));
  parsed->name = name;
  return parsed;
}

/// The last part of a path, or the one before it.
std::string part_of(const std::string& path, bool folder) {
  std::string full = FileSystem::of(path).absolute(path);
  if (folder) full.resize(full.rfind('/') == std::string::npos ? 0 : full.rfind('/'));
  return full.substr(full.rfind('/') == std::string::npos ? 0 : full.rfind('/') + 1);
}

struct KnownRanks {
  const char* name;
  std::size_t count;  ///< Number of ranks, without special words.
  Grammar grammar;
  std::map<std::string, std::uint32_t> special;
};

const KnownRanks* known_ranks(const std::string& name) {
  static const std::vector<KnownRanks> known = {
      {"gpt2", 50256, Grammar::kGpt2, {{"<|endoftext|>", 50256}}},
      {"r50k_base", 50256, Grammar::kGpt2, {{"<|endoftext|>", 50256}}},
      {"p50k_base", 50280, Grammar::kGpt2, {{"<|endoftext|>", 50256}}},
      {"cl100k_base",
       100256,
       Grammar::kCl100k,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
  };
  for (const KnownRanks& one : known)
    if (name == one.name) return &one;
  return nullptr;
}

Result<bool> is_file(const std::string& path) {
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path).status(path));
  return status.kind == PathKind::kFile;
}

Result<Vocabulary> open_folder(const std::string& folder) {
  const auto in = [&](const char* name) { return folder + (folder.ends_with('/') ? "" : "/") + name; };
  HEADRACE_ASSIGN(const bool json, is_file(in("tokenizer.json")));
  if (json) return open_json(in("tokenizer.json"));
  for (const auto& [vocab, merges] : {std::pair("vocab.json", "merges.txt"), std::pair("encoder.json", "vocab.bpe")}) {
    HEADRACE_ASSIGN(const bool both, is_file(in(vocab)));
    if (both) return open_pair(in(vocab), in(merges));
  }
  return Error(ErrorCode::kNotFound,
               "the folder has no tokenizer.json, no vocab.json with merges.txt, and no "
               "encoder.json with vocab.bpe")
      .with_file(folder);
}

Status refuse_words(const VocabularyWords& words, const std::string& path) {
  if (words.grammar.empty() && words.special.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, fmt::format("the file says its own {}: leave the argument out",
                                                        words.grammar.empty() ? "special words" : "grammar"))
      .with_file(path);
}

}  // namespace

Result<Vocabulary> open_ranks(const std::string& path, const std::string& name, const VocabularyWords& words,
                              std::string_view sha256) {
  const KnownRanks* known = known_ranks(name);
  std::optional<Grammar> grammar = words.grammar.empty() ? std::nullopt : grammar_named(words.grammar);
  if (!words.grammar.empty() && !grammar)
    return Error(ErrorCode::kInvalidArgument, fmt::format("there is no grammar \"{}\"", words.grammar))
        .with_hint("Grammars are \"gpt2\", \"cl100k\" and \"llama3\".");
  if (!grammar && known != nullptr) grammar = known->grammar;
  if (!grammar)
    return Error(ErrorCode::kInvalidArgument, "a file of ranks does not record how text is divided into words")
        .with_file(path)
        .with_hint("Give grammar=\"gpt2\" or grammar=\"cl100k\".");
  HEADRACE_ASSIGN(const std::string text, read_text(path, sha256));
  const bool default_special = words.special.empty() && known != nullptr;
  auto parsed = parse_tiktoken(text, *grammar, default_special ? known->special : words.special);
  if (parsed.ok() && known != nullptr && parsed->ids.size() != known->count)
    parsed = Error(ErrorCode::kCorruptData,
                   fmt::format("{} has {} ranks, and {} are there", name, known->count, parsed->ids.size()))
                 .with_hint("A download that was cut off? A vocabulary of your own needs another name.");
  return finished(std::move(parsed), path, name);
}

Result<Vocabulary> open_json(const std::string& path) {
  HEADRACE_ASSIGN(const std::string text, read_text(path));
  std::string name = part_of(path, false);
  if (name == "tokenizer.json") {  // what every one is called: the folder tells which it is
    name = part_of(path, true);
  } else if (name.ends_with(".json")) {
    name.resize(name.size() - 5);
  }
  return finished(parse_tokenizer_json(text), path, name);
}

Result<Vocabulary> open_pair(const std::string& vocab_path, const std::string& merges_path,
                             std::string_view vocab_sha256, std::string_view merges_sha256) {
  HEADRACE_ASSIGN(const std::string vocab, read_text(vocab_path, vocab_sha256));
  HEADRACE_ASSIGN(const std::string merges, read_text(merges_path, merges_sha256));
  return finished(parse_vocab_and_merges(vocab, merges), vocab_path, part_of(vocab_path, true));
}

Result<Vocabulary> open_vocabulary(const std::string& path_or_name, const VocabularyWords& words) {
  HEADRACE_ASSIGN(const PathStatus status, FileSystem::of(path_or_name).status(path_or_name));
  if (path_or_name.empty()) return Error(ErrorCode::kInvalidArgument, "a tokenizer has a path or a name");
  if (status.kind == PathKind::kDirectory) {
    HEADRACE_TRY(refuse_words(words, path_or_name));
    return open_folder(path_or_name);
  }
  if (status.kind == PathKind::kNothing && path_or_name.find('/') == std::string::npos &&
      (is_known_name(path_or_name) || path_or_name.find('.') == std::string::npos))
    return open_named(path_or_name, words);
  if (status.kind == PathKind::kNothing && is_repository_name(path_or_name))
    return open_repository(path_or_name, words);
  const std::string ending = ".tiktoken";
  if (path_or_name.ends_with(ending)) {
    const std::string file = part_of(path_or_name, false);
    return open_ranks(path_or_name, file.substr(0, file.size() - ending.size()), words);
  }
  HEADRACE_TRY(refuse_words(words, path_or_name));
  return open_json(path_or_name);
}

}  // namespace headrace::tokenizing
