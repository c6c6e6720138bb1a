// ElementKernel: arithmetic on one value after the other. Several in a row go over a sample together, a tile that stays
// in the fastest cache at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transform/kernel.h"
#include "transform/settings.h"

namespace headrace {

/// One step of arithmetic, in float or in double. Immutable. Threads: any.
class ElementOp {
 public:
  virtual ~ElementOp() = default;
  /// Change values in place. The first is the first of its run along the last axis.
  virtual Status apply(std::span<float> values) const = 0;
  virtual Status apply(std::span<double> values) const = 0;
};

/// An ElementOp of one function for both types: `Work` has operator()(std::span<C>) -> Status.
template <class Work>
class ElementOpOf final : public ElementOp {
 public:
  explicit ElementOpOf(Work work) : work_(std::move(work)) {}
  Status apply(std::span<float> values) const override { return work_(values); }
  Status apply(std::span<double> values) const override { return work_(values); }

 private:
  Work work_;
};

/// Settings along the last axis, one for each value of a tile.
class TiledSetting {
 public:
  TiledSetting() = default;
  /// \param values  One for all, or one for each of the last axis.
  TiledSetting(const std::vector<double>& values, std::size_t tile);
  template <class C>
  [[nodiscard]] const C* of() const {
    if constexpr (std::is_same_v<C, float>)
      return floats_.data();
    else
      return doubles_.data();
  }

 private:
  std::vector<float> floats_;
  std::vector<double> doubles_;
};

/// Return how many values of a field are worked on at once: whole runs along the last axis, about a thousand.
std::size_t tile_of(const Field& field);

class ElementKernel final : public Kernel {
 public:
  /// \param whole  Values that go to integers are to be whole numbers.
  ElementKernel(const Field& in, const Field& out, std::vector<std::shared_ptr<const ElementOp>> ops,
                bool whole = false);
  Status run(const KernelCall& call) const override;
  [[nodiscard]] const ElementKernel* elements() const override { return this; }
  [[nodiscard]] bool takes_rows() const override { return true; }
  /// Return a kernel that does this and then `next`; null where that would round otherwise than one after the other.
  [[nodiscard]] std::shared_ptr<const ElementKernel> then(const ElementKernel& next) const;

 private:
  template <class C>
  Status run_as(const KernelCall& call) const;
  Field in_, out_;
  bool as_double_;
  std::size_t tile_;
  bool checks_, whole_;  // values that the type does not have; those that are no whole numbers
  std::vector<std::shared_ptr<const ElementOp>> ops_;
};

/// Check that a transform reads one field of numbers. Errors: kInvalidArgument.
Status need_one_number_field(const Transform& transform, std::span<const Field> inputs);
/// Check that `values` has one value, or one for each of the field's last axis.
void check_per_feature(Settings& settings, const std::string& name, const std::vector<double>& values,
                       const Field& field);
/// Return the transform of one field by one step of arithmetic. \param type  Of what it makes.
CompiledTransform element_transform(const Field& in, const std::string& to, const DType& type,
                                    std::shared_ptr<const ElementOp> op, bool whole = false);
/// Say that a type has no such value. \return kCorruptData.
Error no_value_of(const DType& type, const std::string& value);

}  // namespace headrace
