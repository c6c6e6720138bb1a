#include "storage/held_bytes.h"

#include <algorithm>

namespace headrace {

Status HeldBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset < range_.offset || offset > range_.end() || out.size() > range_.end() - offset)
    return Error(ErrorCode::kInternal, "bytes were asked for that are not held")
        .with_file(name_)
        .with_bytes({offset, out.size()});
  std::copy_n(bytes_.data() + (offset - range_.offset), out.size(), out.data());
  return {};
}

}  // namespace headrace
