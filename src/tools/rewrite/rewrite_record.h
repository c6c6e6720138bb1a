// How far one file is: kept in its journal while it is written, and beside it once it is whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/fingerprint.h"

namespace headrace {

struct RewriteRecord {
  std::string identity;      ///< identity_of() when it was begun.
  std::string codec, asked;  ///< What was settled, and what was asked for.
  struct Array {
    std::string path;
    std::uint64_t rows_done = 0;      ///< From the start of the array.
    std::vector<std::uint64_t> sums;  ///< Sums of the rows done, as read from the sources.
  };
  std::vector<Array> arrays;
  std::vector<std::string> copied, notes;
  bool is_closed = false;  ///< All rows are written.
  FileFingerprint output;  ///< Fingerprint of the whole file; set once it is verified.

  [[nodiscard]] std::string text() const;
  static Result<RewriteRecord> parse(const std::string& text);
};

/// Read or replace a record that stands alone. Errors: kNotFound, kCorruptData, kWriteFailed.
Result<RewriteRecord> read_record(const std::string& path);
Status write_record(const std::string& path, const RewriteRecord& record);

/// Hold the directory `work` (made if need be) alone until the descriptor is closed.
/// Errors: kWriteFailed, kPermission; kInvalidArgument  another process writes there.
class WorkLock {
 public:
  static Result<WorkLock> take(const std::string& work);
  WorkLock(WorkLock&& other) noexcept;
  WorkLock& operator=(WorkLock&&) = delete;
  ~WorkLock();

 private:
  explicit WorkLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace headrace
