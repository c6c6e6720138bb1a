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
#include "dataset/files/read_concurrency.h"
#include "dataset/recipe/refuse.h"
#include "dataset/samples/field_values.h"
#include "dataset/samples/rows_of_samples.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostGroups = 1024;                      // of blocks that are summed up together
constexpr std::uint64_t kGroupsBytes = std::uint64_t{64} << 20;  // of their sums
constexpr std::string_view kFormat = "moments 1";                // of what is kept

/// One pass over the blocks of a data set of one field. The blocks are divided into groups by their number alone, and
/// the groups' sums are joined in their order, so that the result does not depend on the threads.
class Pass {
 public:
  Pass(Dataset::Impl& data, const Where* where, std::size_t features, const std::function<bool()>& go_on)
      : data_(data),
        where_(where),
        features_(features),
        convert_(to_doubles((*data.source.rows()->columns)[0].dtype)),
        go_on_(go_on) {
    const std::uint64_t most = std::max<std::uint64_t>(kGroupsBytes / (features * sizeof(FeatureMoments)), 1);
    groups_.resize(std::min({data.blocks->num_blocks(), kMostGroups, most}));
  }

  Result<std::vector<FeatureMoments>> run(int threads) {
    HEADRACE_TRY(run_parallel(threads, "hr-stats",
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
    HEADRACE_ASSIGN(Dataset::Impl::IdleServer server, data_.take_server());
    const std::uint64_t blocks = data_.blocks->num_blocks();
    Moments moments(features_, where_);
    for (std::size_t g; (g = next_.fetch_add(1)) < groups_.size();) {
      Moments of_group = moments;
      const std::uint64_t end = blocks * (g + 1) / groups_.size();
      for (std::uint64_t block = blocks * g / groups_.size(); block < end; ++block) {
        if (stop.stop_requested() || failed_) return {};
        if (asks && go_on_ && !go_on_()) return Error(ErrorCode::kCancelled, "stopped before the whole field was read");
        const Status read = add_block(*server.server, block, of_group);
        if (!read.ok()) fail(block, read.error());
      }
      groups_[g] = of_group.features();
    }
    data_.put_server(std::move(server));
    return {};
  }

  Status add_block(BlockServer& server, std::uint64_t block, Moments& to) {
    const BlockTable& table = *data_.blocks;
    const BlockTable::FileRows place = table.place(block);
    const std::uint64_t rows = table.block_rows(block), row_bytes = data_.source.sample_bytes();
    thread_local std::vector<Move> moves;
    moves.clear();
    std::uint32_t longest = 1;
    if (!table.is_chosen()) {
      moves.push_back({0, static_cast<std::uint32_t>(rows), 0, 0});
      longest = moves[0].count;
    } else {
      for (std::uint32_t i = 0; i < rows; ++i) moves.push_back({table.stored_row(block, i), 1, i, 0});
    }
    HEADRACE_ASSIGN(PageBuffer buffer, PageBuffer::allocate(std::max<std::uint64_t>(rows * row_bytes, 1)));
    std::byte* const fields = buffer.data();
    const RowRun run{&fields, 0, 0};
    const auto failures =
        server.serve({block, place.file, place.rows, true, 0}, {{}, moves, {&run, 1}, longest}, cancelled_);
    for (const RowFailure& failure : failures)  // of rows that were left out as well: they are not asked for
      if (std::ranges::any_of(moves, [&](const Move& m) {
            return m.row < failure.rows.end() && failure.rows.first < std::uint64_t{m.row} + m.count;
          }))
        return failure.error;
    const std::uint64_t values = rows * (*data_.source.rows()->columns)[0].row_elements();
    const std::size_t itemsize = (*data_.source.rows()->columns)[0].dtype.itemsize;
    std::vector<double> tile(to.tile_values());
    for (std::uint64_t first = 0; first < values; first += tile.size()) {
      const std::span<double> here = std::span(tile).first(std::min<std::uint64_t>(tile.size(), values - first));
      convert_(fields + first * itemsize, here);
      to.add(here);
    }
    return {};
  }

  void fail(std::uint64_t block, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_ || block < error_->first) error_.emplace(block, error);
    failed_ = true;
  }

  Dataset::Impl& data_;
  const Where* const where_;
  const std::size_t features_;
  const ToDoubles convert_;
  const std::function<bool()>& go_on_;
  std::vector<std::vector<FeatureMoments>> groups_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false}, cancelled_{false};
  std::mutex mutex_;
  std::optional<std::pair<std::uint64_t, Error>> error_;  // of the first block that was seen to fail
};

/// Return how many threads there is memory for.
int threads_for(const Dataset::Impl& data, int wanted) {
  const std::uint64_t rows = data.blocks->max_block_rows();
  reading_threads(data, rows, data.source.slot_sample_bytes());  // throws if there is none for one
  const std::uint64_t each = data.reading_bytes + rows * data.source.sample_bytes();
  const std::uint64_t most = MemoryBudget::process()->limit_bytes() / std::max<std::uint64_t>(each, 1);
  const auto cpus = static_cast<std::uint64_t>(wanted > 0 ? wanted : usable_cpu_count());
  return static_cast<int>(std::clamp<std::uint64_t>(most, 1, std::min(cpus, data.blocks->num_blocks())));
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
  const Dataset column = rows_of_samples(data, field).choose(std::vector<std::string>{field});
  Dataset::Impl& impl = *impl_of(column);
  const StoredColumn& stored = (*impl.source.rows()->columns)[0];
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
  const StatsStore store(*impl.source.rows(), options.remember ? IndexStore::of_user("stats") : std::nullopt);
  std::vector<FeatureMoments> moments = store.find(key).value_or(std::vector<FeatureMoments>());
  const bool remembered = moments.size() == features;
  if (!remembered)
    moments =
        Pass(impl, where ? &*where : nullptr, features, options.go_on).run(threads_for(impl, options.threads)).value();
  check_counts(moments, field, text);
  if (!remembered) store.keep(key, moments);
  Stats out = in_words(moments);
  out.remembered = remembered;
  return out;
}

}  // namespace headrace
