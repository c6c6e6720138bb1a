// Vocabularies by name, where tiktoken and Hugging Face keep what they fetched. Nothing is fetched here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "storage/file_system.h"
#include "tokenizer/open_vocabulary.h"

namespace headrace::tokenizing {
namespace {

struct KnownName {
  const char* name;
  const char* ranks;  ///< tiktoken's name of its file: the SHA-1 of where it was fetched from.
  const char* merges = nullptr;
  const char* vocab = nullptr;
  std::vector<std::string> repositories = {};  ///< Hugging Face has it in these.
};

const std::vector<KnownName>& known_names() {
  static const std::vector<KnownName> names = {
      {"gpt2",
       nullptr,
       "6d1cbeee0f20b3d9449abfede4726ed8212e3aee",
       "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6",
       {"models--openai-community--gpt2", "models--gpt2"}},
      {"r50k_base", "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4"},
      {"p50k_base", "ec7223a39ce59f226a68acc30dc1af2788490e15"},
      {"cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"},
  };
  return names;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets any
  return value == nullptr ? "" : value;
}

/// As tiktoken finds its own.
std::string tiktoken_folder() {
  for (const char* name : {"TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"})
    if (std::string folder = variable(name); !folder.empty()) return folder;
  const std::string temporary = variable("TMPDIR");
  return (temporary.empty() ? "/tmp" : temporary) + "/data-gym-cache";
}

/// As huggingface_hub finds its own.
std::string hugging_face_folder() {
  if (std::string hub = variable("HF_HUB_CACHE"); !hub.empty()) return hub;
  if (std::string home = variable("HF_HOME"); !home.empty()) return home + "/hub";
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty()) cache = variable("HOME") + "/.cache";
  return cache + "/huggingface/hub";
}

bool is_there(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile;
}

/// The first snapshot, by name, that has a file; empty: none.
std::string snapshot_with(const std::string& repository, const std::string& file) {
  const std::string snapshots = hugging_face_folder() + "/" + repository + "/snapshots";
  auto names = FileSystem::of(snapshots).list(snapshots);
  if (!names.ok()) return "";
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names)
    if (is_there(snapshots + "/" + name + "/" + file)) return snapshots + "/" + name + "/";
  return "";
}

Result<Vocabulary> renamed(Result<Vocabulary> opened, const std::string& name) {
  if (opened.ok()) opened->name = name;
  return opened;
}

}  // namespace

bool is_known_name(const std::string& name) {
  return std::any_of(known_names().begin(), known_names().end(),
                     [&](const KnownName& one) { return name == one.name; });
}

Result<Vocabulary> open_named(const std::string& name, const VocabularyWords& words) {
  const auto known =
      std::find_if(known_names().begin(), known_names().end(), [&](const KnownName& one) { return name == one.name; });
  if (known == known_names().end()) {
    std::string names;
    for (const KnownName& one : known_names()) names += (names.empty() ? "" : ", ") + std::string(one.name);
    return std::move(
        Error(ErrorCode::kNotFound, fmt::format("there is no file \"{}\", and no such tokenizer is known by "
                                                "name",
                                                name))
            .with_hint(fmt::format("Names are {}; anything else is opened by its path.", names)));
  }
  if (!words.grammar.empty() || !words.special.empty())
    return Error(ErrorCode::kInvalidArgument, fmt::format("\"{}\" has its own grammar and special words: leave the "
                                                          "arguments out",
                                                          name));
  const std::string kept = tiktoken_folder() + "/";
  if (known->ranks != nullptr && is_there(kept + known->ranks)) return open_ranks(kept + known->ranks, name, words);
  for (const std::string& repository : known->repositories) {
    if (std::string folder = snapshot_with(repository, "tokenizer.json"); !folder.empty())
      return renamed(open_json(folder + "tokenizer.json"), name);
    if (std::string folder = snapshot_with(repository, "vocab.json");
        !folder.empty() && is_there(folder + "merges.txt"))
      return renamed(open_pair(folder + "vocab.json", folder + "merges.txt"), name);
  }
  if (known->merges != nullptr && is_there(kept + known->merges) && is_there(kept + known->vocab))
    return renamed(open_pair(kept + known->vocab, kept + known->merges), name);
  const std::string looked = known->repositories.empty() ? "" : fmt::format(" or {}", hugging_face_folder());
  return std::move(Error(ErrorCode::kNotFound, fmt::format("\"{}\" is not in {}{}", name, tiktoken_folder(), looked))
                       .with_hint(fmt::format("Nothing is fetched by itself. Fetch it once: "
                                              "python -c \"import tiktoken; tiktoken.get_encoding('{}')\"",
                                              name)));
}

}  // namespace headrace::tokenizing
