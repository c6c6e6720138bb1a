#include <fmt/format.h>
#include <headrace/dims.h>
#include <headrace/error.h>

#include <algorithm>

namespace headrace {

Dims::Dims(std::vector<std::uint64_t> extents) : extents_(std::move(extents)) {
  const auto fixed = std::ranges::find_if(extents_, [](std::uint64_t n) { return n != kRagged; });
  levels_ = static_cast<std::size_t>(fixed - extents_.begin());
  if (std::find(fixed, extents_.end(), kRagged) != extents_.end())
    throw Error(ErrorCode::kInvalidArgument, fmt::format("in {} a ragged extent stands behind a fixed one", text()));
}

std::vector<std::uint64_t> Dims::row_shape() const {
  return {extents_.begin() + static_cast<std::ptrdiff_t>(levels_), extents_.end()};
}

std::uint64_t Dims::row_elements() const {
  std::uint64_t n = 1;
  for (std::size_t i = levels_; i < extents_.size(); ++i) n *= extents_[i];
  return n;
}

std::string Dims::text() const {
  std::string text;
  for (const std::uint64_t n : extents_)
    text += (text.empty() ? "" : ", ") + (n == kRagged ? std::string("ragged") : fmt::format("{}", n));
  return fmt::format("({}{})", text, extents_.size() == 1 ? "," : "");
}

}  // namespace headrace
