#include "base/thrown.h"

#include <fmt/format.h>

#include <new>

namespace headrace {
namespace {

const Error& make_out_of_memory() {
  static const Error error(ErrorCode::kOutOfBudget, "the system gives no more memory");
  return error;
}
/// Made as the program is loaded: it is asked for when there is no memory to make it.
[[maybe_unused]] const Error& error_early = make_out_of_memory();  // NOLINT(bugprone-throwing-static-initialization)

}  // namespace

const Error& out_of_memory() noexcept {
  return make_out_of_memory();
}

Error error_of(const std::exception& thrown) noexcept {
  if (const auto* error = dynamic_cast<const Error*>(&thrown)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&thrown)) return out_of_memory();
  try {
    return {ErrorCode::kInternal, fmt::format("unexpected exception: {}", thrown.what())};
  } catch (const std::exception&) {
    return out_of_memory();
  }
}

}  // namespace headrace
