#include "order/listed_rows.h"

#include <fmt/format.h>

#include <algorithm>

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
    return kMostEpochs * num_samples_ * sizeof(std::uint64_t);
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

std::uint64_t hash_of(const std::vector<std::uint64_t>& rows) {
  return hash_of_list(rows, [](std::uint64_t row) { return row; });
}

std::string as_text(std::uint64_t hash) {
  return fmt::format("listed {:016x}", hash);
}

}  // namespace

ListedRows::ListedRows(Rows rows, bool every_epoch) : size_(rows->size()), every_epoch_(every_epoch) {
  const std::uint64_t hash = hash_of(*rows);
  entries_.push_back({0, std::move(rows), hash});
}

const ListedRows::Entry* ListedRows::find(std::uint64_t epoch) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.epoch == epoch; });
  return found == entries_.end() ? nullptr : &*found;
}

const ListedRows::Entry& ListedRows::entry(std::uint64_t epoch) const {
  const Entry* const own = find(epoch);
  return own ? *own : entries_.back();
}

bool ListedRows::set(std::uint64_t epoch, Rows rows) {
  const std::uint64_t hash = hash_of(*rows);
  const std::lock_guard lock(mutex_);
  const bool changed = (every_epoch_ || find(epoch)) && *entry(epoch).rows != *rows;
  version_ += changed;
  std::erase_if(entries_, [&](const Entry& e) { return e.epoch == epoch; });
  if (entries_.size() == kMostEpochs) entries_.erase(entries_.begin());
  entries_.push_back({epoch, std::move(rows), hash});
  return changed;
}

ListedRows::Rows ListedRows::of(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  return entry(epoch).rows;
}

ListedRows::Rows ListedRows::newest() const {
  const std::lock_guard lock(mutex_);
  return entries_.back().rows;
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

std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows) {
  return std::make_unique<Listed>(std::move(blocks), std::move(rows));
}

}  // namespace headrace
