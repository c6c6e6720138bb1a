#include "tools/token_verification.h"

#include <utility>

#include "dataset/token_paths.h"
#include "storage/file_system.h"
#include "tools/inspected_file.h"

namespace headrace {

using token_files::FileChecksum;
using token_files::GoOn;
using token_files::TokenFile;

namespace {

std::uint64_t size_of(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile ? status->fingerprint.size_bytes : 0;
}

/// Read one file of tokens and what lies beside it. Errors: the first thing that is damaged; kCancelled.
Status verify_file(const TokenFile& file, const GoOn& go_on, TokenVerification& found) {
  ++found.pieces;
  if (file.checksums.empty()) {
    found.has_checksums = false;
    HEADRACE_TRY(token_files::crc32c_of(file.path, 0, size_of(file.path), go_on));
  }
  for (const FileChecksum& one : file.checksums) {
    found.pieces += one.path == file.path ? 0 : 1;
    HEADRACE_TRY(token_files::check_file(one, go_on));
  }
  if (file.documents != nullptr) HEADRACE_TRY(file.documents->read([](std::uint64_t, std::uint64_t) {}));
  return token_files::check_ids(file, {0, file.tokens()}, [&] { return !go_on || go_on(0); });
}

/// Add an error that a file has. Errors: kCancelled is the caller's.
Status add(Error error, const std::string& path, TokenVerification& found) {
  if (error.code() == ErrorCode::kCancelled) return error;
  if (error.file().empty()) error.with_file(path);
  (is_bad_file(error.code()) ? found.bad : found.notes).push_back(std::move(error));
  return {};
}

}  // namespace

bool is_token_data(const std::string& path) {
  for (const char* ending : {".bin", ".idx", ".ds"})
    if (path.ends_with(ending)) return true;
  return token_files::is_token_folder(path);
}

Result<TokenVerification> verify_tokens(const std::string& path, const GoOn& go_on) {
  TokenVerification found;
  const GoOn counted = [&](std::uint64_t bytes) {
    found.bytes += bytes;
    return !go_on || go_on(bytes);
  };
  auto paths = token_paths({path});
  if (!paths.ok()) {
    found.is_open = false;
    HEADRACE_TRY(add(std::move(paths.error()), path, found));
    return found;
  }
  token_files::Manifests manifests;
  for (const std::string& file : *paths) {
    ++found.files;
    auto opened = token_files::open_token_file(file, {}, manifests);
    if (!opened.ok()) {
      found.is_open = found.is_open && paths->size() > 1;
      HEADRACE_TRY(add(std::move(opened.error()), file, found));
      continue;
    }
    if (Status status = verify_file(*opened, counted, found); !status.ok())
      HEADRACE_TRY(add(std::move(status.error()), file, found));
  }
  return found;
}

std::uint64_t token_bytes(const std::string& path) {
  const auto paths = token_paths({path});
  std::uint64_t bytes = 0;
  if (paths.ok())
    for (const std::string& file : *paths) bytes += size_of(file);
  return bytes;
}

}  // namespace headrace
