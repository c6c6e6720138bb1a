#include "storage/file_range.h"

#include <fmt/format.h>

namespace headrace {

Status read_range(const FileRange& range, std::span<std::byte> out) {
  if (range.range.size == 0) return {};
  Status status = range.file->read_at(range.range.offset, out);
  if (!status.ok()) status.error().with_file(range.file->name()).with_stage("read");
  return status;
}

Status check_files_unchanged(std::span<const FileRange> ranges) {
  const RandomAccessFile* asked = nullptr;
  for (const FileRange& r : ranges) {
    if (r.range.size == 0 || r.file == asked) continue;
    asked = r.file;
    if (Status status = asked->check_unchanged(); !status.ok())
      return std::move(status.error().with_file(asked->name()).with_stage("read"));
  }
  return {};
}

Status read_ranges(std::span<const FileRange> ranges, std::span<std::byte> buffer) {
  std::size_t at = 0;
  for (const FileRange& r : ranges) {
    if (r.range.size > buffer.size() - at)
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("a buffer of {} bytes is too small for what is to be read", buffer.size()))
          .with_file(r.file->name())
          .with_stage("read");
    HEADRACE_TRY(read_range(r, buffer.subspan(at, r.range.size)));
    at += r.range.size;
  }
  return check_files_unchanged(ranges);
}

}  // namespace headrace
