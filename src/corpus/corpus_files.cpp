#include "corpus/corpus_files.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "dataset/files/paths.h"
#include "format/text/text_stream.h"
#include "storage/file_system.h"

namespace headrace::corpora {
namespace {

using std::string_view_literals::operator""sv;
constexpr std::array kJsonLines{".jsonl"sv, ".ndjson"sv, ".json"sv};
constexpr std::array kOthers{".parquet"sv, ".arrow"sv, ".csv"sv, ".tsv"sv, ".bz2"sv,  ".xz"sv,  ".zip"sv,
                             ".tar"sv,     ".bin"sv,   ".npy"sv, ".h5"sv,  ".hdf5"sv, ".pdf"sv, ".idx"sv};

Result<TextKind> kind_of(const std::string& path, TextDocument document) {
  const std::string_view name = text_files::plain_name(path);
  if (text_files::ends_with_any(name, kJsonLines)) return TextKind::kJsonLines;
  if (text_files::ends_with_any(name, kOthers))
    return Error(ErrorCode::kUnsupported, "files of this kind are not read as text")
        .with_file(path)
        .with_stage("open")
        .with_hint(
            "Text is read from .txt, .jsonl and .ndjson, each also as .gz or .zst. From others, "
            "write it with hr.tokens.Writer: docs/start-text.md.");
  return document == TextDocument::kLine ? TextKind::kLines : TextKind::kWhole;
}

std::string_view word(TokenFormat format) {
  return format == TokenFormat::kHeadrace ? "headrace" : format == TokenFormat::kMegatron ? "megatron" : "nanogpt";
}

}  // namespace

Result<std::vector<CorpusFile>> corpus_files(const std::vector<std::string>& paths, TextDocument document) {
  HEADRACE_ASSIGN(const std::vector<std::string> found, expand_paths(paths));
  std::vector<CorpusFile> files;
  for (const std::string& path : found) {
    HEADRACE_ASSIGN(const TextKind kind, kind_of(path, document));
    HEADRACE_ASSIGN(const auto file, FileSystem::of(path).open(path));
    files.push_back({path, kind, file->size(), file->fingerprint()});
  }
  return files;
}

Result<std::string> settings_text(const std::vector<CorpusFile>& files, const Tokenizer& tokenizer,
                                  const TokenizeOptions& options) {
  nlohmann::json listed = nlohmann::json::array();
  for (const CorpusFile& one : files) {
    const FileFingerprint& print = one.fingerprint;
    listed.push_back(nlohmann::json::array(
        {FileSystem::of(one.path).absolute(one.path), one.stored_bytes, print.mtime_ns, print.ctime_ns, print.inode}));
  }
  const bool has_word = options.end_of_text && !options.end_of_text_word.empty();
  const nlohmann::json end = has_word ? nlohmann::json(options.end_of_text_word) : nlohmann::json(options.end_of_text);
  const nlohmann::json settings{{"version", 1},
                                {"tokenizer", tokenizer.hash()},
                                {"end_of_text", end},
                                {"field", options.field},
                                {"document", options.document == TextDocument::kLine ? "line" : "file"},
                                {"bad_text", static_cast<int>(options.bad_text)},
                                {"format", word(options.format)},
                                {"dtype", options.dtype},
                                {"shard_tokens", options.shard_tokens},
                                {"files", listed}};
  // Names need not be UTF-8.
  return settings.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace headrace::corpora
