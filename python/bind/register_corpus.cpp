// Files of text as files of tokens.
#include <headrace/tokenize.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bind/progress.h"
#include "bind/register.h"
#include "bind/text.h"
#include "bind/without_gil.h"

namespace headrace::python {
namespace {

using Words = nb::typed<nb::dict, nb::str, nb::any>;

/// The words of Python, which has checked them.
TokenizeOptions options_of(const Words& words) {
  const auto text = [&](const char* name) { return from_python(nb::cast<nb::str>(words[name])); };
  TokenizeOptions options;
  options.field = text("field");
  if (text("document") == "line") options.document = TextDocument::kLine;
  const std::string bad_text = text("bad_text"), format = text("format");
  if (bad_text != "error") options.bad_text = bad_text == "skip" ? BadText::kSkip : BadText::kReplace;
  if (format != "headrace") options.format = format == "nanogpt" ? TokenFormat::kNanogpt : TokenFormat::kMegatron;
  options.dtype = text("dtype");
  options.end_of_text = nb::cast<bool>(words["end_of_text"]);
  options.end_of_text_word = text("end_of_text_word");
  options.shard_tokens = nb::cast<std::uint64_t>(words["shard_tokens"]);
  options.threads = nb::cast<std::uint32_t>(words["threads"]);
  options.memory_bytes = nb::cast<std::uint64_t>(words["memory"]);
  options.restart = nb::cast<bool>(words["restart"]);
  options.checkpoint_seconds = nb::cast<double>(words["checkpoint_seconds"]);
  return options;
}

Words tokenize_files(const std::vector<nb::bytes>& paths, const nb::bytes& to, const Tokenizer& tokenizer,
                     const Words& words, const nb::object& progress) {
  const std::vector<std::string> names = from_python(paths);
  const std::string output = from_python(to);
  TokenizeOptions options = options_of(words);
  Progress reporter(progress);  // a call a piece, which is a MiB or a file
  options.progress = reporter.function();
  const TokenizeResult done = reporter.run([&] { return tokenize(names, output, tokenizer, options); });
  Words result;
  result["files"] = done.files;
  result["documents"] = done.documents;
  result["tokens"] = done.tokens;
  result["text_bytes"] = done.text_bytes;
  result["skipped_documents"] = done.skipped_documents;
  result["first_skipped"] = to_python(done.first_skipped);
  result["resumed_bytes"] = done.resumed_bytes;
  result["seconds"] = done.seconds;
  return result;
}

Words estimate_files(const std::vector<nb::bytes>& paths, const Tokenizer& tokenizer, const Words& words) {
  const std::vector<std::string> names = from_python(paths);
  const TokenizeOptions options = options_of(words);
  const TokenizeEstimate about = without_gil([&] { return estimate_tokenize(names, tokenizer, options); });
  Words result;
  result["files"] = about.files;
  result["stored_bytes"] = about.stored_bytes;
  result["text_bytes"] = about.text_bytes;
  result["tokens"] = about.tokens;
  result["token_bytes"] = about.token_bytes;
  result["seconds"] = about.seconds;
  return result;
}

}  // namespace

void register_corpus(nb::module_& m) {
  m.def("tokenize", &tokenize_files, nb::arg("paths"), nb::arg("to"), nb::arg("tokenizer"), nb::arg("words"),
        nb::arg("progress") = nb::none(), "Write the tokens of text files; see headrace.tokenize.");
  m.def("estimate_tokenize", &estimate_files, nb::arg("paths"), nb::arg("tokenizer"), nb::arg("words"),
        "Say what tokenize() would cost.");
  m.def(
      "tokenize_settings",
      [](const std::vector<nb::bytes>& paths, const Tokenizer& tokenizer, const Words& words) {
        const std::vector<std::string> names = from_python(paths);
        const TokenizeOptions options = options_of(words);
        return without_gil([&] { return tokenize_settings(names, tokenizer, options); });
      },
      nb::arg("paths"), nb::arg("tokenizer"), nb::arg("words"), "Return what decides the tokens, as JSON.");
}

}  // namespace headrace::python
