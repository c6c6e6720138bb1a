// What open_tokens() takes, as run files and recipes have it; and documents of tokens.
#include <headrace/tokens.h>

#include "dataset/recipe/verb_options.h"
#include "dataset/verbs/registry.h"
#include "spec/path_forms.h"

namespace headrace {

const Spec& spec_of(const TokenOptions*) {
  static const Spec spec = Spec::of<TokenOptions>(
      "tokens", "What is said of files of tokens.",
      {member<&TokenOptions::dtype>("dtype", "Type of the numbers in raw files: u2 or u4."),
       member<&TokenOptions::vocab_size>("vocab_size", "How many ids the tokenizer has.")
           .at_least(1)
           .else_("what the files say"),
       member<&TokenOptions::check>("check", "Compare all ids with the vocabulary, and not the first MiB only.")});
  return spec;
}

const Spec& spec_of(const TokensNode*) {
  static const Spec spec = Spec::of<TokensNode>(
      "tokens", "Files of tokens.",
      {member<&TokensNode::paths, AsPaths>("files", "Paths and globs of the files.").required(),
       member<&TokensNode::tokens>("tokens", "What is said of them; {} says nothing.").required()});
  return spec;
}

const Spec& spec_of(const DocumentsNode*) {
  static const Spec spec = Spec::of<DocumentsNode>("documents", "Samples are the documents of files of tokens.", {});
  return spec;
}

const Verb& tokens_verb() {
  static const Verb verb = Verb::of<TokensNode>(
      Verb::Of::kNothing, Verb::Of::kTokens, "token",
      [](const TokensNode& node, const Opened&, const Opening& opening) -> Opened {
        TokenOptions options = node.tokens;
        options.progress = opening.progress;
        options.check = options.check && !opening.is_again;
        return open_tokens_again(node.paths, node.tokens, options);
      },
      [](const TokensNode& node, const DataNode&) { return counted(node.paths.size(), "file") + " of tokens"; });
  return verb;
}

const Verb& documents_verb() {
  static const Verb verb = Verb::of<DocumentsNode>(
      Verb::Of::kTokens, Verb::Of::kDataset, "document",
      [](const DocumentsNode&, const Opened& tokens, const Opening&) -> Opened {
        return std::get<Tokens>(tokens).documents();
      },
      [](const DocumentsNode&, const DataNode&) { return std::string("documents"); });
  return verb;
}

}  // namespace headrace
