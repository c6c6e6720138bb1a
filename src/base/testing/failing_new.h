// Memory that ends: operator new of chosen threads throws std::bad_alloc.
//
// A test program that uses it gets operators new and delete of its own, which go to malloc() and free().
#pragma once

#include <cstdint>
#include <string>

namespace headrace::testing {

/// While it lives, an allocation with operator new fails, and some that come after it. One at a time.
class FailingNew {
 public:
  /// \param threads  How the names of the threads begin; empty: the calling thread alone.
  /// \param first    Of all allocations on these threads, the one that fails, from 1.
  /// \param others   So many after it fail too.
  explicit FailingNew(const std::string& threads, std::int64_t first, std::int64_t others = 0);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  /// Return how many failed.
  [[nodiscard]] std::uint64_t failed() const;
};

}  // namespace headrace::testing
