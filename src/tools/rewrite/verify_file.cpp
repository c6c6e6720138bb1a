#include "tools/rewrite/verify_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/rewrite/segment_sums.h"

namespace headrace {
namespace {

Error differs(const RewriteFile& plan, const std::string& path, const std::string& what) {
  return Error(ErrorCode::kCorruptData, fmt::format("the new file does not hold what {} holds: {}", plan.source, what))
      .with_file(plan.partial)
      .with_field(path)
      .with_stage("verify")
      .with_hint(
          "Nothing was given its name. Run the command again; if that repeats, check the disk "
          "and the memory of this machine.");
}

bool same_columns(const ArrayInfo& a, const ArrayInfo& b) {
  return a.shape == b.shape && a.record_bytes == b.record_bytes &&
         std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const Column& x, const Column& y) {
                      return x.name == y.name && x.dtype == y.dtype && x.inner_shape == y.inner_shape &&
                             x.offset == y.offset;
                    });
}

Status verify_array(const RewriteFile& plan, const RewriteArray& array, const RewriteRecord::Array& record,
                    const FormatReader& file, std::uint32_t threads, const ScanTick& tick) {
  const std::string& path = array.made.info.path;
  HEADRACE_ASSIGN(const std::shared_ptr<ArrayReader> reader, file.open_array(path));
  if (!same_columns(reader->info(), array.made.info)) return differs(plan, path, "its shape or type");
  SegmentSums sums(array);
  const RowSource source{reader.get(), {0, array.rows()}, 0};
  const auto visit = [&](const ScannedPiece& piece) -> Status {
    for (std::uint64_t row = piece.rows.first; row < piece.rows.end(); ++row) sums.add(row, piece.row(row));
    return {};
  };
  HEADRACE_TRY(scan_rows(std::span(&source, 1), threads, visit, tick));
  const std::vector<std::uint64_t> found = sums.values();
  for (std::size_t s = 0; s < found.size(); ++s)
    if (found[s] != record.sums[s])
      return differs(plan, path,
                     fmt::format("rows {} to {}", s * array.segment_rows(),
                                 std::min((s + 1) * array.segment_rows(), array.rows()) - 1));
  return {};
}

}  // namespace

Status verify_rewritten(const RewriteFile& plan, const RewriteRecord& record, std::uint32_t threads,
                        const ScanTick& tick) {
  HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> file, open_file(plan.partial));
  std::uint64_t before = 0;
  std::vector<std::string> remade;
  for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
    const ScanTick own = [&](std::uint64_t bytes) { return !tick || tick(before + bytes); };
    Status verified = verify_array(plan, plan.arrays[a], record.arrays[a], *file, threads, own);
    if (!verified.ok()) return std::move(verified.error().with_file(plan.partial).with_stage("verify"));
    before += plan.arrays[a].decoded_bytes();
    remade.push_back(plan.arrays[a].made.info.path);
  }
  if (!plan.is_hdf5) return {};
  return hdf5::compare_copied(plan.source, plan.partial, record.copied, remade);
}

}  // namespace headrace
