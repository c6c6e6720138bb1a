#include <headrace/number_column.h>

#include <algorithm>

#include "base/memory/unplanned_memory.h"

namespace headrace {

struct NumberColumn::Memory {
  PageBuffer numbers;
};

NumberColumn::NumberColumn(DType dtype, std::span<const std::byte> bytes)
    : dtype_(dtype), size_(bytes.size() / dtype.itemsize) {
  if (bytes.empty()) return;
  auto memory = std::make_shared<Memory>();
  memory->numbers = unplanned_memory(MemoryTag::kIndex, bytes.size()).value();
  std::ranges::copy(bytes, memory->numbers.data());
  memory_ = std::move(memory);
}

std::span<const std::byte> NumberColumn::bytes() const {
  if (!memory_) return {};
  return memory_->numbers.bytes();
}

bool operator==(const NumberColumn& a, const NumberColumn& b) {
  return a.dtype_ == b.dtype_ && (a.memory_ == b.memory_ || std::ranges::equal(a.bytes(), b.bytes()));
}

}  // namespace headrace
