// The added words of a tokenizer.json, and the ids that they get.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "tokenizer/vocabulary/json_vocabulary.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// Put the list "added_tokens" into a vocabulary. A word that is in `ids` has that id. Any other gets
/// the next free one, whatever the file says, as the library tokenizers numbers them (add_tokens() in its
/// added_vocabulary.rs); where the file says another, a notice of the vocabulary tells both.
/// Errors: kCorruptData  an entry lacks a field, or the vocabulary has the word under another id; kUnsupported  a word
/// that is not special takes whitespace beside it, a key that is unknown.
Status put_added(const nlohmann::json& list, const NamedIds& ids, Vocabulary& vocabulary);

}  // namespace headrace::tokenizing
