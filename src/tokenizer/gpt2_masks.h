// The words of GPT-2's grammar by masks: a bit for each byte says its class, and where words begin is then arithmetic
// on 64 bits at a time, instead of a look at each character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::tokenizing {

/// Find the words of [p, p + size). A word begins at both ends, or the second is `end`, where the text ends.
/// \param ends  Where words end, counted from `p`; untouched where it returns false.
/// \return false: there is whitespace of several bytes, for which this has no masks.
bool gpt2_word_ends(const std::uint8_t* p, std::size_t size, const std::uint8_t* end, std::vector<std::uint32_t>& ends);

}  // namespace headrace::tokenizing
