// Opening many files: several at once, as each open is a few short reads that take long where files answer late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thrown.h"

namespace headrace {

/// Return how many of so many files to open at once. \param first  One of them. Others were opened before: what this
/// process waited for files by now counts.
std::uint32_t files_opened_at_once(std::size_t num_files, const std::string& first);

/// Call `open` with the number of each file, the first one alone and then several at once, and `take` in their order on
/// the calling thread, each when its file was opened. \param open  Throws nothing. Errors: the first of `take`; no file
/// is opened from then on. Blocks: until the calls of `open` have returned.
Status open_in_order(std::size_t num_files, const std::string& first, const std::function<void(std::size_t)>& open,
                     const std::function<Status(std::size_t)>& take);

/// Open files, several at once, and take them in their order. \param open  Makes a Result<T> of the number of a file,
/// or throws; called from several threads. \param take  Makes a Status of (number, T&&), or throws; called on the
/// calling thread. Errors: the first in the order of the files, of `open` or `take`.
template <class T, class Open, class Take>
Status open_several(std::size_t num_files, const std::string& first, const Open& open, const Take& take) {
  std::vector<std::optional<Result<T>>> opened(num_files);
  return open_in_order(
      num_files, first,
      [&](std::size_t i) {
        try {
          opened[i].emplace(open(i));
        } catch (const std::exception& thrown) {
          opened[i].emplace(error_of(thrown));
        }
      },
      [&](std::size_t i) -> Status {
        HEADRACE_ASSIGN(T file, *std::exchange(opened[i], std::nullopt));
        return take(i, std::move(file));
      });
}

}  // namespace headrace
