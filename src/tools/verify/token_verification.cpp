#include "tools/verify/token_verification.h"

#include <utility>
#include <vector>

#include "dataset/tokens/token_paths.h"
#include "storage/file_system.h"
#include "tools/inspect/inspected_file.h"

namespace headrace {

using token_files::GoOn;
using token_files::TokenFile;

namespace {

std::uint64_t size_of(const std::string& path) {
  const auto status = FileSystem::of(path).status(path);
  return status.ok() && status->kind == PathKind::kFile ? status->fingerprint.size_bytes : 0;
}

/// Read one file of tokens and what lies beside it. Errors: the first thing that is damaged; kCancelled.
Status verify_file(const TokenFile& file, const GoOn& go_on, TokenVerification& found) {
  if (file.checksums.empty()) {  // else they were compared
    ++found.pieces;
    found.has_checksums = false;
    HEADRACE_TRY(token_files::crc32c_of(file.path, 0, size_of(file.path), go_on));
  }
  if (file.documents != nullptr) HEADRACE_TRY(file.documents->read([](std::uint64_t, std::uint64_t) {}));
  return token_files::check_ids(file, {0, file.tokens()}, [&] { return !go_on || go_on(0); });
}

Status add(Error error, const std::string& path, TokenVerification& found);

/// Compare the files of a shard with the checksums of the manifest. \return False if they are damaged, or gone.
Result<bool> verify_shard(const std::string& folder, const token_files::TokenShard& shard, const GoOn& go_on,
                          TokenVerification& found) {
  const std::size_t before = found.bad.size();
  for (const auto& [name, crc] : {std::pair(shard.file, shard.crc32c), std::pair(shard.ends, shard.ends_crc32c)}) {
    if (name.empty()) continue;
    const std::string one = token_files::path_in(folder, name);
    if (size_of(one) == 0) {
      found.bad.push_back(Error(ErrorCode::kCorruptData, "the manifest names this file, and it is not there")
                              .with_file(one)
                              .with_stage("open"));
      continue;
    }
    if (!crc) continue;
    ++found.pieces;
    if (Status status = token_files::check_file({one, *crc}, go_on); !status.ok())
      HEADRACE_TRY(add(std::move(status.error()), one, found));
  }
  return found.bad.size() == before;
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
  for (const char* ending : {".bin", ".idx", ".ds", ".ds.index", ".ds.metadata"})
    if (path.ends_with(ending)) return true;
  return token_files::is_token_folder(path);
}

bool is_token_manifest(const std::string& path) {
  const std::string folder = token_files::folder_of(path);
  return path == token_files::path_in(folder, token_files::TokenManifest::kFileName) &&
         token_files::is_token_folder(folder);
}

Status check_token_part(const std::string& path) {
  const std::string folder = token_files::folder_of(path);
  if (!token_files::is_token_folder(folder)) return {};
  HEADRACE_ASSIGN(const token_files::TokenManifest manifest, token_files::read_token_manifest(folder));
  for (const token_files::TokenShard& shard : manifest.shards)
    for (const auto& [name, crc] : {std::pair(shard.file, shard.crc32c), std::pair(shard.ends, shard.ends_crc32c)})
      if (crc && !name.empty() && token_files::path_in(folder, name) == path)
        return token_files::check_file({path, *crc});
  return {};
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
  std::vector<token_files::TokenShard> shards;  // as many as paths, of a folder
  if (token_files::is_token_folder(path)) {
    HEADRACE_ASSIGN(token_files::TokenManifest manifest, token_files::read_token_manifest(path));
    shards = std::move(manifest.shards);
  }
  for (std::size_t i = 0; i < paths->size(); ++i) {
    const std::string& file = (*paths)[i];
    ++found.files;
    if (i < shards.size()) {
      HEADRACE_ASSIGN(const bool is_sound, verify_shard(path, shards[i], counted, found));
      if (!is_sound) continue;  // what its bytes would say is of no use
    }
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
