#include "demo/write_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace headrace::demo {

Error write_error(const std::string& file, const char* doing, int number) {
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kPermission
                         : number == ENOENT || number == ENOTDIR                ? ErrorCode::kNotFound
                                                                                : ErrorCode::kWriteFailed;
  Error error(code, fmt::format("{} failed: {}", doing, std::strerror(number)));
  error.with_file(file).with_stage("write");
  if (number == ENOSPC || number == EDQUOT) error.with_hint("Free some space, choose another --out, or fewer --jets.");
  if (code == ErrorCode::kPermission) error.with_hint("Choose an --out directory that you may write to.");
  return error;
}

}  // namespace headrace::demo
