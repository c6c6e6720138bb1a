// The parts of an attribute message.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace headrace::hdf5 {

struct AttributeParts {
  std::span<const std::byte> name, datatype, dataspace, data;
};

/// Take an attribute message apart (specification IV.A.2.m, versions 1 to 3). nullopt if it is cut short, newer, or
/// shares parts that lie elsewhere.
std::optional<AttributeParts> attribute_parts(std::span<const std::byte> message);

}  // namespace headrace::hdf5
