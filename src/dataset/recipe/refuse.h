// refuse(): an argument or a state that cannot be used, and the way out.
#pragma once

#include <headrace/error.h>

#include <string>
#include <string_view>
#include <utility>

namespace headrace {

inline Error refuse(std::string text, std::string_view hint = {}) {
  return Error(ErrorCode::kInvalidArgument, std::move(text)).with_hint(hint);
}

}  // namespace headrace
