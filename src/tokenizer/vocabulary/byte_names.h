// GPT-2's names of bytes: the characters that stand for them in files of vocabularies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace::tokenizing {

/// Return the bytes that a name stands for; nullopt: it has a character that stands for no byte, or is no UTF-8.
std::optional<std::string> bytes_of_name(std::string_view name);

}  // namespace headrace::tokenizing
