// Types of token ids: read from their names, and the one that a vocabulary needs.
#pragma once

#include <headrace/dtype.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::token_files {

/// Return the type that a word stands for: "u2", "<u2" or "uint16", and so on; nullopt: it is no type of tokens.
std::optional<DType> token_type(std::string_view word);

/// Return the narrowest of uint16 and uint32 that tokenisers write for a vocabulary: uint16 for less than 65,536.
DType token_type_for(std::uint64_t vocab_size);

/// Return the largest number that a type of whole numbers holds.
std::uint64_t largest_of(const DType& type);

}  // namespace headrace::token_files
