#include "cache/directory/cache_name.h"

#include <fmt/format.h>

#include <filesystem>

#include "cache/directory/cache_manifest.h"
#include "cache/name_hash.h"
#include "cache/row_layout.h"

namespace headrace {
namespace {

constexpr std::size_t kMostStemBytes = 64, kKeyDigits = 16;
constexpr std::string_view kBuilding = ".building";

std::string stem_of(const CacheOrigin& origin) {
  std::string stem = origin.sources.empty() ? "" : std::filesystem::path(origin.sources[0].path).stem().string();
  stem.resize(std::min(stem.size(), kMostStemBytes));
  for (char& c : stem)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-') c = '_';
  return stem.empty() ? "rows" : stem;
}

}  // namespace

std::uint64_t cache_key(const CacheOrigin& origin, const RowLayout& layout) {
  std::string text = fmt::format("headrace-cache {}\n", ManifestText::kFormatVersion) + layout_text(layout);
  for (const CacheSource& source : origin.sources) {
    const std::string name = std::filesystem::path(source.path).filename().string();
    text += fmt::format("source {}:{} {} {} {} {}\n", name.size(), name, source.fingerprint.size_bytes,
                        source.fingerprint.mtime_ns, source.fingerprint.entries, source.rows);
  }
  if (!origin.detail.empty()) text += fmt::format("detail {}:{}\n", origin.detail.size(), origin.detail);
  return name_hash(text);
}

std::uint64_t touch_key(const CacheOrigin& origin) {
  std::string text;
  for (const CacheSource& source : origin.sources)
    text += fmt::format("{} {}\n", source.fingerprint.inode, source.fingerprint.ctime_ns);
  return name_hash(text);
}

std::string cache_name(const CacheOrigin& origin, std::uint64_t key) {
  return fmt::format("{}-{:016x}", stem_of(origin), key);
}

bool parse_cache_name(std::string_view text, CacheName& out) {
  out = {};
  if (const std::size_t at = text.rfind(kBuilding); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + kBuilding.size());
    if (!rest.empty() && rest.front() != '-' && rest.front() != '.') return false;
    out.building = true;
    out.preparing = rest.find('.') != std::string_view::npos;
    text = text.substr(0, at);
  }
  if (text.size() < kKeyDigits + 2 || text[text.size() - kKeyDigits - 1] != '-') return false;
  out.stem = text.substr(0, text.size() - kKeyDigits - 1);
  out.key = text.substr(text.size() - kKeyDigits);
  return out.stem.front() != '.' && out.key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace headrace
