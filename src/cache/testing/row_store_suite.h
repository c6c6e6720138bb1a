// The suite that every RowStore passes: what row_store.h promises of filling, waiting and reading.
//
//   const bool registered = (register_row_store_tests("RowStoreSuite", "Memory", make_case), true);   // at namespace
//   scope
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cache/row_store.h"

namespace headrace::testing_rows {

/// What the suite is told of one kind of store.
struct RowStoreCase {
  /// Open a store of this layout. Where `shared`, every store opened while another lives has the same rows.
  std::function<Result<std::shared_ptr<RowStore>>(const RowLayout&)> open;
  bool shared = false;
  /// A store that is opened after a complete one was closed has its rows.
  bool persistent = false;
  /// Takers may write to writable(); else only put() can.
  bool writable = true;
  /// A layout without rows can be opened.
  bool takes_no_rows = true;
  /// Whatever must live as long as the case.
  std::shared_ptr<void> holder = nullptr;
};

/// Register the tests. \param make  Called once by each test, while it runs; what it opens is empty.
void register_row_store_tests(const std::string& suite, const std::string& name, std::function<RowStoreCase()> make);

}  // namespace headrace::testing_rows
