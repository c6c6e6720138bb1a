#include "format/parquet/parquet_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/nearest_name.h"
#include "format/parquet/column_array.h"
#include "format/parquet/column_description.h"
#include "format/parquet/footer.h"

namespace headrace::parquet {
namespace {

class ParquetReader final : public FormatReader {
 public:
  explicit ParquetReader(std::shared_ptr<const OpenParquet> opened) : opened_(std::move(opened)) {
    for (const LeafColumn& column : opened_->columns) arrays_.push_back(describe_column(*opened_, column));
    std::ranges::stable_sort(arrays_, {}, &ArrayInfo::path);
  }

  [[nodiscard]] std::string format_name() const override { return "Parquet"; }
  [[nodiscard]] const std::string& path() const override { return opened_->path; }
  [[nodiscard]] bool has_groups() const override { return false; }
  [[nodiscard]] const std::vector<ArrayInfo>& arrays() const override { return arrays_; }
  [[nodiscard]] const RandomAccessFile& file() const override { return *opened_->file; }

  Result<std::shared_ptr<ArrayReader>> open_array(const std::string& asked) const override {
    for (const LeafColumn& column : opened_->columns)
      if (column.path == asked) return open_column(opened_, column.index, ColumnPart::kValues);
    for (const LeafColumn& column : opened_->columns)
      if (asked == column.path + std::string(kPresenceSuffix))
        return open_column(opened_, column.index, ColumnPart::kPresence);
    if (asked.starts_with('/')) return open_array(asked.substr(1));
    return missing(asked);
  }

 private:
  [[nodiscard]] Error missing(const std::string& name) const {
    std::vector<std::string> names;
    for (const LeafColumn& column : opened_->columns) names.push_back(column.path);
    Error error(ErrorCode::kFieldMissing, fmt::format("the file has no column '{}'", name));
    if (!names.empty()) error.with_hint("It has: " + list_names(nearest_names(name, names)) + ".");
    return std::move(error.with_file(opened_->path).with_field(name));
  }

  const std::shared_ptr<const OpenParquet> opened_;
  std::vector<ArrayInfo> arrays_;
};

}  // namespace

Result<std::shared_ptr<FormatReader>> open_parquet(std::shared_ptr<RandomAccessFile> file, const std::string& path) {
  FooterDecoder footer(file->size());
  std::vector<std::byte> bytes;
  while (const auto needs = footer.needs()) {
    bytes.resize(static_cast<std::size_t>(needs->size));
    HEADRACE_TRY(file->read_at(needs->offset, bytes));
    HEADRACE_TRY(footer.push(bytes));
  }
  auto opened = std::make_shared<OpenParquet>();
  opened->metadata = footer.take();
  opened->columns = leaf_columns(opened->metadata);
  opened->path = path;
  opened->file = std::move(file);
  return std::shared_ptr<FormatReader>(std::make_shared<ParquetReader>(std::move(opened)));
}

}  // namespace headrace::parquet
