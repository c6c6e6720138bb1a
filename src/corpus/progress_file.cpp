#include "corpus/progress_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/read_json.h"
#include "format/tokens/byte_sink.h"
#include "storage/file_calls.h"

namespace headrace::corpora {
namespace {

constexpr std::string_view kFormat = "headrace-tokenize";

Error write_failed(const std::string& path, const char* call) {
  return std::move(Error(ErrorCode::kWriteFailed, fmt::format("{}: {}", call, errno_name(errno)))
                       .with_file(path)
                       .with_stage("write"));
}

RunProgress progress_of(const nlohmann::json& saved) {
  const auto number = [&](const char* key) {  // -1 and 1e30 are numbers too, which get() would make others of
    if (!saved.at(key).is_number_unsigned()) throw std::invalid_argument(key);
    return saved.at(key).get<std::uint64_t>();
  };
  return {{number("file"), number("offset"), number("line")},
          number("tokens"),
          number("documents"),
          number("text_bytes"),
          number("in_document"),
          number("skipped"),
          saved.at("first_skipped").get<std::string>(),
          saved.at("output").dump()};
}

}  // namespace

std::string progress_text(const std::string& settings, const RunProgress& progress) {
  const nlohmann::json saved{{"format", kFormat},
                             {"settings", nlohmann::json::parse(settings)},
                             {"file", progress.place.file},
                             {"offset", progress.place.offset},
                             {"line", progress.place.line},
                             {"tokens", progress.tokens},
                             {"documents", progress.documents},
                             {"text_bytes", progress.text_bytes},
                             {"in_document", progress.in_document},
                             {"skipped", progress.skipped},
                             {"first_skipped", progress.first_skipped},
                             {"output", nlohmann::json::parse(progress.output)}};
  return saved.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<RunProgress> parse_progress(const std::string& text, const std::string& settings) {
  const auto read = read_json(text);
  const nlohmann::json saved = read.ok() ? *read : nlohmann::json();
  try {
    if (saved.at("format") != kFormat) throw std::invalid_argument("no progress");
    if (saved.at("settings") != nlohmann::json::parse(settings))
      return std::move(Error(ErrorCode::kInvalidArgument,
                             "the unfinished output here was begun with other files, options or another tokenizer")
                           .with_hint("Give the same again, name another output, or begin anew: restart=True, "
                                      "--restart."));
    return progress_of(saved);
  } catch (const std::exception&) {
    return std::move(Error(ErrorCode::kCorruptData, "this is not a progress file that Headrace wrote")
                         .with_hint("Remove it, and begin again."));
  }
}

Result<ProgressFile> ProgressFile::lock(const std::string& output_path) {
  std::string path = output_path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  path += ".progress";
  const std::string lock_path = path + ".lock";
  const int descriptor = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return write_failed(lock_path, "open");
  ProgressFile file(path, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;  // else no locks there
  return std::move(Error(ErrorCode::kInvalidArgument, "another process is writing this")
                       .with_file(output_path)
                       .with_hint("Wait for it, or name another output."));
}

ProgressFile::ProgressFile(ProgressFile&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

ProgressFile::~ProgressFile() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::optional<RunProgress>> ProgressFile::load(const std::string& settings) const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return std::optional<RunProgress>();
  std::stringstream text;
  text << file.rdbuf();
  auto progress = parse_progress(text.str(), settings);
  if (!progress.ok()) return std::move(progress.error().with_file(path_));
  return std::optional(std::move(*progress));
}

Status ProgressFile::save(const std::string& settings, const RunProgress& progress) const {
  const std::string next = path_ + ".next";
  std::error_code ignored;
  std::filesystem::remove(next, ignored);
  token_files::ByteSink sink;
  HEADRACE_TRY(sink.create(next));
  HEADRACE_TRY(sink.write(std::string_view(progress_text(settings, progress))));
  HEADRACE_TRY(sink.close());
  return token_files::replace_name(next, path_);
}

void ProgressFile::forget() const {
  std::error_code ignored;
  for (const char* const ending : {"", ".next"}) std::filesystem::remove(path_ + ending, ignored);
}

void ProgressFile::remove() const {
  forget();
  std::error_code ignored;
  std::filesystem::remove(path_ + ".lock", ignored);
}

}  // namespace headrace::corpora
