#include "tokenizer/vocabulary/json_vocabulary.h"
#include "tokenizer/vocabulary/vocabulary_text.h"

namespace headrace::tokenizing {

Result<Vocabulary> parse_vocab_and_merges(std::string_view vocab, std::string_view merges) {
  HEADRACE_ASSIGN(const nlohmann::json json, parse_object(vocab));
  HEADRACE_ASSIGN(const NamedIds ids, named_ids(json));
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!merges.empty()) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    std::string_view line = merges.substr(0, end);
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    HEADRACE_ASSIGN(auto pair, divide_merge(line, pairs.size()));
    pairs.push_back(std::move(pair));
  }
  HEADRACE_ASSIGN(const auto ordered, ordered_merges(ids, pairs));
  Vocabulary vocabulary;
  HEADRACE_TRY(put_ids(ids, vocabulary));
  if (const auto found = ids.find("<|endoftext|>"); found != ids.end())
    vocabulary.added.push_back({"<|endoftext|>", found->second});
  HEADRACE_TRY(complete(vocabulary, ordered));
  return vocabulary;
}

}  // namespace headrace::tokenizing
