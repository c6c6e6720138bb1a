#include "catalog/array_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace {

std::uint64_t ArrayInfo::row_record_bytes() const {
  std::uint64_t n = record_bytes;
  for (std::size_t d = 1; d < shape.size(); ++d) n *= shape[d];
  return n;
}

bool ArrayInfo::merge_axes(std::size_t axes) {
  std::uint64_t rows = 1;
  for (std::size_t d = 0; d < axes; ++d)
    if (__builtin_mul_overflow(rows, shape[d], &rows)) return false;
  shape.erase(shape.begin() + 1, shape.begin() + static_cast<std::ptrdiff_t>(axes));
  shape[0] = rows;
  named_axes.clear();
  return true;
}

std::string ArrayInfo::read_path_name() const {
  switch (read_path) {
    case ReadPath::kNative:
      return "native";
    case ReadPath::kConverted:
      return "converted";
    case ReadPath::kFallback:
      return library;
    case ReadPath::kUnsupported:
      break;
  }
  return "refused";
}

std::string ArrayInfo::codec_text() const {
  std::string text;
  for (const FilterInfo& f : filters) {
    if (!text.empty()) text += " + ";
    text += f.name == "deflate" ? "gzip" : f.name;
    if (!f.setting.empty()) text += "-" + f.setting;
  }
  return text.empty() ? "none" : text;
}

std::string names_text(const std::vector<NamedAxis>& axes) {
  std::string text;
  for (const NamedAxis& axis : axes) text += (text.empty() ? "" : ", ") + axis.name;
  return text;
}

std::string Voxel::unit() const {
  std::string found;
  for (const std::string& own : units) {
    if (own.empty() || own == found) continue;
    if (!found.empty()) return {};
    found = own;
  }
  return found;
}

std::string Voxel::text() const {
  const std::string one = unit();
  std::string text;
  for (std::size_t a = 0; a < size.size(); ++a) {
    text += fmt::format("{}{}", a == 0 ? "" : " x ", size[a]);
    if (one.empty() && a < units.size() && !units[a].empty()) text += " " + units[a];
  }
  return one.empty() ? text : text + " " + one;
}

}  // namespace headrace
