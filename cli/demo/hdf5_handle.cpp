#include "demo/hdf5_handle.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace headrace::demo {
namespace {

struct Reason {
  int system_error = 0;
  std::string innermost;
};

/// libhdf5 keeps the system's errno only inside a message: "... errno = 28, error message = ...".
herr_t look(unsigned, const H5E_error2_t* entry, void* data) {
  auto& reason = *static_cast<Reason*>(data);
  const std::string_view text = entry->desc != nullptr ? entry->desc : "";
  if (reason.innermost.empty()) reason.innermost = text;
  constexpr std::string_view kKey = "errno = ";
  if (const auto at = text.find(kKey); at != std::string_view::npos && reason.system_error == 0) {
    const char* from = text.data() + at + kKey.size();
    std::from_chars(from, text.data() + text.size(), reason.system_error);
  }
  return 0;
}

}  // namespace

Error hdf5_write_error(const std::string& file, const char* doing) {
  Reason reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look, &reason);
  H5Eclear2(H5E_DEFAULT);
  const int number = reason.system_error;
  const ErrorCode code = number == EACCES || number == EPERM || number == EROFS ? ErrorCode::kPermission
                         : number == ENOENT || number == ENOTDIR                ? ErrorCode::kNotFound
                                                                                : ErrorCode::kWriteFailed;
  const std::string why = number != 0                ? std::string(std::strerror(number))
                          : reason.innermost.empty() ? std::string("libhdf5 gives no reason")
                                                     : fmt::format("libhdf5 says: {}", reason.innermost);
  Error error(code, fmt::format("{} failed: {}", doing, why));
  error.with_file(file).with_stage("write");
  if (number == ENOSPC || number == EDQUOT) error.with_hint("Free some space, choose another --out, or fewer --jets.");
  if (code == ErrorCode::kPermission) error.with_hint("Choose an --out directory that you may write to.");
  return error;
}

}  // namespace headrace::demo
