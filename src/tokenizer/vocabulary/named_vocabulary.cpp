// Vocabularies by name, where tiktoken and Hugging Face keep what they fetched. Nothing is fetched here.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/file_system.h"
#include "storage/whole_file.h"
#include "tokenizer/vocabulary/known_name.h"
#include "tokenizer/vocabulary/open_vocabulary.h"

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

/// The folder of this user, which the system knows where HOME is not set; empty: it does not.
std::string home_folder() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  const passwd* const entry = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): nothing here changes it
  return entry == nullptr || entry->pw_dir == nullptr ? "" : entry->pw_dir;
}

/// As huggingface_hub finds its own; empty: this user has no home.
std::string hugging_face_folder() {
  if (std::string hub = variable("HF_HUB_CACHE"); !hub.empty()) return hub;
  if (std::string home = variable("HF_HOME"); !home.empty()) return home + "/hub";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/huggingface/hub";
  const std::string home = home_folder();
  return home.empty() ? "" : home + "/.cache/huggingface/hub";
}

bool is_there(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile;
}

/// The snapshot that the branch main is at, or the first, by name, that has a file; empty: none.
std::string snapshot_with(const std::string& repository, const std::string& file) {
  const std::string hub = hugging_face_folder(), snapshots = hub + "/" + repository + "/snapshots";
  if (hub.empty()) return "";
  if (auto main = read_whole_file(hub + "/" + repository + "/refs/main", 1024); main.ok()) {
    main->resize(std::min(main->find_last_not_of(" \n") + 1, main->size()));
    if (is_there(snapshots + "/" + *main + "/" + file)) return snapshots + "/" + *main + "/";
  }
  auto names = FileSystem::of(snapshots).list(snapshots);
  if (!names.ok()) return "";
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names)
    if (is_there(snapshots + "/" + name + "/" + file)) return snapshots + "/" + name + "/";
  return "";
}

/// What Hugging Face's cache has of a repository; nullopt: nothing.
std::optional<Result<Vocabulary>> open_kept(const std::string& repository, std::string& path) {
  if (const std::string folder = snapshot_with(repository, "tokenizer.json"); !folder.empty()) {
    path = folder + "tokenizer.json";
    return open_json(path);
  }
  const std::string folder = snapshot_with(repository, "vocab.json");
  if (folder.empty() || !is_there(folder + "merges.txt")) return std::nullopt;
  path = folder;
  return open_pair(folder + "vocab.json", folder + "merges.txt");
}

/// "org/name" → "models--org--name".
std::string folder_of_repository(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? "models--" + name
                                    : "models--" + name.substr(0, slash) + "--" + name.substr(slash + 1);
}

/// What Hugging Face has of a name, or the error that it is another one.
Result<Vocabulary> checked(Result<Vocabulary> opened, const KnownName& known, const std::string& path) {
  if (!opened.ok()) return opened;
  if (std::find(known.hashes.begin(), known.hashes.end(), opened->hash) == known.hashes.end())
    return Error(ErrorCode::kCorruptData, fmt::format("this is not the vocabulary \"{}\": its hash is {}, of {} ids",
                                                      known.name, opened->hash, opened->tokens.size()))
        .with_file(path)
        .with_stage("vocabulary")
        .with_hint("Remove it and fetch it again; a vocabulary of your own is opened by its path.");
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
  if (known == known_names().end()) return open_repository(name, words);
  if (!words.grammar.empty() || !words.special.empty())
    return Error(ErrorCode::kInvalidArgument, fmt::format("\"{}\" has its own grammar and special words: leave the "
                                                          "arguments out",
                                                          name));
  return open_known(*known, words);
}

bool is_repository_name(const std::string& name) {
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part.front() != '.' && part.front() != '~' &&
           part.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               std::string_view::npos;
  };
  const std::string_view all = name;
  const std::size_t slash = all.find('/');
  return slash != std::string_view::npos && is_part(all.substr(0, slash)) && is_part(all.substr(slash + 1)) &&
         !all.ends_with(".json") && !all.ends_with(".tiktoken");
}

Result<Vocabulary> open_repository(const std::string& name, const VocabularyWords& words) {
  std::string path;
  if (auto opened = open_kept(folder_of_repository(name), path)) {
    if (!words.grammar.empty() || !words.special.empty())
      return Error(ErrorCode::kInvalidArgument,
                   "the file says its own grammar and special words: leave the "
                   "arguments out")
          .with_file(path);
    if (opened->ok()) (*opened)->name = name;
    return std::move(*opened);
  }
  std::string names;
  for (const KnownName& one : known_names()) names += (names.empty() ? "" : ", ") + std::string(one.name);
  const std::string hub = hugging_face_folder();
  return Error(ErrorCode::kNotFound,
               hub.empty()
                   ? fmt::format("there is no file \"{}\", and no such tokenizer is known by name", name)
                   : fmt::format("there is no file \"{}\", no such tokenizer is known by name, and none was fetched "
                                 "from Hugging Face into {}",
                                 name, hub))
      .with_hint(fmt::format("Nothing is fetched by itself. Names are {}, and those of Hugging Face, fetched by: "
                             "hf download {} tokenizer.json",
                             names, name));
}

Result<Vocabulary> open_known(const KnownName& known, const VocabularyWords& words) {
  const std::string kept = tiktoken_folder() + "/";
  if (known.ranks.key != nullptr && is_there(kept + known.ranks.key))
    return open_ranks(kept + known.ranks.key, known.name, words, known.ranks.sha256);
  for (const std::string& repository : known.repositories) {
    std::string path;
    if (auto opened = open_kept(repository, path)) return checked(std::move(*opened), known, path);
  }
  if (known.merges.key != nullptr && is_there(kept + known.merges.key) && is_there(kept + known.vocab.key)) {
    auto opened = open_pair(kept + known.vocab.key, kept + known.merges.key, known.vocab.sha256, known.merges.sha256);
    if (opened.ok()) opened->name = known.name;
    return opened;
  }
  const std::string hub = known.repositories.empty() ? "" : hugging_face_folder();
  const std::string looked = hub.empty() ? "" : " or " + hub;
  return Error(ErrorCode::kNotFound, fmt::format("\"{}\" is not in {}{}", known.name, tiktoken_folder(), looked))
      .with_hint(fmt::format("Nothing is fetched by itself. Fetch it once: "
                             "python -c \"import tiktoken; tiktoken.get_encoding('{}')\"",
                             known.name));
}

}  // namespace headrace::tokenizing
