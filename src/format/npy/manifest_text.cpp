#include "format/npy/manifest_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksum/crc32c.h"
#include "base/text/read_json.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLastKey = "\"crc32c_of_the_above\": ";

Error manifest_damaged(std::string what) {
  return Error(ErrorCode::kCorruptData, std::move(what)).with_file(ManifestText::kFileName).with_stage("cache");
}

std::string checksum_of(std::string_view text) {
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(text))));
}

}  // namespace

std::string ManifestText::quoted(std::string_view text) {
  // Names that are no UTF-8 are written with replacement characters: such a source is not found again, never a wrong
  // one.
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ManifestText::sealed(std::string text) {
  text += fmt::format(",\n {}", kLastKey);
  return text + fmt::format("\"{}\"\n}}\n", checksum_of(text));
}

Result<Json> ManifestText::read(std::string_view text) {
  const std::size_t end = text.rfind(kLastKey);
  if (end == std::string_view::npos) return manifest_damaged("its last line, the checksum, is missing");
  const std::string_view above = text.substr(0, end + kLastKey.size());
  if (text.substr(above.size()) != fmt::format("\"{}\"\n}}\n", checksum_of(above)))
    return manifest_damaged("it is not what was written: its checksum differs");
  auto read = read_json<Json>(text);
  if (!read.ok()) return manifest_damaged(read.error().message());
  Json json = std::move(*read);
  if (!json.is_object()) return manifest_damaged("it is no JSON object");
  if (!json.contains("format") || json["format"] != kFormat)
    return manifest_damaged(fmt::format("its format is not \"{}\"", kFormat));
  const Json version = json.contains("format_version") ? json["format_version"] : Json();
  if (!version.is_number_unsigned()) return manifest_damaged("it names no version of the format");
  if (version.get<std::uint64_t>() != kFormatVersion)
    return Error(ErrorCode::kUnsupported, fmt::format("it has version {} of the format, this is version {}",
                                                      version.get<std::uint64_t>(), kFormatVersion))
        .with_file(kFileName)
        .with_stage("cache");
  return json;
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.size() < 200 && name.front() != '.' && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace headrace
