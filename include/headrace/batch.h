// Batch: the data for one step. A few named arrays, private to the receiver, writable, valid as long as they are held.
#pragma once

#include <headrace/error.h>
#include <headrace/field.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace headrace {

/// One array of a batch: C order, native byte order, 64-byte aligned. It keeps its memory alive.
class Tensor {
 public:
  /// Make a view. \param width  Rows of each sample, where samples are filled up to one length; `rows` then counts
  /// samples.
  Tensor(std::byte* data, const Field* field, std::uint64_t rows, std::shared_ptr<void> holder = {},
         std::optional<std::uint64_t> width = {})
      : data_(data), field_(field), rows_(rows), width_(width), holder_(std::move(holder)) {}
  /// Return the first byte.
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Return the type of the elements.
  [[nodiscard]] const DType& dtype() const { return field_->dtype; }
  /// Return where the array lies.
  [[nodiscard]] const Device& device() const { return field_->device; }
  /// Return the number of rows of all samples together. For a dense or padded field this is the number of samples.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Return the rows that each sample was filled up to; nullopt where none was.
  [[nodiscard]] std::optional<std::uint64_t> width() const { return width_; }
  /// Return (rows, *shape of a row), or (samples, width, *shape of a row).
  [[nodiscard]] std::vector<std::uint64_t> shape() const;
  /// Return the number of bytes of all rows.
  [[nodiscard]] std::uint64_t size_bytes() const { return rows_ * width_.value_or(1) * field_->row_bytes(); }
  /// Return an object that keeps the memory alive by itself.
  [[nodiscard]] const std::shared_ptr<void>& holder() const { return holder_; }

  /// Return all elements, row after row. Throws Error(kInvalidArgument) if T does not have the element's kind and size.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    check_type(kind_of<T>(), sizeof(T));
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(rows_ * width_.value_or(1) * field_->row_elements())};
  }

 private:
  template <class T>
  static constexpr DType::Kind kind_of() {
    if constexpr (std::is_same_v<std::remove_const_t<T>, bool>)
      return DType::Kind::kBool;
    else if constexpr (std::is_floating_point_v<T>)
      return DType::Kind::kFloat;
    else if constexpr (std::is_integral_v<T>)
      return std::is_signed_v<T> ? DType::Kind::kInt : DType::Kind::kUInt;
    else
      return DType::Kind::kBytes;
  }
  void check_type(DType::Kind kind, std::size_t size) const;

  std::byte* data_;
  const Field* field_;
  std::uint64_t rows_;
  std::optional<std::uint64_t> width_;
  std::shared_ptr<void> holder_;
};

/// The samples of one step, an array for each field. Copies share the same memory. The memory of a field goes back to
/// the loader when the last object that holds it is destroyed. Batches may outlive the loader. Threads: a batch may be
/// destroyed on any thread.
class Batch {
 public:
  /// Memory of the fields; `holders[i]` keeps `data[i]` alive.
  struct Parts {
    std::shared_ptr<const std::vector<Field>> fields;  ///< In the order of the arrays.
    std::vector<std::byte*> data;                      ///< Where each array begins.
    std::vector<std::shared_ptr<void>> holders;        ///< What keeps each alive.
    /// Offsets of each ragged field: number of rows before each sample, then of all rows. Null for dense fields; empty
    /// if all fields are dense.
    std::vector<std::shared_ptr<const std::vector<std::int64_t>>> offsets;
    /// Rows of each array, where some have another number than there are samples; empty: all are dense or ragged.
    std::vector<std::uint64_t> array_rows;
    /// Rows that each sample has in arrays that were filled up to the longest one; empty: there is none.
    std::vector<std::optional<std::uint64_t>> widths = {};
    std::uint64_t rows = 0;   ///< Number of samples.
    std::uint64_t epoch = 0;  ///< The batch's epoch.
    std::uint64_t index = 0;  ///< Its number in the epoch.
  };
  /// Make a batch of its parts.
  explicit Batch(Parts parts) : parts_(std::move(parts)) {}

  /// Return the number of samples.
  [[nodiscard]] std::uint64_t rows() const { return parts_.rows; }
  [[nodiscard]] std::uint64_t epoch() const { return parts_.epoch; }  ///< Return its epoch.
  [[nodiscard]] std::uint64_t index() const { return parts_.index; }  ///< Return its number in the epoch, from 0.
  /// Return the fields, in the order of their arrays.
  [[nodiscard]] const std::vector<Field>& fields() const { return *parts_.fields; }
  /// Return the array of a field. For a ragged field this is the rows of all samples, one after the other. Throws
  /// Error(kFieldMissing), which lists the names of the fields.
  [[nodiscard]] Tensor operator[](std::string_view name) const;
  /// Return the array of field `i`.
  [[nodiscard]] Tensor array(std::size_t i) const {
    return {parts_.data[i], &(*parts_.fields)[i], rows_of(i), parts_.holders[i],
            parts_.widths.empty() ? std::nullopt : parts_.widths[i]};
  }
  /// Return where the rows of each sample begin in the array of field `i`, and at the end the number of all rows:
  /// rows() + 1 numbers. Empty for a dense or padded field.
  [[nodiscard]] std::span<const std::int64_t> offsets(std::size_t i) const {
    if (parts_.offsets.empty() || !parts_.offsets[i]) return {};
    return *parts_.offsets[i];
  }
  /// Return an object that keeps offsets(i) alive.
  [[nodiscard]] std::shared_ptr<const std::vector<std::int64_t>> offsets_holder(std::size_t i) const {
    return parts_.offsets.empty() ? nullptr : parts_.offsets[i];
  }
  /// Return an object that keeps the memory of field `i` alive, without the other fields.
  [[nodiscard]] const std::shared_ptr<void>& holder(std::size_t i) const { return parts_.holders[i]; }

 private:
  [[nodiscard]] std::uint64_t rows_of(std::size_t i) const {
    if (!parts_.array_rows.empty()) return parts_.array_rows[i];
    const std::span<const std::int64_t> starts = offsets(i);
    return starts.empty() ? parts_.rows : static_cast<std::uint64_t>(starts.back());
  }

  Parts parts_;
};

}  // namespace headrace
