#include "tools/rewrite/rewrite_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "format/page_journal.h"
#include "tools/json.h"

namespace headrace {

std::string RewriteRecord::text() const {
  Json json;
  json["headrace_rewrite"] = 1;
  json["identity"] = identity, json["codec"] = codec, json["asked"] = asked;
  json["closed"] = is_closed;
  json["output"] = {output.device, output.inode, output.size_bytes, output.mtime_ns};
  json["copied"] = copied, json["notes"] = notes;
  Json& list = json["arrays"] = Json::array();
  for (const Array& a : arrays) list.push_back({{"path", a.path}, {"rows", a.rows_done}, {"sums", a.sums}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RewriteRecord> RewriteRecord::parse(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    RewriteRecord out;
    if (json.at("headrace_rewrite") != 1) return Error(ErrorCode::kCorruptData, "a record of another version");
    out.identity = json.at("identity"), out.codec = json.at("codec"), out.asked = json.at("asked");
    out.is_closed = json.at("closed");
    const Json& output = json.at("output");
    out.output = {output.at(0), output.at(1), output.at(2), output.at(3), 0, 0};
    out.copied = json.at("copied").get<std::vector<std::string>>();
    out.notes = json.at("notes").get<std::vector<std::string>>();
    for (const Json& a : json.at("arrays"))
      out.arrays.push_back({a.at("path"), a.at("rows"), a.at("sums").get<std::vector<std::uint64_t>>()});
    return out;
  } catch (const Json::exception& error) {
    return Error(ErrorCode::kCorruptData, fmt::format("no record of a rewrite: {}", error.what()));
  }
}

Result<RewriteRecord> read_record(const std::string& path) {
  HEADRACE_ASSIGN(const PageJournal journal, read_journal(path));
  auto record = RewriteRecord::parse(journal.state);
  if (!record.ok()) record.error().with_file(path);
  return record;
}

Status write_record(const std::string& path, const RewriteRecord& record) {
  return write_journal(path, {record.text(), 0, {}});
}

Result<WorkLock> WorkLock::take(const std::string& work) {
  std::error_code failure;
  std::filesystem::create_directories(work, failure);
  if (failure) return write_failure(work, "making the directory", failure.value());
  const int fd = ::open(work.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return write_failure(work, "opening the directory", errno);
  WorkLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;  // a file system without locks
  return Error(ErrorCode::kInvalidArgument, "another headrace rewrite writes there")
      .with_file(work)
      .with_hint("Wait until it is done, or name another directory with --to.");
}

WorkLock::WorkLock(WorkLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
WorkLock::~WorkLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace headrace
