// What is known of a vocabulary that has a name: where other libraries keep it, and how it is told from another.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/vocabulary/open_vocabulary.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// A file in tiktoken's folder.
struct KnownFile {
  const char* key = nullptr;  ///< Its name there: the SHA-1 of where it was fetched from. Null: there is none.
  const char* sha256 = "";    ///< Its content's, in hexadecimal digits.
};

struct KnownName {
  const char* name;
  KnownFile ranks = {};
  KnownFile merges = {}, vocab = {};
  std::vector<std::string> repositories = {};  ///< Hugging Face has it in these.
  std::vector<std::string> hashes = {};        ///< Vocabulary::hash of what is in them.
};

/// Open what tiktoken or Hugging Face keep of it. Errors: kNotFound; kCorruptData  the content is another.
Result<Vocabulary> open_known(const KnownName& known, const VocabularyWords& words);

}  // namespace headrace::tokenizing
