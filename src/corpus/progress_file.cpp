#include "corpus/progress_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/text/read_json.h"
#include "format/tokens/byte_sink.h"
#include "storage/file_calls.h"
#include "storage/file_system.h"
#include "storage/whole_file.h"

namespace headrace::corpora {
namespace {

constexpr std::string_view kFormat = "headrace-tokenize";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // it lists all files of a corpus

/// Return whether a path still names the file that is open: another process may have removed it, and made a new one.
bool names(const std::string& path, int descriptor) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

Error write_failed(const std::string& path, const char* call) {
  return Error(ErrorCode::kWriteFailed, fmt::format("{}: {}", call, errno_name(errno)))
      .with_file(path)
      .with_stage("write");
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

nlohmann::json saved_form(const std::string& settings, const RunProgress& progress) {
  return {{"format", kFormat},
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
}

/// Return what tells a file from another that is written in its place; null: it is not there.
nlohmann::json version_of(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  if (!status.ok() || status->kind != PathKind::kFile) return {};
  return {{"bytes", status->fingerprint.size_bytes}, {"mtime_ns", status->fingerprint.mtime_ns}};
}

/// The same of several files, by their names.
nlohmann::json versions_of(const std::vector<std::string>& paths) {
  nlohmann::json versions = nlohmann::json::object();
  for (const std::string& path : paths) versions[std::filesystem::path(path).filename().string()] = version_of(path);
  return versions;
}

std::string text_of(const nlohmann::json& saved) {
  return saved.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Status write(const std::string& path, const std::string& text) {
  const std::string next = path + ".next";
  std::error_code ignored;
  std::filesystem::remove(next, ignored);
  token_files::ByteSink sink;
  HEADRACE_TRY(sink.create(next));
  HEADRACE_TRY(sink.write(std::string_view(text)));
  HEADRACE_TRY(sink.close());
  return token_files::replace_name(next, path);
}

}  // namespace

std::string progress_text(const std::string& settings, const RunProgress& progress) {
  return text_of(saved_form(settings, progress));
}

Result<RunProgress> parse_progress(const std::string& text, const std::string& settings) {
  const auto read = read_json(text);
  const nlohmann::json saved = read.ok() ? *read : nlohmann::json();
  try {
    if (saved.at("format") != kFormat) throw std::invalid_argument("no progress");
    if (saved.at("settings") != nlohmann::json::parse(settings))
      return Error(ErrorCode::kInvalidArgument,
                   "the unfinished output here was begun with other files, options or another tokenizer")
          .with_hint(
              "Give the same again, name another output, or begin anew: restart=True, "
              "--restart.");
    return progress_of(saved);
  } catch (const std::exception&) {
    return Error(ErrorCode::kCorruptData, "this is not a progress file that Headrace wrote")
        .with_hint("Remove it, and begin again.");
  }
}

Result<ProgressFile> ProgressFile::lock(const std::string& output_path) {
  std::string output = output_path;
  while (output.size() > 1 && output.ends_with('/')) output.pop_back();
  std::error_code ignored;
  if (std::filesystem::is_directory(output + ".done", ignored))
    return Error(ErrorCode::kInvalidArgument, "this is a folder, and the note of a finished run gets its name")
        .with_file(output + ".done")
        .with_hint("Remove it, or name another output.");
  const std::string lock_path = output + ".progress.lock";
  for (;;) {
    const int descriptor = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (descriptor < 0) return write_failed(lock_path, "open");
    ProgressFile file(output, descriptor);
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) break;
    // One whose file another process removed as it ended is no lock; where there are no locks nothing can be done.
    if (!locked || names(lock_path, descriptor)) return file;
  }
  return Error(ErrorCode::kInvalidArgument, "another process is writing this")
      .with_file(output_path)
      .with_hint("Wait for it, or name another output.");
}

ProgressFile::ProgressFile(ProgressFile&& other) noexcept
    : output_(std::move(other.output_)), path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

ProgressFile::~ProgressFile() {
  if (lock_ >= 0) ::close(lock_);
}

Result<std::optional<RunProgress>> ProgressFile::load(const std::string& settings) const {
  auto text = read_whole_file(path_, kMostBytes);
  if (!text.ok() && text.error().code() == ErrorCode::kNotFound) return std::optional<RunProgress>();
  if (!text.ok()) return std::move(text.error());
  auto progress = parse_progress(*text, settings);
  if (!progress.ok()) return std::move(progress.error().with_file(path_));
  return std::optional(std::move(*progress));
}

Status ProgressFile::save(const std::string& settings, const RunProgress& progress) const {
  return write(path_, progress_text(settings, progress));
}

Status ProgressFile::finish(const std::string& settings, const RunProgress& progress,
                            const std::vector<std::string>& made) const {
  nlohmann::json done = saved_form(settings, progress);
  done["made"] = versions_of(made);
  return write(done_path(), text_of(done));
}

std::optional<RunProgress> ProgressFile::finished(const std::string& settings,
                                                  const std::vector<std::string>& made) const {
  auto text = read_whole_file(done_path(), kMostBytes);
  const auto read = text.ok() ? read_json(*text) : Result<nlohmann::json>(nlohmann::json());
  const nlohmann::json done = read.ok() ? *read : nlohmann::json();
  const nlohmann::json now = versions_of(made);
  try {
    if (done.at("format") != kFormat || done.at("settings") != nlohmann::json::parse(settings)) return std::nullopt;
    for (const auto& [name, version] : done.at("made").items())
      if (version.is_null() || now.value(name, nlohmann::json()) != version) return std::nullopt;
    return progress_of(done);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool ProgressFile::has_finished() const {
  std::error_code ignored;
  return std::filesystem::exists(done_path(), ignored);
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
