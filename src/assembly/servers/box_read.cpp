#include "assembly/servers/box_read.h"

#include <algorithm>

namespace headrace {
namespace {

// A call on a file in the page cache costs what copying 3 KiB does, and a disk moves more in the time of a seek.
constexpr std::uint64_t kHoleBytes = 8 << 10;
constexpr std::uint64_t kTogetherBytes = 1 << 20;  // of one read, so that its bytes stay in the processor's cache

}  // namespace

BoxReads plan_box_reads(const CellGrid& grid, const BoxOverlap& overlap) {
  const Axes& extents = grid.extents();
  BoxReads plan{grid.rank - 1, 1, overlap.count[grid.rank - 1]};
  std::uint64_t stride = 1;  // elements from one place of the axis before plan.axis to the next
  for (; plan.axis > 0; --plan.axis) {
    stride *= extents[plan.axis];
    const std::uint64_t count = overlap.count[plan.axis - 1];
    const std::uint64_t together = (count - 1) * stride + plan.read_elements;
    const std::uint64_t hole = stride - plan.read_elements;
    if (count > 1 && (hole * grid.element_bytes > kHoleBytes || together * grid.element_bytes > kTogetherBytes)) break;
    plan.read_elements = together;
  }
  for (std::size_t a = 0; a < plan.axis; ++a) plan.reads *= overlap.count[a];
  return plan;
}

std::uint64_t box_buffer_bytes(const CellGrid& grid, const Axes& box) {
  return std::max(kTogetherBytes, box[grid.rank - 1] * grid.element_bytes);
}

Result<BoxRead> read_box(const CellGrid& grid, const BoxOverlap& overlap, const FileRange& stored, const Axes& box,
                         std::byte* to, std::span<std::byte> buffer, StageClock& clock) {
  const BoxReads plan = plan_box_reads(grid, overlap);
  const Axes& extents = grid.extents();
  const std::uint64_t item = grid.element_bytes, bytes = plan.read_elements * item;
  const bool direct = plan.axis + 1 == grid.rank;  // a row is read to where it belongs
  BoxRead out;
  out.read_bytes = plan.bytes(grid);
  BoxOverlap part = overlap;  // what one read brings
  for (std::size_t a = 0; a < plan.axis; ++a) part.count[a] = 1;
  part.cell_offset = 0;
  std::uint64_t read_ns = 0, copy_ns = 0;
  Axes at{};
  for (std::uint64_t i = 0; i < plan.reads; ++i) {
    std::uint64_t from = 0, into = 0;
    for (std::size_t a = 0; a < grid.rank; ++a) {
      from = from * extents[a] + at[a];
      into = into * box[a] + at[a];
    }
    from += overlap.cell_offset;
    part.box_offset = overlap.box_offset + into;
    const std::uint64_t start = now_ns();
    std::byte* const target = direct ? to + part.box_offset * item : buffer.data();
    HEADRACE_TRY(read_range({stored.file, {stored.range.offset + from * item, bytes}}, {target, bytes}));
    const std::uint64_t read = now_ns();
    const BoxCopied done =
        direct ? BoxCopied{target, target, target, target, bytes, bytes} : copy_box(grid, part, buffer.data(), box, to);
    const auto in_cell = [&](const std::byte* place) {
      return from + static_cast<std::uint64_t>(place - target) / item;
    };
    if (i == 0) {
      out.first_from = in_cell(done.first_from);
      out.copied.first_to = done.first_to;
    }
    out.last_from = in_cell(done.last_from);
    out.copied.last_to = done.last_to;
    out.copied.run_bytes = done.run_bytes;
    out.copied.bytes += done.bytes;
    read_ns += read - start;
    copy_ns += now_ns() - read;
    for (std::size_t a = plan.axis; a-- > 0;) {
      if (++at[a] < overlap.count[a]) break;
      at[a] = 0;
    }
  }
  clock.add(Stage::kRead, read_ns, out.read_bytes, plan.reads);
  clock.add(Stage::kScatter, copy_ns, out.copied.bytes);
  return out;
}

}  // namespace headrace
