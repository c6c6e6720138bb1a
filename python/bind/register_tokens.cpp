// Files of tokens: opened, and written.
#include <headrace/tokens.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind/dataset_handle.h"
#include "bind/progress.h"
#include "bind/register.h"
#include "bind/text.h"

namespace headrace::python {
namespace {

using Ids = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Tokens open_token_files(const std::vector<nb::bytes>& paths, const std::string& dtype, std::uint64_t vocab_size,
                        bool check, const nb::object& progress) {
  const std::vector<std::string> names = from_python(paths);
  TokenOptions options{dtype, vocab_size, check};
  Progress reporter(progress, std::chrono::milliseconds(50));
  options.progress = reporter.function();
  return reporter.run([&] { return open_tokens(names, options); });
}

TokenWriter make_writer(const nb::bytes& path, const std::string& format, const std::string& dtype,
                        std::uint64_t vocab_size, std::optional<std::uint32_t> end_of_text, const nb::str& tokenizer,
                        const nb::str& tokenizer_hash, std::uint64_t shard_tokens) {
  TokenWriterOptions options;
  if (format != "headrace") options.format = format == "nanogpt" ? TokenFormat::kNanogpt : TokenFormat::kMegatron;
  options.dtype = dtype;
  options.vocab_size = vocab_size;
  options.end_of_text = end_of_text;
  options.tokenizer = from_python(tokenizer);
  options.tokenizer_hash = from_python(tokenizer_hash);
  options.shard_tokens = shard_tokens;
  const std::string name = from_python(path);
  return without_gil([&] { return TokenWriter(name, options); });
}

}  // namespace

void register_tokens(nb::module_& m) {
  nb::class_<Tokens>(m, "Tokens", "Opened files of tokens; see headrace.tokens.Tokens.")
      .def("__len__", &Tokens::size)
      .def("num_documents", &Tokens::num_documents, nb::sig("def num_documents(self) -> int | None"))
      .def(
          "typestr", [](const Tokens& self) { return self.dtype().numpy_typestr(); },
          nb::sig("def typestr(self) -> str"), "NumPy's type string of a token.")
      .def("kind", &Tokens::kind, nb::sig("def kind(self) -> str"))
      .def("vocab_size", &Tokens::vocab_size, nb::sig("def vocab_size(self) -> int"))
      .def(
          "tokenizer", [](const Tokens& self) { return to_python(self.tokenizer()); },
          nb::sig("def tokenizer(self) -> str"))
      .def("tokenizer_hash", &Tokens::tokenizer_hash, nb::sig("def tokenizer_hash(self) -> str"))
      .def(
          "describe", [](const Tokens& self) { return to_python(self.describe()); },
          nb::sig("def describe(self) -> str"), "A line for people.")
      .def(
          "rows", [](const Tokens& self) { return DatasetHandle(self.rows()); }, nb::sig("def rows(self) -> Dataset"),
          "The tokens as a data set, a token a row.")
      .def(
          "documents", [](const Tokens& self) { return DatasetHandle(without_gil([&] { return self.documents(); })); },
          nb::sig("def documents(self) -> Dataset"), "The documents as a data set, a document a sample.");
  m.def("open_tokens", &open_token_files, nb::arg("paths"), nb::arg("dtype"), nb::arg("vocab_size"), nb::arg("check"),
        nb::arg("progress") = nb::none(),
        nb::sig("def open_tokens(paths: collections.abc.Sequence[bytes], dtype: str, vocab_size: int, check: bool, "
                "progress: collections.abc.Callable[[int, int], typing.Any] | None = None) -> Tokens"),
        "Open files of tokens.");
  nb::class_<TokenWriter>(m, "TokenWriter", "Writes files of tokens; see headrace.tokens.Writer.")
      .def(
          "append",
          [](TokenWriter& self, const Ids& ids) {
            without_gil([&] {
              self.append({ids.data(), ids.size()});
              return 0;
            });
          },
          nb::arg("ids").noconvert(), nb::sig("def append(self, ids: typing.Any) -> None"),
          "Write tokens of the document that is open.")
      .def("end_document", &TokenWriter::end_document, nb::sig("def end_document(self) -> None"))
      .def(
          "finish",
          [](TokenWriter& self) {
            without_gil([&] {
              self.finish();
              return 0;
            });
          },
          nb::sig("def finish(self) -> None"), "Give the files their names.")
      .def("tokens", &TokenWriter::tokens, nb::sig("def tokens(self) -> int"))
      .def("documents", &TokenWriter::documents, nb::sig("def documents(self) -> int"));
  m.def("make_token_writer", &make_writer, nb::arg("path"), nb::arg("format"), nb::arg("dtype"), nb::arg("vocab_size"),
        nb::arg("end_of_text").none(), nb::arg("tokenizer"), nb::arg("tokenizer_hash"), nb::arg("shard_tokens"),
        nb::sig("def make_token_writer(path: bytes, format: str, dtype: str, vocab_size: int, end_of_text: int | None, "
                "tokenizer: str, tokenizer_hash: str, shard_tokens: int) -> TokenWriter"),
        "Begin to write files of tokens.");
}

}  // namespace headrace::python
