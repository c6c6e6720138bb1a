// Ids as the numbers of a file of tokens: which type, which format, which bytes.
#pragma once

#include <headrace/tokens.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/tokens/token_output.h"

namespace headrace {

/// Return the type that is asked for, or that a vocabulary needs as readers of the format expect it.
/// Throws kInvalidArgument: neither is said, no type of tokens, or one that is too narrow for the vocabulary.
DType type_to_write(const TokenWriterOptions& options);
token_files::OutputFormat output_format(TokenFormat format);
/// Append ids, little-endian, as numbers of `width` bytes.
void append_numbers(std::span<const std::uint32_t> ids, std::size_t width, std::vector<std::byte>& out);

}  // namespace headrace
