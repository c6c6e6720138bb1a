// Rows of several data sets as those of one: what a mixture is made of.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "assembly/source.h"

namespace headrace {

/// A data set's rows, and its name in messages.
struct NamedRows {
  std::string name;
  const Source* rows;
};

/// Return all rows, one set after the other; which were chosen is left out. Throws kInvalidArgument where their fields
/// do not agree in name, type and shape, in one order.
std::shared_ptr<Source> join_rows(std::span<const NamedRows> sets);

}  // namespace headrace
