#include <headrace/batch.h>

#include <fmt/format.h>

namespace headrace {

std::vector<std::uint64_t> Tensor::shape() const {
  std::vector<std::uint64_t> shape{rows_};
  if (width_) shape.push_back(*width_);
  const std::vector<std::uint64_t> row = field_->dims.row_shape();
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

void Tensor::check_type(DType::Kind kind, std::size_t size) const {
  if (field_->dtype.kind == kind && field_->dtype.itemsize == size) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("the elements are {}, not what as<T>() was asked for", field_->dtype.name()))
      .with_field(field_->name);
}

Tensor Batch::operator[](std::string_view name) const {
  std::string names;
  for (std::size_t i = 0; i < parts_.fields->size(); ++i) {
    if ((*parts_.fields)[i].name == name) return array(i);
    names += (i ? ", " : "") + (*parts_.fields)[i].name;
  }
  throw Error(ErrorCode::kFieldMissing, fmt::format("the batch has no field '{}'; it has {}", name, names));
}

}  // namespace headrace
