// ListedRows: row numbers in an order of somebody's own, epoch by epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "order/sampler.h"

namespace headrace {

/// The rows of each epoch, all epochs of one length. Two epochs are held at a time: the one that is delivered and the
/// one after it. Threads: any.
class ListedRows {
 public:
  using Rows = std::shared_ptr<const std::vector<std::uint64_t>>;

  /// \param rows  Of epoch 0. \param every_epoch  True: epochs without rows of their own have those that were given
  /// last. False: an epoch is not settled until its rows are given, and nothing of it is read ahead.
  ListedRows(Rows rows, bool every_epoch);

  /// Give an epoch its rows, as many as size(). \return True if others may have been read ahead in their place.
  bool set(std::uint64_t epoch, Rows rows);
  /// Return the rows of an epoch; those given last where it is not settled: what is planned then is dropped.
  [[nodiscard]] Rows of(std::uint64_t epoch) const;
  [[nodiscard]] Rows newest() const;
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
    Rows rows;
    std::uint64_t hash = 0;
  };
  [[nodiscard]] const Entry* find(std::uint64_t epoch) const;
  [[nodiscard]] const Entry& entry(std::uint64_t epoch) const;

  const std::uint64_t size_;
  const bool every_epoch_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  ///< The newest last.
  std::uint64_t version_ = 0;
};

/// Row numbers of the data set in an order of one's own, repeats allowed; 8 bytes a sample. Every number must be below
/// the table's rows.
std::unique_ptr<Sampler> make_listed(std::shared_ptr<const BlockTable> blocks, std::shared_ptr<const ListedRows> rows);

}  // namespace headrace
