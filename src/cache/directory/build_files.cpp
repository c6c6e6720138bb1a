#include "cache/directory/build_files.h"

#include <headrace/bytes.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checksum/crc32c.h"
#include "cache/block_states.h"
#include "cache/directory/cache_manifest.h"
#include "cache/directory/npy_file_names.h"
#include "cache/filler.h"
#include "cache/row_layout.h"
#include "format/npy/npy_header.h"

namespace headrace {
namespace {

/// The start of the file `state`, of which `crc` covers what stands before it.
struct StateHeader {
  char magic[8];
  std::uint64_t key, num_blocks, num_fields;
  std::uint32_t crc, unused;
  std::uint64_t builders;  // shared: through builders() only
};
constexpr std::uint64_t kStateHeaderBytes = 64;
static_assert(sizeof(StateHeader) <= kStateHeaderBytes && offsetof(StateHeader, crc) == 32);

StateHeader header_of(const CachePlan& plan) {
  StateHeader header{{'H', 'R', 'B', 'U', 'I', 'L', 'D', '1'},
                     plan.key ^ plan.touched,
                     plan.layout.num_blocks(),
                     plan.layout.fields.size(),
                     0,
                     0,
                     pid_namespace_id()};
  header.crc = crc32c({reinterpret_cast<const std::byte*>(&header), offsetof(StateHeader, crc)});
  return header;
}

std::uint64_t state_bytes(const RowLayout& layout) {
  return kStateHeaderBytes + BlockStates::bytes_for(layout.num_blocks()) +
         4 * layout.num_blocks() * layout.fields.size();
}

std::uint64_t data_bytes(const RowLayout& layout, std::size_t field) {
  return layout.rows() * layout.fields[field].row_bytes();
}

/// Give a file its size, and its room on the disk where the file system can.
Status make_room(int fd, const std::string& path, std::uint64_t size_bytes) {
  int done = 0;
  do done = ::fallocate(fd, 0, 0, static_cast<off_t>(size_bytes));
  while (done != 0 && errno == EINTR);
  if (done == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    return system_error("fallocate", errno, path, ErrorCode::kWriteFailed).with_bytes({0, size_bytes});
  if (::ftruncate(fd, static_cast<off_t>(size_bytes)) != 0)
    return system_error("ftruncate", errno, path, ErrorCode::kWriteFailed).with_bytes({0, size_bytes});
  return {};
}

/// The files must not be larger than this process may write: trying would raise SIGXFSZ.
Status check_limit(const Folder& folder, const RowLayout& layout) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  std::uint64_t longest = state_bytes(layout);
  for (std::size_t i = 0; i < layout.fields.size(); ++i)
    longest = std::max(longest, npy_header(layout.fields[i], layout.rows()).size() + data_bytes(layout, i));
  if (longest <= limit.rlim_cur) return {};
  return Error(ErrorCode::kWriteFailed, fmt::format("a file of {} is needed, and this process may write {} at most",
                                                    format_bytes(longest), format_bytes(limit.rlim_cur)))
      .with_file(folder.path())
      .with_stage("cache")
      .with_hint("Raise the limit with: ulimit -f unlimited.");
}

Status check_room(const Folder& folder, std::uint64_t needed_bytes) {
  struct statvfs room {};
  if (::fstatvfs(folder.fd(), &room) != 0 || room.f_blocks == 0) return {};  // it will be seen when it is missing
  const std::uint64_t free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
  if (free_bytes >= needed_bytes) return {};
  return Error(ErrorCode::kWriteFailed, fmt::format("the decoded rows need {}, and {} are free on this file system",
                                                    format_bytes(needed_bytes), format_bytes(free_bytes)))
      .with_file(folder.path())
      .with_stage("cache")
      .with_hint("Free some space (headrace cache ls FOLDER lists the caches), or name a folder on a larger disk.");
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Write a small array as a .npy file.
template <class T>
Result<CachedFile> write_npy(const Folder& folder, const char* name, const DType& dtype,
                             std::initializer_list<std::uint64_t> shape, const std::vector<T>& values) {
  std::string text = npy_header(dtype, std::span(shape.begin(), shape.size()));
  text += text_of(std::as_bytes(std::span(values)));
  HEADRACE_TRY(folder.write_file(name, text));
  return CachedFile{name, text.size(), crc32c(std::as_bytes(std::span(text)))};
}

}  // namespace

Status BuildFiles::make(const Folder& folder, const CachePlan& plan) {
  const RowLayout& layout = plan.layout;
  HEADRACE_TRY(check_limit(folder, layout));
  HEADRACE_TRY(check_room(folder, layout.data_bytes() + state_bytes(layout)));
  const std::vector<std::string> names = npy_file_names(layout.fields);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string header = npy_header(layout.fields[i], layout.rows());
    HEADRACE_ASSIGN(const Descriptor file, folder.open_file(names[i], O_RDWR | O_CREAT | O_EXCL));
    HEADRACE_TRY(make_room(file.get(), folder.path_of(names[i]), header.size() + data_bytes(layout, i)));
    HEADRACE_TRY(write_all(file.get(), folder.path_of(names[i]), std::as_bytes(std::span(header)), 0));
  }
  // Every byte of it is written: stores to a mapped page that has no room on the disk would end in SIGBUS.
  std::string state(state_bytes(layout), '\0');
  const StateHeader header = header_of(plan);
  std::memcpy(state.data(), &header, sizeof header);
  HEADRACE_ASSIGN(const Descriptor file, folder.open_file(kStateName, O_RDWR | O_CREAT | O_EXCL));
  return write_all(file.get(), folder.path_of(kStateName), std::as_bytes(std::span(state)), 0);
}

Status BuildFiles::open(const CachePlan& plan) {
  const RowLayout& layout = plan.layout;
  const auto not_that = [&](const std::string& name, std::string what) {
    return Error(ErrorCode::kCorruptData, std::move(what)).with_file(folder.path_of(name)).with_stage("cache");
  };
  const auto open_sized = [&](const std::string& name, std::uint64_t size_bytes) -> Result<Descriptor> {
    HEADRACE_ASSIGN(Descriptor file, folder.open_file(name, O_RDWR));
    struct stat status {};
    ::fstat(file.get(), &status);
    if (static_cast<std::uint64_t>(status.st_size) == size_bytes) return file;
    return not_that(name, fmt::format("it has {} bytes, {} are expected", status.st_size, size_bytes));
  };
  HEADRACE_ASSIGN(const Descriptor state_file, open_sized(kStateName, state_bytes(layout)));
  HEADRACE_ASSIGN(state, FileMapping::map(state_file.get(), state_bytes(layout), true));
  const StateHeader expected = header_of(plan);
  if (std::memcmp(state.data(), &expected, offsetof(StateHeader, unused)) != 0)
    return not_that(kStateName, "it is the state of another build");
  names = npy_file_names(layout.fields);
  rows = MappedRows(layout);
  for (std::size_t i = 0; i < names.size(); ++i) {
    headers.push_back(npy_header(layout.fields[i], layout.rows()));
    HEADRACE_ASSIGN(Descriptor file, open_sized(names[i], headers[i].size() + data_bytes(layout, i)));
    std::string found(headers[i].size(), '\0');
    HEADRACE_TRY(read_all(file.get(), folder.path_of(names[i]), std::as_writable_bytes(std::span(found)), 0));
    if (found != headers[i]) return not_that(names[i], "its header is that of another array");
    HEADRACE_TRY(rows.add(file.get(), headers[i].size(), layout));
    data.push_back(std::move(file));
  }
  return {};
}

std::byte* BuildFiles::states() const {
  return state.data() + kStateHeaderBytes;
}
std::atomic<std::uint32_t>* BuildFiles::checksums(const RowLayout& layout) const {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(states() + BlockStates::bytes_for(layout.num_blocks()));
}
std::atomic<std::uint64_t>& BuildFiles::builders() const {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(state.data() + offsetof(StateHeader, builders));
}

Status BuildFiles::seal(const CachePlan& plan, const std::string& sample) const {
  const RowLayout& layout = plan.layout;
  const std::uint64_t num_blocks = layout.num_blocks();
  CacheManifest manifest;
  manifest.layout = layout;
  manifest.num_blocks = num_blocks;
  manifest.rows = layout.rows();
  manifest.sources = plan.origin.sources;
  manifest.sample = sample;
  std::vector<std::uint32_t> table(layout.fields.size() * num_blocks);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = checksums(layout)[i].load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (::fsync(data[i].get()) != 0)
      return system_error("fsync", errno, folder.path_of(names[i]), ErrorCode::kWriteFailed);
    std::uint32_t crc = crc32c(std::as_bytes(std::span(headers[i])));
    for (std::uint64_t block = 0; block < num_blocks; ++block)
      crc = crc32c_combine(crc, table[i * num_blocks + block], block_bytes(layout, i, block).size);
    manifest.data.push_back({names[i], rows.file_bytes(i), crc});
  }
  HEADRACE_ASSIGN(manifest.checksums, write_npy(folder, CacheManifest::kChecksumsName, {DType::Kind::kUInt, 4},
                                                {data.size(), num_blocks}, table));
  if (!uniform_block_rows(layout, plan.origin.sources)) {
    HEADRACE_ASSIGN(manifest.blocks, write_npy(folder, CacheManifest::kBlocksName, {DType::Kind::kUInt, 8},
                                               {num_blocks + 1}, layout.block_starts));
  }
  HEADRACE_TRY(folder.write_file(CacheManifest::kFileName, manifest.to_json()));
  return folder.sync();
}

}  // namespace headrace
