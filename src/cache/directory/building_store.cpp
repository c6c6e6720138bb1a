#include "cache/directory/building_store.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "base/checksum/crc32c.h"
#include "cache/directory/cache_match.h"
#include "cache/directory/source_sample.h"
#include "cache/directory/source_versions.h"
#include "cache/directory/whole_cache.h"
#include "cache/row_layout.h"

namespace headrace {

BuildingStore::BuildingStore(Folder directory, std::string name, CachePlan plan, BuildFiles files)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      plan_(std::move(plan)),
      files_(std::move(files)),
      states_(files_.states(), plan_.layout.num_blocks()),
      checksums_(files_.checksums(plan_.layout)) {}

RowStore::Lookup BuildingStore::look_up(std::uint64_t block) {
  switch (states_.claim(block)) {
    case BlockStates::Claim::kReady:
      return Lookup::kReady;
    case BlockStates::Claim::kBusy:
      return Lookup::kBusy;
    case BlockStates::Claim::kVerify:
      return is_in_place(block) && states_.verified(block) ? Lookup::kReady : Lookup::kFill;
    case BlockStates::Claim::kFill:
      break;
  }
  return Lookup::kFill;
}

bool BuildingStore::is_in_place(std::uint64_t block) const {
  for (std::size_t field = 0; field < files_.data.size(); ++field) {
    const ByteRange range = block_bytes(plan_.layout, field, block);
    const Result<std::uint32_t> crc = crc32c_of_file(files_.data[field].get(), files_.names[field],
                                                     files_.headers[field].size() + range.offset, range.size);
    if (!crc.ok() || *crc != checksum(field, block).load(std::memory_order_relaxed)) return false;
  }
  return true;
}

Status BuildingStore::put(std::uint64_t block, std::span<const std::byte* const> rows) {
  for (std::size_t field = 0; field < files_.data.size(); ++field) {
    const ByteRange range = block_bytes(plan_.layout, field, block);
    const std::span<const std::byte> data(rows[field], range.size);
    checksum(field, block).store(crc32c(data), std::memory_order_relaxed);
    Status status = write_all(files_.data[field].get(), files_.folder.path_of(files_.names[field]), data,
                              files_.headers[field].size() + range.offset);
    if (!status.ok()) return std::move(status.error().with_field(plan_.layout.fields[field].name));
  }
  return {};
}

/// Rows of a file that changed while they were read are of neither version.
Status BuildingStore::check_sources() const {
  const auto versions = versions_of(plan_.origin.sources);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (!versions[i]) continue;  // gone: its rows were read before
    const CacheSource& source = plan_.origin.sources[i];
    if (const auto change = change_text(source, *versions[i]))
      return Error(ErrorCode::kFileChanged, "the file changed while a cache of its rows was made: " + *change)
          .with_file(source.path)
          .with_stage("cache")
          .with_hint("Open the data set again.");
  }
  return {};
}

Status BuildingStore::finish() {
  if (!complete())
    return Error(ErrorCode::kInternal,
                 fmt::format("{} of {} blocks are in place", ready_blocks(), layout().num_blocks()))
        .with_file(files_.folder.path())
        .with_stage("cache");
  if (!states_.claim_finish()) return {};  // done, or another process is about it
  Status status = commit();
  status.ok() ? states_.finished() : states_.gave_up();
  return status;
}

Status BuildingStore::commit() {
  const std::string sample = sample_of(plan_.origin.sources);  // before they are compared: of the version that was read
  HEADRACE_TRY(check_sources());
  HEADRACE_TRY(files_.seal(plan_, sample));
  const auto rename_to_name = [&] {
    return ::renameat(directory_.fd(), name_.c_str(), directory_.fd(), plan_.name.c_str()) == 0 ? 0 : errno;
  };
  int error_number = rename_to_name();
  if (error_number == EEXIST || error_number == ENOTEMPTY) {
    // Either others made it meanwhile, in a folder of their own, or what lies there is what open() refused.
    auto other = WholeCache::open(directory_, plan_.name);
    std::vector<std::string> notes;
    if (other.ok() && !difference_of(*other, plan_, notes)) return remove_cache_folder(directory_, name_);
    if (!other.ok() && other.error().code() != ErrorCode::kCorruptData && other.error().code() != ErrorCode::kNotFound)
      return other.error();
    HEADRACE_TRY(remove_cache_folder(directory_, plan_.name));
    error_number = rename_to_name();
  }
  if (error_number == ENOENT && WholeCache::open(directory_, plan_.name).ok()) return {};
  if (error_number != 0) return system_error("rename", error_number, files_.folder.path(), ErrorCode::kWriteFailed);
  // From here on the cache is whole; what follows is tidiness.
  ::unlinkat(files_.folder.fd(), kStateName, 0);
  ::unlinkat(files_.folder.fd(), kLockName, 0);
  return directory_.sync();
}

}  // namespace headrace
