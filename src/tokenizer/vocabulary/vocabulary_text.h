// The text of a vocabulary's files → a vocabulary. Foreign bytes: what contradicts itself is refused with its place.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// Parse tokenizer.json, as the library tokenizers writes it: byte-level BPE with a grammar that is known, and merges
/// in the order of their list. Errors: kUnsupported  anything that would change ids and is not done here, by its name;
/// kCorruptData  it is no JSON, a merge of tokens that there are not, or what complete() refuses.
Result<Vocabulary> parse_tokenizer_json(std::string_view text);

/// Parse ranks as tiktoken has them: lines of a token in base64 and its rank. \param special  Added words and their
/// ids. Errors: kCorruptData  a line that is none, with its number; those of complete().
Result<Vocabulary> parse_tiktoken(std::string_view text, Grammar grammar,
                                  const std::map<std::string, std::uint32_t>& special);

/// Parse vocab.json (or encoder.json) and merges.txt (or vocab.bpe), as GPT-2 has them. Errors: as above.
Result<Vocabulary> parse_vocab_and_merges(std::string_view vocab, std::string_view merges);

}  // namespace headrace::tokenizing
