// ListedRows: row numbers in an order of the user's own, epoch by epoch, and batches of the user's own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "order/sampler.h"
#include "order/steps/cut_steps.h"

namespace headrace {

/// The rows of each epoch, all epochs of one length. Two epochs are held at a time: the one that is delivered and the
/// one after it. Threads: any.
class ListedRows {
 public:
  using Rows = std::shared_ptr<const std::vector<std::uint64_t>>;

  /// The rows of an epoch, and the rows before the end of each of its batches; null: batches are cut by others.
  struct List {
    Rows rows, batch_ends;
  };

  /// \param rows  Of epoch 0. \param every_epoch  True: epochs without rows of their own have those that were given
  /// last. False: an epoch is not settled until its rows are given, and nothing of it is read ahead.
  ListedRows(List list, bool every_epoch);
  ListedRows(Rows rows, bool every_epoch) : ListedRows(List{std::move(rows), nullptr}, every_epoch) {}

  /// Return true if an epoch may have this list: it has as many rows and batches as the first one, none of them larger
  /// than the largest of that.
  [[nodiscard]] bool fits(const List& list) const;
  /// Give an epoch its rows, which fit. \return True if others may have been read ahead in their place.
  bool set(std::uint64_t epoch, List list);
  bool set(std::uint64_t epoch, Rows rows) { return set(epoch, List{std::move(rows), nullptr}); }
  /// Return the rows of an epoch; those given last where it is not settled: what is planned then is dropped.
  [[nodiscard]] Rows of(std::uint64_t epoch) const { return list_of(epoch).rows; }
  [[nodiscard]] List list_of(std::uint64_t epoch) const;
  [[nodiscard]] List newest() const;
  /// Return the batches of an epoch; 0 where batches are cut by others.
  [[nodiscard]] std::uint64_t num_batches() const { return num_batches_; }
  /// Return the most rows of a batch; 0 where batches are cut by others.
  [[nodiscard]] std::uint64_t most_batch_rows() const { return most_batch_rows_; }
  [[nodiscard]] bool is_settled(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool every_epoch() const { return every_epoch_; }
  /// Count the changes of rows that may have been read ahead.
  [[nodiscard]] std::uint64_t version() const;
  /// Return a text that is equal for equal rows of an epoch.
  [[nodiscard]] std::string identity(std::uint64_t epoch) const;
  /// Return what the order is beyond one epoch.
  [[nodiscard]] std::string identity() const;

 private:
  struct Entry {
    std::uint64_t epoch = 0;
    List list;
    std::uint64_t hash = 0;
  };
  [[nodiscard]] const Entry* find(std::uint64_t epoch) const;
  [[nodiscard]] const Entry& entry(std::uint64_t epoch) const;

  const std::uint64_t size_, num_batches_, most_batch_rows_;
  const bool every_epoch_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< The newest last.
  std::uint64_t version_ = 0;
};

/// Return the sums of the first 1, 2, … sizes; null for none.
ListedRows::Rows batch_ends_of(std::span<const std::uint64_t> batch_rows);

/// Make an order of row numbers of the data set as they are listed, repeats allowed; 8 bytes a sample. Every number
/// must be below the table's rows.
std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows);

/// Cut listed rows where their lists say; all of them have `batch_ends`.
std::shared_ptr<const BatchCuts> make_listed_cuts(std::shared_ptr<const BlockTable> blocks,
                                                  std::shared_ptr<const ListedRows> rows);

}  // namespace headrace
