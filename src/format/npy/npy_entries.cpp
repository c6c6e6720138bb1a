#include "format/npy/npy_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/nearest_name.h"

namespace headrace::npy {
namespace {

std::string without_root(const std::string& path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

class NpyReader final : public FormatReader {
 public:
  NpyReader(std::string format_name, std::string path, std::shared_ptr<RandomAccessFile> file,
            std::vector<Entry> entries, bool any_name)
      : format_name_(std::move(format_name)),
        path_(std::move(path)),
        file_(std::move(file)),
        entries_(std::move(entries)),
        any_name_(any_name) {
    std::ranges::sort(entries_, {}, [](const Entry& e) -> const std::string& { return e.info.path; });
    for (const Entry& entry : entries_) arrays_.push_back(entry.info);
  }

  [[nodiscard]] std::string format_name() const override { return format_name_; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *file_; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& asked) const override {
    // A path counts from the root, with or without its slash; members have names, of which a slash may be a part.
    const std::string name = without_root(asked);
    auto entry = std::ranges::find_if(entries_, [&](const Entry& e) { return any_name_ || e.info.path == asked; });
    if (entry == entries_.end())
      entry = std::ranges::find(entries_, name, [](const Entry& e) { return without_root(e.info.path); });
    if (entry == entries_.end()) return missing(name);
    if (entry->info.read_path == ReadPath::kUnsupported)
      return Error(ErrorCode::kUnsupported, entry->info.reason)
          .with_file(path_)
          .with_field(entry->info.path)
          .with_stage("open")
          .with_hint(entry->header.type.hint);
    return open_npy_array(entry->info, entry->header, entry->values);
  }

 private:
  [[nodiscard]] Error missing(const std::string& name) const {
    std::vector<std::string> names;
    for (const ArrayInfo& info : arrays_) names.push_back(info.path);
    Error error(ErrorCode::kFieldMissing, fmt::format("the file has no array '{}'", name));
    if (!names.empty()) error.with_hint("It has: " + list_names(nearest_names(name, names)) + ".");
    return std::move(error.with_file(path_).with_field(name));
  }

  const std::string format_name_, path_;
  const std::shared_ptr<RandomAccessFile> file_;
  std::vector<Entry> entries_;
  std::vector<ArrayInfo> arrays_;
  const bool any_name_;
};

}  // namespace

Status check_end(const NpyHeader& header, std::uint64_t size_bytes) {
  const std::uint64_t end = header.header_bytes + header.value_bytes;
  if (!header.type.refusal.empty() || size_bytes == end) return {};
  return Error(ErrorCode::kUnsupported, fmt::format("{} bytes follow the array's {}", size_bytes - end, end))
      .with_hint("Several arrays in one file? Save them by np.savez.");
}

Result<std::string> what_follows(const ReadStart& read, const NpyHeader& header, std::uint64_t size_bytes) {
  const std::uint64_t end = header.header_bytes + header.value_bytes;
  if (!header.type.refusal.empty() || size_bytes == end) return std::string();
  std::array<std::byte, 8> next{};
  const std::span<std::byte> start = std::span(next).first(std::min<std::uint64_t>(next.size(), size_bytes - end));
  HEADRACE_TRY(read(end, start));
  if (is_npy(start))
    return Error(ErrorCode::kUnsupported,
                 fmt::format("another array follows at byte {}, behind the first one's end", end))
        .with_hint("Save several arrays by np.savez.");
  return fmt::format("{} bytes follow the array's {}, and are not read", size_bytes - end, end);
}

Result<Entry> open_npy_entry(std::shared_ptr<RandomAccessFile> file, const std::string& path, const std::string& name) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) { return file->read_at(offset, out); };
  Entry entry;
  HEADRACE_ASSIGN(entry.header, read_npy_header(read, file->size()));
  HEADRACE_ASSIGN(std::string notice, what_follows(read, entry.header, file->size()));
  if (entry.header.shape.empty())
    return Error(ErrorCode::kUnsupported, "a single number, without any dimension")
        .with_hint("Rows are expected: np.save(path, np.atleast_1d(array)).");
  entry.values = {std::move(file), path, {entry.header.header_bytes, entry.header.value_bytes}, false, 0};
  entry.info = describe(name, entry.header, entry.values);
  entry.info.notice = std::move(notice);
  return entry;
}

std::shared_ptr<FormatReader> make_npy_reader(std::string format_name, std::string path,
                                              std::shared_ptr<RandomAccessFile> file, std::vector<Entry> entries,
                                              bool any_name) {
  return std::make_shared<NpyReader>(std::move(format_name), std::move(path), std::move(file), std::move(entries),
                                     any_name);
}

}  // namespace headrace::npy
