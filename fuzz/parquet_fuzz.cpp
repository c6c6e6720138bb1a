// Opens arbitrary bytes as a Parquet file, and decodes the first rows of every column, as each of its parts, in runs of
// several sizes; those of lists must have as many elements as the lengths of their lists say. What the process may hold
// is limited, so that no page is believed to be as large as it says.
#include <array>
#include <memory>
#include <vector>

#include "base/memory/memory_budget.h"
#include "format/parquet/column_array.h"
#include "format/parquet/footer.h"
#include "format/parquet/parquet_reader.h"
#include "read_arrays.h"
#include "storage/testing/memory_file.h"

namespace {

using namespace headrace;

constexpr std::size_t kColumns = 64;

std::shared_ptr<const parquet::OpenParquet> open_bytes(std::span<const std::byte> bytes) {
  parquet::FooterDecoder footer(bytes.size());
  while (const auto needs = footer.needs())
    if (!footer.push(bytes.subspan(needs->offset, needs->size)).ok()) return nullptr;
  auto opened = std::make_shared<parquet::OpenParquet>();
  opened->metadata = footer.take();
  opened->columns = parquet::leaf_columns(opened->metadata);
  opened->file = std::make_shared<MemoryFile>("fuzz", std::vector<std::byte>(bytes.begin(), bytes.end()));
  opened->path = "fuzz.parquet";
  return opened;
}

void read_in_runs(const ArrayReader& array) {
  constexpr std::array<std::uint64_t, 4> kRuns{1000, 1, 7, 64};
  const std::uint64_t rows = std::min(array.info().rows(), fuzz::kRows);
  std::uint64_t row = 0;
  for (std::size_t i = 0; row < rows; ++i) {
    const std::uint64_t count = std::min(kRuns[i % kRuns.size()], rows - row);
    fuzz::read_rows(array, {row, count});
    row +=
        i % kRuns.size() == 0 && i < kRuns.size() ? 0 : count;  // the first time, all of them are read at once as well
  }
}

/// Stop where a reader contradicts itself.
void check_lengths(const ArrayReader& array, std::uint64_t file_rows) {
  const auto lengths = array.list_lengths();
  if (!lengths.ok() || array.info().list.empty()) return;
  std::uint64_t elements = 0;
  for (const std::uint32_t length : *lengths) elements += length;
  if (elements != array.info().rows() || lengths->size() != file_rows) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  [[maybe_unused]] static const bool limited = set_process_memory(std::uint64_t{128} << 20).ok();
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto opened = open_bytes(bytes);
  if (opened == nullptr) return 0;
  for (std::size_t column = 0; column < std::min(opened->columns.size(), kColumns); ++column)
    for (const auto part :
         {parquet::ColumnPart::kValues, parquet::ColumnPart::kFilledValues, parquet::ColumnPart::kPresence})
      if (const auto array = parquet::open_column(opened, column, part); array.ok()) {
        check_lengths(**array, opened->metadata.num_rows);
        read_in_runs(**array);
      }
  const auto reader = parquet::open_parquet(
      std::make_shared<MemoryFile>("fuzz", std::vector<std::byte>(bytes.begin(), bytes.end())), "fuzz.parquet");
  if (reader.ok()) (void)(*reader)->open_array("no such column");
  return 0;
}
