// Vocabularies by name, where tiktoken and Hugging Face keep what they fetched. Nothing is fetched here.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "storage/file_system.h"
#include "tokenizer/known_name.h"
#include "tokenizer/open_vocabulary.h"

namespace headrace::tokenizing {
namespace {

const std::vector<KnownName>& known_names() {
  // The SHA-256 are those of tiktoken's openai_public.py; Hugging Face's vocab.json and merges.txt of GPT-2 are the
  // same files as its encoder.json and vocab.bpe. Its tokenizer.json was written in several forms, of one content.
  static const std::vector<KnownName> names = {
      {.name = "gpt2",
       .merges = {"6d1cbeee0f20b3d9449abfede4726ed8212e3aee",
                  "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"},
       .vocab = {"6c7ea1a7e38e3a7f062df639a5b80947f075ffe6",
                 "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
       .repositories = {"models--openai-community--gpt2", "models--gpt2"},
       .hashes = {"4a5503bd773a1cbf552ac241291df873", "0de6104c49cd8b7d1842f0e965c7070e"}},
      {.name = "r50k_base",
       .ranks = {"0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
                 "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"}},
      {.name = "p50k_base",
       .ranks = {"ec7223a39ce59f226a68acc30dc1af2788490e15",
                 "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"}},
      {.name = "cl100k_base",
       .ranks = {"9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
                 "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"}},
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

/// What Hugging Face has of a name, or the error that it is another one.
Result<Vocabulary> checked(Result<Vocabulary> opened, const KnownName& known, const std::string& path) {
  if (!opened.ok()) return opened;
  if (std::find(known.hashes.begin(), known.hashes.end(), opened->hash) == known.hashes.end())
    return std::move(
        Error(ErrorCode::kCorruptData, fmt::format("this is not the vocabulary \"{}\": its hash is {}, of {} ids",
                                                   known.name, opened->hash, opened->tokens.size()))
            .with_file(path)
            .with_stage("vocabulary")
            .with_hint("Remove it and fetch it again; a vocabulary of your own is opened by its path."));
  opened->name = known.name;
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
  return open_known(*known, words);
}

Result<Vocabulary> open_known(const KnownName& known, const VocabularyWords& words) {
  const std::string kept = tiktoken_folder() + "/";
  if (known.ranks.key != nullptr && is_there(kept + known.ranks.key))
    return open_ranks(kept + known.ranks.key, known.name, words, known.ranks.sha256);
  for (const std::string& repository : known.repositories) {
    if (std::string folder = snapshot_with(repository, "tokenizer.json"); !folder.empty())
      return checked(open_json(folder + "tokenizer.json"), known, folder + "tokenizer.json");
    if (std::string folder = snapshot_with(repository, "vocab.json");
        !folder.empty() && is_there(folder + "merges.txt"))
      return checked(open_pair(folder + "vocab.json", folder + "merges.txt"), known, folder);
  }
  if (known.merges.key != nullptr && is_there(kept + known.merges.key) && is_there(kept + known.vocab.key)) {
    auto opened = open_pair(kept + known.vocab.key, kept + known.merges.key, known.vocab.sha256, known.merges.sha256);
    if (opened.ok()) opened->name = known.name;
    return opened;
  }
  const std::string looked = known.repositories.empty() ? "" : fmt::format(" or {}", hugging_face_folder());
  return std::move(
      Error(ErrorCode::kNotFound, fmt::format("\"{}\" is not in {}{}", known.name, tiktoken_folder(), looked))
          .with_hint(fmt::format("Nothing is fetched by itself. Fetch it once: "
                                 "python -c \"import tiktoken; tiktoken.get_encoding('{}')\"",
                                 known.name)));
}

}  // namespace headrace::tokenizing
