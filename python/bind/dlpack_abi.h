// The part of DLPack's C interface (v0.8, unversioned) that a producer of CPU arrays needs. Torch, JAX, CuPy and NumPy
// take it. Source: https://dmlc.github.io/dlpack/latest/c_api.html; the layout is frozen.
#pragma once

#include <cstdint>

namespace headrace::python::dlpack {

constexpr std::int32_t kCpu = 1;                  ///< kDLCPU
constexpr const char* kCapsuleName = "dltensor";  ///< Consumers rename a capsule they took to "used_dltensor".

struct Device {
  std::int32_t type;
  std::int32_t id;
};

/// Element type: kDLInt 0, kDLUInt 1, kDLFloat 2, kDLComplex 5, kDLBool 6.
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< Null: C order without gaps.
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor* self);  ///< May run on any thread, with or without the GIL.
};

}  // namespace headrace::python::dlpack
