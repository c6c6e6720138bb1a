// Words by masks: where they begin follows from the classes of 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tokenizer/words/grammar.h"

namespace headrace::tokenizing {

/// Find words of [p, p + size), at whose first byte one begins. The last one is found if `whole`: then another begins
/// behind it, or the text ends there.
/// \param ends  Where words end, counted from `p`: room for `size` numbers and 8 more. \return How many ended; 0: only
/// what follows decides where the first one ends.
std::size_t mask_word_ends(Grammar grammar, const std::uint8_t* p, std::size_t size, bool whole,
                           const std::uint8_t* end, std::uint32_t* ends);

}  // namespace headrace::tokenizing
