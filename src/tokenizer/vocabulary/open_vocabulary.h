// Vocabularies by path or by name: which files are meant, and what they are.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tokenizer/vocabulary/vocabulary.h"

namespace headrace::tokenizing {

/// What is said of a .tiktoken file, which has ranks and nothing else.
struct VocabularyWords {
  std::string grammar = {};  ///< Empty: what the name of the file says.
  std::map<std::string, std::uint32_t> special = {};
};

/// Open a vocabulary: a tokenizer.json, NAME.tiktoken, a folder of either kind of files, or a name such as "gpt2" or
/// "org/name", of which tiktoken's and Hugging Face's caches on this machine are searched.
/// Errors: kNotFound  nothing is there, with the command that fetches it; kInvalidArgument  a .tiktoken file of unknown
/// grammar, words that contradict the file; those of reading and of parsing, with the file.
Result<Vocabulary> open_vocabulary(const std::string& path_or_name, const VocabularyWords& words);

/// Open a .tiktoken file. \param name  What its ranks are called, such as "cl100k_base"; says grammar and special words
/// where they are known. \param sha256  What the file must have, in hexadecimal digits; empty: any.
/// Errors: also kCorruptData  it has another, or fewer ranks than those of its name are.
Result<Vocabulary> open_ranks(const std::string& path, const std::string& name, const VocabularyWords& words,
                              std::string_view sha256 = {});
/// Open a tokenizer.json.
Result<Vocabulary> open_json(const std::string& path);
/// Open vocab.json with merges.txt, or whatever they are called. \param vocab_sha256, merges_sha256  As above.
Result<Vocabulary> open_pair(const std::string& vocab_path, const std::string& merges_path,
                             std::string_view vocab_sha256 = {}, std::string_view merges_sha256 = {});

/// Open a vocabulary that other libraries keep on this machine. Errors: kNotFound; kCorruptData  the file that has its
/// name is another one, such as a download that was cut off.
Result<Vocabulary> open_named(const std::string& name, const VocabularyWords& words);
/// Return true if the name is one that open_named() knows.
bool is_known_name(const std::string& name);
/// Open what Hugging Face's cache has of a repository, "org/name" or "name": that of its branch main, if it is there.
/// Errors: kNotFound, with the command that fetches it; those of the file.
Result<Vocabulary> open_repository(const std::string& name, const VocabularyWords& words);
/// Return true if it may be a repository's, "org/name", and is no path of a vocabulary's file.
bool is_repository_name(const std::string& name);

}  // namespace headrace::tokenizing
