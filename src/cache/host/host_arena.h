// Memory that the processes of one host share without a name on any file system: kill them all and nothing is left.
//
// The first process makes it with memfd_create() and hands its descriptor to those that ask at an abstract Unix socket
// (man 7 unix), whose name is the user and the key. Those that received it hand it on as well: while any of them lives,
// a process that comes later, or comes again, joins them, and does not make the rows' memory a second time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/row_store.h"

namespace headrace {

/// \param key  Equal for processes that hold the same rows; layouts must agree.
/// \param max_bytes  Rows beyond this are not kept (RowStore::Lookup::kFull). Of the first process; the others' is not
///        asked. Memory is taken as blocks are filled, and charged to the first process (charged_bytes()); once that is
///        gone, to the next one that asks to be (take_charge()) or that comes.
/// Errors: kOutOfBudget; kInvalidArgument if another process's layout is different; kUnsupported by this system.
Result<std::shared_ptr<RowStore>> open_host_arena(const std::string& key, RowLayout layout, std::uint64_t max_bytes);

}  // namespace headrace
