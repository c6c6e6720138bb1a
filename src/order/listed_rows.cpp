#include "order/listed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "order/direct_cursor.h"
#include "order/random_access_sampler.h"

namespace headrace {
namespace {

constexpr std::size_t kMostEpochs = 2;  // the one that is delivered, and the next

struct ListedRow {
  ListedRows::Rows rows;
  std::uint64_t operator()(std::uint64_t position) const { return (*rows)[position]; }
};

class Listed final : public RandomAccessSampler {
 public:
  Listed(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows)
      : RandomAccessSampler(std::move(blocks), rows->size(), "listed"), rows_(std::move(rows)) {}
  [[nodiscard]] std::string describe() const override { return fmt::format("{} rows as listed", num_samples_); }
  [[nodiscard]] std::string identity() const override { return rows_->identity(); }
  [[nodiscard]] std::uint64_t memory_bytes(RankShare) const override {
    return kMostEpochs * (num_samples_ + rows_->num_batches()) * sizeof(std::uint64_t);
  }
  [[nodiscard]] std::string identity_at(std::uint64_t epoch, std::uint64_t position) const override {
    return position > 0 ? rows_->identity(epoch) : rows_->identity();
  }
  [[nodiscard]] bool is_settled(std::uint64_t epoch, std::uint64_t) const override { return rows_->is_settled(epoch); }
  [[nodiscard]] std::unique_ptr<Cursor> cursor(const Walk& walk) const override {
    return std::make_unique<DirectCursor<ListedRow>>(*blocks_, num_samples_, walk, ListedRow{rows_->of(walk.epoch)});
  }

 private:
  const std::shared_ptr<const ListedRows> rows_;
};

/// One epoch of a list that has batches of its own.
class ListedCut final : public EpochCut {
 public:
  ListedCut(std::shared_ptr<const BlockTable> blocks, ListedRows::List list)
      : blocks_(std::move(blocks)), list_(std::move(list)) {}
  [[nodiscard]] std::span<const std::uint64_t> batch_ends() const override { return *list_.batch_ends; }
  void append(PositionRange range, std::vector<SampleRef>& out) const override {
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      const BlockTable::RowPlace p = blocks_->find((*list_.rows)[i]);
      out.push_back({static_cast<std::uint32_t>(p.block), p.row_in_block});
    }
  }

 private:
  const std::shared_ptr<const BlockTable> blocks_;
  const ListedRows::List list_;
};

class ListedCuts final : public BatchCuts {
 public:
  ListedCuts(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows)
      : blocks_(std::move(blocks)), rows_(std::move(rows)) {}
  [[nodiscard]] std::shared_ptr<const EpochCut> epoch(std::uint64_t number) const override {
    return std::make_shared<const ListedCut>(blocks_, rows_->list_of(number));
  }
  [[nodiscard]] std::uint64_t most_batch_rows() const override { return rows_->most_batch_rows(); }
  [[nodiscard]] std::uint64_t span_batches() const override { return rows_->num_batches(); }
  [[nodiscard]] std::string identity() const override { return "listed"; }

 private:
  const std::shared_ptr<const BlockTable> blocks_;
  const std::shared_ptr<const ListedRows> rows_;
};

std::uint64_t hash_of(const ListedRows::List& list) {
  const auto same = [](std::uint64_t number) { return number; };
  const std::uint64_t rows = hash_of_list(*list.rows, same);
  return list.batch_ends ? RandomKey::of({rows, hash_of_list(*list.batch_ends, same)}).low : rows;
}

bool equal(const ListedRows::List& a, const ListedRows::List& b) {
  return *a.rows == *b.rows &&
         (!a.batch_ends || !b.batch_ends ? a.batch_ends == b.batch_ends : *a.batch_ends == *b.batch_ends);
}

std::uint64_t count_batches(const ListedRows::List& list) {
  return list.batch_ends ? list.batch_ends->size() : 0;
}

std::uint64_t largest_batch(const ListedRows::List& list) {
  std::uint64_t most = 0, before = 0;
  if (list.batch_ends)
    for (const std::uint64_t end : *list.batch_ends) {
      most = std::max(most, end - before);
      before = end;
    }
  return most;
}

std::string as_text(std::uint64_t hash) {
  return fmt::format("listed {:016x}", hash);
}

}  // namespace

ListedRows::ListedRows(List list, bool every_epoch)
    : size_(list.rows->size()),
      num_batches_(count_batches(list)),
      most_batch_rows_(largest_batch(list)),
      every_epoch_(every_epoch) {
  const std::uint64_t hash = hash_of(list);
  entries_.push_back({0, std::move(list), hash});
}

const ListedRows::Entry* ListedRows::find(std::uint64_t epoch) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.epoch == epoch; });
  return found == entries_.end() ? nullptr : &*found;
}

const ListedRows::Entry& ListedRows::entry(std::uint64_t epoch) const {
  const Entry* const own = find(epoch);
  return own ? *own : entries_.back();
}

bool ListedRows::fits(const List& list) const {
  return list.rows->size() == size_ && count_batches(list) == num_batches_ && largest_batch(list) <= most_batch_rows_;
}

bool ListedRows::set(std::uint64_t epoch, List list) {
  const std::uint64_t hash = hash_of(list);
  const std::lock_guard lock(mutex_);
  const bool changed = (every_epoch_ || find(epoch)) && !equal(entry(epoch).list, list);
  version_ += changed;
  std::erase_if(entries_, [&](const Entry& e) { return e.epoch == epoch; });
  if (entries_.size() == kMostEpochs) entries_.erase(entries_.begin());
  entries_.push_back({epoch, std::move(list), hash});
  return changed;
}

ListedRows::List ListedRows::list_of(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  return entry(epoch).list;
}

ListedRows::List ListedRows::newest() const {
  const std::lock_guard lock(mutex_);
  return entries_.back().list;
}

bool ListedRows::is_settled(std::uint64_t epoch) const {
  if (every_epoch_) return true;
  const std::lock_guard lock(mutex_);
  return find(epoch) != nullptr;
}

std::uint64_t ListedRows::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::string ListedRows::identity(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  return as_text(entry(epoch).hash);
}

std::string ListedRows::identity() const {
  const std::lock_guard lock(mutex_);
  return every_epoch_ ? as_text(entries_.back().hash) : "listed";
}

ListedRows::Rows batch_ends_of(std::span<const std::uint64_t> batch_rows) {
  if (batch_rows.empty()) return nullptr;
  auto ends = std::make_shared<std::vector<std::uint64_t>>(batch_rows.begin(), batch_rows.end());
  std::partial_sum(ends->begin(), ends->end(), ends->begin());
  return ends;
}

std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows) {
  return std::make_unique<Listed>(std::move(blocks), std::move(rows));
}

std::shared_ptr<const BatchCuts> make_listed_cuts(std::shared_ptr<const BlockTable> blocks,
                                                  std::shared_ptr<const ListedRows> rows) {
  return std::make_shared<const ListedCuts>(std::move(blocks), std::move(rows));
}

}  // namespace headrace
