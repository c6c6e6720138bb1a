#include <headrace/stats.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/machine/cpu_count.h"
#include "base/memory/memory_budget.h"
#include "base/threads/parallel.h"
#include "dataset/dataset_contents.h"
#include "dataset/facts/data_identity.h"
#include "dataset/facts/moments.h"
#include "dataset/facts/stats_store.h"
#include "dataset/facts/voxel_tiles.h"
#include "dataset/files/read_concurrency.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/field_values.h"
#include "dataset/samples/rows_of_samples.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostGroups = 1024;                      // of blocks that are summed up together
constexpr std::uint64_t kGroupsBytes = std::uint64_t{64} << 20;  // of their sums
constexpr std::string_view kFormat = "moments 1";                // of what is kept

/// Values of a field in numbered blocks, each value once.
class BlockValues {
 public:
  explicit BlockValues(const DType& dtype) : convert_(to_doubles(dtype)), itemsize_(dtype.itemsize) {}
  virtual ~BlockValues() = default;
  BlockValues(const BlockValues&) = delete;
  BlockValues& operator=(const BlockValues&) = delete;

  [[nodiscard]] virtual std::uint64_t num_blocks() const = 0;
  /// Return the most threads that there is memory for. Throws where there is none for one.
  [[nodiscard]] virtual std::uint64_t most_threads() const = 0;
  /// One thread's.
  class Reader {
   public:
    virtual ~Reader() = default;
    /// Add the values of a block to moments.
    virtual Status add(std::uint64_t block, Moments& to) = 0;
  };
  [[nodiscard]] virtual Result<std::unique_ptr<Reader>> reader() = 0;

 protected:
  /// Add values as they are stored.
  void add_values(std::span<const std::byte> stored, Moments& to) const {
    const std::uint64_t values = stored.size() / itemsize_;
    std::vector<double> tile(to.tile_values());
    for (std::uint64_t first = 0; first < values; first += tile.size()) {
      const std::span<double> here = std::span(tile).first(std::min<std::uint64_t>(tile.size(), values - first));
      convert_(stored.data() + first * itemsize_, here);
      to.add(here);
    }
  }

 private:
  const ToDoubles convert_;
  const std::size_t itemsize_;
};

/// Rows of a data set of one field.
class RowValues final : public BlockValues {
 public:
  explicit RowValues(Dataset::Impl& data) : BlockValues((*data.source.rows()->columns)[0].dtype), data_(data) {}
  [[nodiscard]] std::uint64_t num_blocks() const override { return data_.blocks->num_blocks(); }
  [[nodiscard]] std::uint64_t most_threads() const override {
    const std::uint64_t rows = data_.blocks->max_block_rows();
    reading_threads(data_, rows, data_.source.slot_sample_bytes());  // throws if there is none for one
    const std::uint64_t each = data_.reading_bytes + rows * data_.source.sample_bytes();
    return MemoryBudget::process()->limit_bytes() / std::max<std::uint64_t>(each, 1);
  }
  [[nodiscard]] Result<std::unique_ptr<Reader>> reader() override {
    HEADRACE_ASSIGN(Dataset::Impl::IdleServer server, data_.take_server());
    return std::unique_ptr<Reader>(std::make_unique<Rows>(*this, std::move(server)));
  }

 private:
  class Rows final : public Reader {
   public:
    Rows(const RowValues& of, Dataset::Impl::IdleServer server) : of_(of), server_(std::move(server)) {}
    ~Rows() override { of_.data_.put_server(std::move(server_)); }
    Status add(std::uint64_t block, Moments& to) override;

   private:
    const RowValues& of_;
    Dataset::Impl::IdleServer server_;
    std::vector<Move> moves_;
    const std::atomic<bool> cancelled_{false};
  };
  Dataset::Impl& data_;
};

Status RowValues::Rows::add(std::uint64_t block, Moments& to) {
  const BlockTable& table = *of_.data_.blocks;
  const BlockTable::FileRows place = table.place(block);
  const std::uint64_t rows = table.block_rows(block), row_bytes = of_.data_.source.sample_bytes();
  moves_.clear();
  std::uint32_t longest = 1;
  if (!table.is_chosen()) {
    moves_.push_back({0, static_cast<std::uint32_t>(rows), 0, 0});
    longest = moves_[0].count;
  } else {
    for (std::uint32_t i = 0; i < rows; ++i) moves_.push_back({table.stored_row(block, i), 1, i, 0});
  }
  HEADRACE_ASSIGN(PageBuffer buffer, PageBuffer::allocate(std::max<std::uint64_t>(rows * row_bytes, 1)));
  std::byte* const fields = buffer.data();
  const RowRun run{&fields, 0, 0};
  const auto failures =
      server_.server->serve({block, place.file, place.rows, true, 0}, {{}, moves_, {&run, 1}, longest}, cancelled_);
  for (const RowFailure& failure : failures)  // of rows that were left out as well: they are not asked for
    if (std::ranges::any_of(moves_, [&](const Move& m) {
          return m.row < failure.rows.end() && failure.rows.first < std::uint64_t{m.row} + m.count;
        }))
      return failure.error;
  of_.add_values(buffer.bytes().first(rows * row_bytes), to);
  return {};
}

/// Voxels that patches of one array have.
class VoxelValues final : public BlockValues {
 public:
  VoxelValues(VoxelTiles tiles, const StoredColumn& column) : BlockValues(column.dtype), tiles_(std::move(tiles)) {}
  [[nodiscard]] std::uint64_t num_blocks() const override { return tiles_.num_tiles(); }
  [[nodiscard]] std::uint64_t most_threads() const override {
    constexpr std::uint64_t kCopies = 3;  // the tile, its voxels that count, and which those are
    const Dataset data(Dataset::Impl::make(tiles_.samples()));
    reading_threads(*impl_of(data), kCopies, tiles_.tile_bytes());  // throws if there is none for one
    const std::uint64_t each = impl_of(data)->reading_bytes + kCopies * tiles_.tile_bytes();
    return MemoryBudget::process()->limit_bytes() / std::max<std::uint64_t>(each, 1);
  }
  [[nodiscard]] Result<std::unique_ptr<Reader>> reader() override {
    return std::unique_ptr<Reader>(std::make_unique<Voxels>(*this));
  }

 private:
  class Voxels final : public Reader {
   public:
    explicit Voxels(const VoxelValues& of) : of_(of) {}
    Status add(std::uint64_t block, Moments& to) override {
      values_.clear();
      HEADRACE_TRY(of_.tiles_.read(block, values_));
      of_.add_values(values_, to);
      return {};
    }

   private:
    const VoxelValues& of_;
    std::vector<std::byte> values_;
  };
  const VoxelTiles tiles_;
};

/// One pass over the blocks. They are divided into groups by their number alone, and the groups' sums are joined in
/// their order, so that the result does not depend on the threads.
class Pass {
 public:
  Pass(BlockValues& values, const Where* where, std::size_t features, const std::function<bool()>& go_on)
      : values_(values), where_(where), features_(features), go_on_(go_on) {
    const std::uint64_t most = std::max<std::uint64_t>(kGroupsBytes / (features * sizeof(FeatureMoments)), 1);
    groups_.resize(std::min({values.num_blocks(), kMostGroups, most}));
  }

  /// \param wanted  Number of threads; 0: one for each CPU.
  Result<std::vector<FeatureMoments>> run(int wanted) {
    const auto cpus = static_cast<std::uint64_t>(wanted > 0 ? wanted : usable_cpu_count());
    const auto threads = std::clamp<std::uint64_t>(values_.most_threads(), 1, std::min(cpus, values_.num_blocks()));
    HEADRACE_TRY(run_parallel(static_cast<int>(threads), "hr-stats",
                              [&](int index, const std::stop_token& stop) { return work(index == 0, stop); }));
    if (error_) return error_->second;
    std::vector<FeatureMoments> all(features_);
    for (const std::vector<FeatureMoments>& group : groups_)
      for (std::size_t f = 0; f < group.size(); ++f) all[f].add(group[f]);
    return all;
  }

 private:
  /// \param asks  Whether to go on: the calling thread.
  Status work(bool asks, const std::stop_token& stop) {
    HEADRACE_ASSIGN(const std::unique_ptr<BlockValues::Reader> reader, values_.reader());
    const std::uint64_t blocks = values_.num_blocks();
    Moments moments(features_, where_);
    for (std::size_t g; (g = next_.fetch_add(1)) < groups_.size();) {
      Moments of_group = moments;
      const std::uint64_t end = blocks * (g + 1) / groups_.size();
      for (std::uint64_t block = blocks * g / groups_.size(); block < end; ++block) {
        if (stop.stop_requested() || failed_) return {};
        if (asks && go_on_ && !go_on_()) return Error(ErrorCode::kCancelled, "stopped before the whole field was read");
        const Status read = reader->add(block, of_group);
        if (!read.ok()) fail(block, read.error());
      }
      groups_[g] = of_group.features();
    }
    return {};
  }

  void fail(std::uint64_t block, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || block < error_->first) error_.emplace(block, error);
    failed_ = true;
  }

  BlockValues& values_;
  const Where* const where_;
  const std::size_t features_;
  const std::function<bool()>& go_on_;
  std::vector<std::vector<FeatureMoments>> groups_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<std::pair<std::uint64_t, Error>> error_;  // of the first block that was seen to fail
};

std::unique_ptr<BlockValues> values_of(Dataset::Impl& data) {
  const MappedSource* const patches = data.source.mapped();
  if (!patches) return std::make_unique<RowValues>(data);
  return std::make_unique<VoxelValues>(VoxelTiles::make(*patches, 0).value(), (*patches->groups[0].source->columns)[0]);
}

Stats in_words(const std::vector<FeatureMoments>& moments) {
  Stats out;
  for (const FeatureMoments& m : moments) {
    out.count.push_back(m.count);
    out.nan_count.push_back(m.nans);
    out.inf_count.push_back(m.infinities);
    out.mean.push_back(m.mean);
    out.std.push_back(std::sqrt(m.squares / static_cast<double>(m.count)));
    out.min.push_back(m.least);
    out.max.push_back(m.largest);
  }
  return out;
}

/// Throws kInvalidArgument if a feature has no value.
void check_counts(const std::vector<FeatureMoments>& moments, const std::string& field, const std::string& where) {
  std::vector<std::size_t> empty;
  std::uint64_t left_out = 0;
  for (std::size_t f = 0; f < moments.size(); ++f)
    if (moments[f].count == 0) {
      empty.push_back(f);
      left_out += moments[f].nans + moments[f].infinities;
    }
  if (empty.empty()) return;
  std::string text = where.empty() ? "no value is finite" : fmt::format("where=\"{}\" takes no finite value", where);
  constexpr std::size_t kShown = 8;
  const auto shown = std::span(empty).first(std::min(empty.size(), kShown));
  if (empty.size() < moments.size())
    text += fmt::format(" of feature{} {}{}", empty.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                        empty.size() > kShown ? ", …" : "");
  if (left_out > 0) text += fmt::format(", but {} NaNs and infinities", left_out);
  throw refuse(text, where.empty() ? "Choose other rows with select()." : "Take more of the field, or leave where out.")
      .with_field(field);
}

/// Throws kUnsupported where patches are drawn, and it is not known here which voxels of an array they can have.
void check_extents(const MappedSource& patches, const std::string& field) {
  if (!patches.boxes->drawn()) return;
  for (const BoxMap::Volume& volume : patches.boxes->volumes()) {
    const Axes& shape = volume.grids[0].shape;
    const bool alike =
        volume.offsets.empty() && volume.scales.empty() && std::ranges::all_of(volume.grids, [&](const CellGrid& grid) {
          return std::equal(grid.shape.begin(), grid.shape.begin() + grid.rank, shape.begin());
        });
    if (alike) continue;
    throw Error(ErrorCode::kUnsupported, "stats of drawn patches of arrays that do not lie in the same place")
        .with_field(field)
        .with_hint("Ask patches on a grid of the same volumes: give stride in place of samples_per_epoch.");
  }
}

}  // namespace

Stats stats(const Dataset& data, const std::string& field, const StatsOptions& options) {
  if (data.closed()) throw Error(ErrorCode::kClosed, "the data set was closed");
  const SampleSource& source = impl_of(data)->source;
  if (source.mixture())
    throw Error(ErrorCode::kUnsupported, "stats of a mixture, whose rows are drawn by weight")
        .with_hint("Ask its parts.");
  if (source.program())
    throw Error(ErrorCode::kUnsupported, "stats of a data set whose fields are transformed")
        .with_field(field)
        .with_hint("Ask the data set before map(): statistics are of what the files hold.");
  if (source.finisher())
    throw Error(ErrorCode::kUnsupported, "stats of samples that are finished as batches").with_field(field);
  const bool voxels = source.mapped() && source.mapped()->boxes;
  if (voxels) check_extents(*source.mapped(), field);
  const Dataset chosen = data.choose(std::vector<std::string>{field});
  const Dataset column = voxels ? chosen : rows_of_samples(data, field).choose(std::vector<std::string>{field});
  Dataset::Impl& impl = *impl_of(column);
  const Source& files = voxels ? *impl.source.mapped()->groups[0].source : *impl.source.rows();
  const StoredColumn& stored = (*files.columns)[0];
  if (to_doubles(stored.dtype) == nullptr)
    throw Error(ErrorCode::kUnsupported, fmt::format("stats of {} values", stored.dtype.name()))
        .with_field(stored.path)
        .with_hint("They are for integers, booleans and floating-point numbers.");
  const bool scalar = stored.shape.empty();
  const std::size_t features = scalar ? 1 : stored.shape.back();
  std::optional<Where> where;
  if (!options.where.empty()) {
    where = Where::parse(options.where, field, features, scalar).value();
    if (const auto round = rounding_to(stored.dtype)) where->round_numbers(round);
  }
  const std::string text = where ? where->text() : "";
  const std::string key = fmt::format("{}\n{}\n{}\n{}", kFormat, stored.path, hash_of(impl.source, impl.layout), text);
  const StatsStore store(files, options.remember ? IndexStore::of_user("stats") : std::nullopt);
  std::vector<FeatureMoments> moments = store.find(key).value_or(std::vector<FeatureMoments>());
  const bool remembered = moments.size() == features;
  if (!remembered)
    moments = Pass(*values_of(impl), where ? &*where : nullptr, features, options.go_on).run(options.threads).value();
  check_counts(moments, field, text);
  if (!remembered) store.keep(key, moments);
  Stats out = in_words(moments);
  out.remembered = remembered;
  return out;
}

}  // namespace headrace
