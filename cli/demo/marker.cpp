#include "demo/marker.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace headrace::demo {
namespace {

/// Raised by hand whenever the tables or the generator change what the same options write.
constexpr int kGeneratorVersion = 1;

}  // namespace

std::string options_text(const JetOptions& options) {
  const nlohmann::json json = {
      {"kind", "jets"},
      {"generator_version", kGeneratorVersion},
      {"num_jets", options.num_jets},
      {"files", options.files},
      {"chunk_rows", options.chunk_rows},
      {"seed", options.seed},
      {"classes", options.classes},
      {"adjacency_layout", to_string(options.pair_layout)},
      {"storage", to_string(options.storage)},
  };
  return json.dump();
}

Marker read_marker(const std::string& directory) {
  std::ifstream stream(std::filesystem::path(directory) / kMarkerName);
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  Marker marker;
  if (!json.is_object() || !json.contains("options") || !json.contains("files")) return marker;
  const nlohmann::json& files = json["files"];
  if (!json["options"].is_object() || !files.is_array()) return marker;
  marker.options = json["options"].dump();
  for (const nlohmann::json& file : files) {
    if (!file.is_object() || !file.contains("name") || !file["name"].is_string() || !file.contains("bytes") ||
        !file["bytes"].is_number_unsigned()) {
      return {};
    }
    const std::string name = file["name"].get<std::string>();
    if (std::filesystem::path(name).filename() != name) return {};  // never reach outside the directory
    marker.files.push_back({name, file["bytes"].get<std::uint64_t>()});
  }
  return marker;
}

Status write_marker(const std::string& directory, const Marker& marker) {
  nlohmann::json json;
  json["options"] = nlohmann::json::parse(marker.options);
  json["files"] = nlohmann::json::array();
  for (const MarkedFile& file : marker.files) json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
  const std::filesystem::path path = std::filesystem::path(directory) / kMarkerName;
  std::ofstream stream(path, std::ios::trunc);
  stream << json.dump(2) << '\n';
  stream.close();
  if (stream) return {};
  const int number = errno;
  return Error(number == EACCES || number == EROFS ? ErrorCode::kPermission : ErrorCode::kWriteFailed,
               std::string("writing the record of the demo files failed: ") + std::strerror(number))
      .with_file(path.string())
      .with_stage("write");
}

bool files_are_there(const std::string& directory, const Marker& marker) {
  for (const MarkedFile& file : marker.files) {
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(std::filesystem::path(directory) / file.name, failure);
    if (failure || bytes != file.bytes) return false;
  }
  return !marker.files.empty();
}

}  // namespace headrace::demo
