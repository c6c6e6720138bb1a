// A vocabulary: what all files of tokenizers come to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/words/grammar.h"

namespace headrace::tokenizing {

/// A word that is one token wherever it stands, and is looked for before anything else.
struct AddedWord {
  std::string text;
  std::uint32_t id = 0;
  bool special = true;      ///< Looked for on request only.
  bool normalized = false;  ///< Looked for in what the others leave.
  std::string trait = {};   ///< What it has that is not done here: "lstrip", "rstrip", "single_word"; empty: nothing.
};

/// How one merge of tokens is named in files.
struct NamedMerge {
  std::uint32_t left, right;
  Merge merge;
};

struct Vocabulary {
  Grammar grammar = Grammar::kGpt2;
  std::string name = {};
  std::vector<std::optional<std::string>> tokens = {};  ///< Bytes by id, added words too; nullopt: no token has the id.
  std::array<std::uint32_t, 256> byte_ids = {};
  PairTable pairs = PairTable();
  /// A word that is in the vocabulary is that token, whatever merges make of it (tiktoken, `ignore_merges`).
  bool whole_words = false;
  std::unordered_map<std::string, std::uint32_t> ids = {};  ///< By bytes, without added words.
  std::vector<AddedWord> added = {};
  bool overlaps_are_open =
      false;              ///< The kind of file does not say which of two added words of one beginning is found.
  std::string hash = {};  ///< Tells it from others: all but the name is in it.
  std::vector<std::string> notices = {};  ///< What its user should know, a sentence each.
};

/// Put ids, merges and added words into a vocabulary and fill in what follows from them: byte_ids, pairs, tokens, hash.
/// Needs grammar, whole_words, ids and added. Errors: kUnsupported  a byte has no token, an id of 2^24 or more;
/// kCorruptData  two words share an id, two added words share a text.
Status complete(Vocabulary& vocabulary, const std::vector<NamedMerge>& merges);

}  // namespace headrace::tokenizing
