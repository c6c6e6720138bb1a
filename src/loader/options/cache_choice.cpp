#include <fmt/format.h>
#include <headrace/loader.h>

#include <filesystem>

#include "dataset/files/paths.h"

namespace headrace {

CacheChoice CacheChoice::parse(const std::string& text) {
  if (text == "auto") return {kAuto, {}};
  if (text == "none") return {kNone, {}};
  if (text == "ram") return {kRam, {}};
  std::error_code ec;
  if (text.empty() || (text.find('/') == std::string::npos && !std::filesystem::is_directory(text, ec)))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is none of auto, none and ram, and no directory", text))
        .with_hint(fmt::format("To make a directory of that name, write ./{}.", text));
  return {kDirectory, expand_home(text)};
}

}  // namespace headrace
