// Test doubles that wrap another file: slow, faulty, counting. They stack.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/random_access_file.h"

namespace headrace {

/// What wrapping doubles share: everything goes to the file inside.
class WrappedFile : public RandomAccessFile {
 public:
  explicit WrappedFile(std::shared_ptr<const RandomAccessFile> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const std::string& name() const override { return inner_->name(); }
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override { return inner_->read_at(offset, out); }
  Status check_unchanged() const override { return inner_->check_unchanged(); }
  [[nodiscard]] ReadAhead read_ahead() const override { return inner_->read_ahead(); }
  void expect_read(ByteRange range) const override { inner_->expect_read(range); }
  [[nodiscard]] FileFingerprint fingerprint() const override { return inner_->fingerprint(); }

 private:
  std::shared_ptr<const RandomAccessFile> inner_;
};

/// What a request costs: latency + bytes / bandwidth.
struct StorageModel {
  std::uint64_t latency_ns = 0;
  double bytes_per_second = 0;  ///< 0: without limit.
  [[nodiscard]] std::uint64_t request_ns(std::uint64_t bytes) const {
    const double transfer_ns = bytes_per_second > 0 ? static_cast<double>(bytes) * 1e9 / bytes_per_second : 0;
    return latency_ns + static_cast<std::uint64_t>(transfer_ns);
  }
};

/// Every read takes as long as the model says; reads of several threads overlap.
class SlowFile final : public WrappedFile {
 public:
  SlowFile(std::shared_ptr<const RandomAccessFile> inner, StorageModel model)
      : WrappedFile(std::move(inner)), model_(model) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  StorageModel model_;
};

/// When a read goes wrong, and how.
struct Fault {
  /// Read number (from 0) that fails; none: every read that meets `bytes`.
  std::optional<std::uint64_t> nth_read = {};
  /// Reads that meet these bytes fail; {0, 0}: any read does.
  ByteRange bytes = {};
  /// The error to return; none: the bytes are delivered, damaged.
  std::optional<ErrorCode> error = {};
  /// For damage: every byte inside `bytes` (or the whole read) is xored with this.
  std::uint8_t flip = 0x10;
};

class FaultyFile final : public WrappedFile {
 public:
  FaultyFile(std::shared_ptr<const RandomAccessFile> inner, std::vector<Fault> faults)
      : WrappedFile(std::move(inner)), faults_(std::move(faults)) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  Status check_unchanged() const override;

  /// From now on check_unchanged() and every read answer kFileChanged.
  void change() { changed_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t num_reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  std::vector<Fault> faults_;
  mutable std::atomic<std::uint64_t> reads_{0};
  std::atomic<bool> changed_{false};
};

/// Counts what is read.
class CountingFile final : public WrappedFile {
 public:
  using WrappedFile::WrappedFile;
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const override;

  [[nodiscard]] std::uint64_t num_reads() const;
  [[nodiscard]] std::uint64_t num_bytes() const;
  /// Every read in the order in which it began.
  [[nodiscard]] std::vector<ByteRange> ranges() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  mutable std::vector<ByteRange> ranges_;
};

}  // namespace headrace
