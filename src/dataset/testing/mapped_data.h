// In-memory tables and volumes as groups of a sample map; what they hold follows from where it lies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assembly/mapped_source.h"
#include "catalog/samples/box_map.h"
#include "catalog/samples/span_map.h"
#include "dataset/testing/fake_source.h"

namespace headrace::testing {

/// Blocks of an in-memory table of uint32 columns, as a group of a map.
inline SourceGroup table_of(const std::vector<std::uint64_t>& file_rows, const std::vector<FakeShape>& arrays,
                            std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>()) {
  const Dataset dataset = fake_dataset(file_rows, arrays, std::move(faults));
  return {impl_of(dataset)->source.shared_rows(), impl_of(dataset)->layout};
}

/// A volume of uint32 in cells; every element names its place.
class FakeVolume final : public ArrayReader {
 public:
  FakeVolume(std::uint32_t number, const CellGrid& grid) : number_(number), grid_(grid) {
    info_.path = "volume";
    for (std::size_t a = 0; a < grid.rank; ++a) {
      info_.shape.push_back(grid.shape[a]);
      info_.chunk_shape.push_back(grid.cell[a]);
    }
    info_.record_bytes = 4;
    info_.columns = {{"", {DType::Kind::kUInt, 4}, {}, 0}};
  }
  static std::uint32_t value(std::uint32_t number, const CellGrid& grid, const Axes& at) {
    std::uint64_t flat = 0;
    for (std::size_t a = 0; a < grid.rank; ++a) flat = flat * grid.shape[a] + at[a];
    return fake_value(number, flat, 0);
  }
  const ArrayInfo& info() const override { return info_; }
  Status locate(RowRange, std::vector<Piece>&) const override { return Error(ErrorCode::kUnsupported, "cells only"); }
  Status locate_cells(std::span<const std::uint64_t> cells, std::vector<Piece>& out) const override {
    for (const std::uint64_t cell : cells) {
      Piece& piece = out.emplace_back();
      piece.id = cell;
      piece.rows = {0, 1};
      piece.decoded_bytes = grid_.cell_elements() * 4;
    }
    return {};
  }
  Result<DecodedPiece> decode(const Piece& piece, std::span<const std::byte>, const DecodeScratch& s) const override {
    auto* out = reinterpret_cast<std::uint32_t*>(s.out.data());
    const Axes start = grid_.cell_start(piece.id);
    for (std::uint64_t i = 0; i < grid_.cell_elements(); ++i) {
      Axes at{};
      std::uint64_t left = i;
      for (std::size_t a = grid_.rank; a-- > 0;) {
        at[a] = start[a] + left % grid_.cell[a];
        left /= grid_.cell[a];
      }
      out[i] = value(number_, grid_, at);
    }
    return DecodedPiece{s.out.data(), grid_.cell_elements() * 4};
  }
  RowGeometry geometry(std::uint32_t, std::size_t) const override { return {}; }
  std::uint32_t pieces_across() const override { return 1; }
  ScratchNeed scratch_need(std::uint64_t) const override { return {grid_.cell_elements() * 4, 0}; }
  std::string piece_name(const Piece&) const override { return ""; }

 private:
  std::uint32_t number_;
  CellGrid grid_;
  ArrayInfo info_;
};

/// Boxes of one volume at places that are listed.
class ListedStarts final : public BoxStarts {
 public:
  explicit ListedStarts(std::vector<Axes> starts) : starts_(std::move(starts)) {}
  [[nodiscard]] std::uint64_t num_samples() const override { return starts_.size(); }
  [[nodiscard]] std::vector<std::uint64_t> volume_ends() const override { return {starts_.size()}; }
  [[nodiscard]] std::uint64_t box_of(std::uint64_t sample, EpochSeed) const override { return sample; }
  [[nodiscard]] BoxPlace place_of(std::uint64_t box) const override { return {0, starts_[box]}; }
  void meeting(std::uint32_t, const Axes& begin, const Axes& end, const Axes& reach,
               std::vector<std::uint64_t>& samples) const override {
    for (std::uint64_t i = 0; i < starts_.size(); ++i) {
      bool meets = true;
      for (std::size_t a = 0; a < kMostVolumeAxes; ++a)
        meets = meets && starts_[i][a] < end[a] && starts_[i][a] + reach[a] > begin[a];
      if (meets) samples.push_back(i);
    }
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return starts_.size() * sizeof(Axes); }

 private:
  const std::vector<Axes> starts_;
};

/// A map of boxes of one volume.
inline std::shared_ptr<const BoxMap> boxes_at(std::vector<CellGrid> grids, const Axes& box, std::vector<Axes> starts,
                                              std::uint64_t block_samples) {
  return std::make_shared<BoxMap>(
      BoxMap::Options{{{0, std::move(grids)}}, box, std::make_shared<ListedStarts>(std::move(starts)), block_samples});
}

inline SourceGroup volume_of(std::uint32_t number, const CellGrid& grid) {
  auto source = std::make_shared<Source>();
  source->set_columns({{"v" + std::to_string(number), "v", {DType::Kind::kUInt, 4}, {}}});
  source->places.push_back({0, 0});
  SourceFile& file = source->files.emplace_back();
  file.path = "volume";
  file.rows = grid.shape[0];
  file.arrays.push_back(std::make_shared<FakeVolume>(number, grid));
  BlockLayout layout;
  layout.files.push_back({1, {ArrayRole::kAligned}});
  return {std::move(source), std::move(layout)};
}

/// Lengths of events: most are short, some are 0, a few cross units.
inline std::vector<std::uint64_t> heavy_tailed(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t r = (i + seed) * 0x9E3779B97F4A7C15u >> 33;
    lengths.push_back(r % 16 == 0 ? 0 : r % 23 == 0 ? 40 + r % 200 : r % 12);
  }
  return lengths;
}

/// The same group, its columns named prefix0, prefix1, ….
inline SourceGroup renamed(SourceGroup group, const std::string& prefix) {
  auto source = std::make_shared<Source>(*group.source);
  std::vector<StoredColumn> columns = *group.source->columns;
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].name = prefix + std::to_string(c);
  source->set_columns(std::move(columns));
  group.source = std::move(source);
  return group;
}

/// Events of "pulse0" (ragged, 3) and "pulse1" (ragged, 1), with "label0" (2).
struct Events {
  std::vector<std::uint64_t> starts{0};
  std::shared_ptr<FakeFaults> faults = std::make_shared<FakeFaults>();
  std::optional<Dataset> data;

  explicit Events(const std::vector<std::uint64_t>& lengths, std::uint64_t block_samples = 8) {
    for (const std::uint64_t n : lengths) starts.push_back(starts.back() + n);
    const std::uint64_t rows = std::max<std::uint64_t>(starts.back(), 1), third = rows / 3;
    std::vector<SourceGroup> groups;
    groups.push_back(renamed(table_of({third + 1, 1, rows - third}, {{3, 32}, {1, 64}}, faults), "pulse"));
    groups.push_back(renamed(table_of({lengths.size()}, {{2, 16}}), "label"));
    auto map = std::make_shared<SpanMap>(SpanMap::Options{.block_samples = block_samples,
                                                          .rows = groups[0].layout.table,
                                                          .side = groups[1].layout.table,
                                                          .row_weight = row_weight(2),
                                                          .side_weight = row_weight(1),
                                                          .spans = Spans::between(starts)});
    data.emplace(Dataset::Impl::make(make_mapped_source(map, nullptr, std::move(groups), "events").value()));
  }
};

/// Everything a batch holds.
struct Copy {
  std::vector<std::vector<std::byte>> fields;
  std::vector<std::vector<std::int64_t>> offsets;
  friend bool operator==(const Copy&, const Copy&) = default;
};
inline Copy copy_of(const Batch& batch) {
  Copy copy;
  for (std::size_t f = 0; f < batch.fields().size(); ++f) {
    const Tensor tensor = batch.array(f);
    copy.fields.emplace_back(tensor.data(), tensor.data() + tensor.size_bytes());
    copy.offsets.emplace_back(batch.offsets(f).begin(), batch.offsets(f).end());
  }
  return copy;
}

}  // namespace headrace::testing
