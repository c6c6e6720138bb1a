// Tokenizers: texts as arrays of ids.
#include <headrace/tokenizer.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bind/register.h"
#include "bind/text.h"
#include "bind/without_gil.h"

namespace headrace::python {
namespace {

template <class T>
using Row = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The bytes of str and bytes, which the tuple keeps alive. Python keeps the UTF-8 of a str with it.
std::vector<std::string_view> views_of(const nb::tuple& texts) {
  std::vector<std::string_view> views;
  views.reserve(texts.size());
  for (const nb::handle text : texts) {
    Py_ssize_t size = 0;
    if (PyBytes_Check(text.ptr())) {
      char* data = nullptr;
      if (PyBytes_AsStringAndSize(text.ptr(), &data, &size) != 0) throw nb::python_error();
      views.emplace_back(data, static_cast<std::size_t>(size));
      continue;
    }
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    views.emplace_back(data, static_cast<std::size_t>(size));
  }
  return views;
}

Tokenizer open_tokenizer(const nb::bytes& path, const std::string& grammar,
                         const std::map<std::string, std::uint32_t>& special) {
  const std::string name = from_python(path);
  return without_gil([&] { return Tokenizer(name, {grammar, special}); });
}

EncodedTexts encode_texts(const Tokenizer& self, const nb::tuple& texts, bool all_special,
                          const std::vector<std::string>& special, int threads) {
  const std::vector<std::string_view> views = views_of(texts);
  return without_gil([&] { return self.encode_batch(views, {all_special, special, threads}); });
}

template <class T>
void copy_tokens(const EncodedTexts& self, const Row<T>& out) {
  without_gil([&] {
    self.copy_to(std::span<T>(out.data(), out.size()));
    return 0;
  });
}

void copy_offsets(const EncodedTexts& self, const Row<std::int64_t>& out) {
  const std::vector<std::int64_t>& offsets = self.offsets();
  if (out.size() != offsets.size()) throw nb::value_error("another number of offsets");
  std::copy(offsets.begin(), offsets.end(), out.data());
}

nb::bytes decode_ids(const Tokenizer& self, const Row<const std::uint32_t>& ids) {
  const std::string bytes = without_gil([&] { return self.decode({ids.data(), ids.size()}); });
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void register_tokenizer(nb::module_& m) {
  nb::class_<EncodedTexts>(m, "EncodedTexts", "Tokens of several texts.")
      .def("__len__", &EncodedTexts::size)
      .def("copy_u2", &copy_tokens<std::uint16_t>, nb::arg("out").noconvert(),
           nb::sig("def copy_u2(self, out: typing.Any) -> None"))
      .def("copy_u4", &copy_tokens<std::uint32_t>, nb::arg("out").noconvert(),
           nb::sig("def copy_u4(self, out: typing.Any) -> None"))
      .def("copy_offsets", &copy_offsets, nb::arg("out").noconvert(),
           nb::sig("def copy_offsets(self, out: typing.Any) -> None"));
  nb::class_<Tokenizer>(m, "Tokenizer", "A tokenizer; see headrace.tokenizer.Tokenizer.")
      .def("encode_batch", &encode_texts, nb::arg("texts"), nb::arg("all_special"), nb::arg("special"),
           nb::arg("threads"),
           nb::sig("def encode_batch(self, texts: tuple[str | bytes, ...], all_special: bool, special: "
                   "collections.abc.Sequence[str], threads: int) -> EncodedTexts"))
      .def("decode", &decode_ids, nb::arg("ids").noconvert(), nb::sig("def decode(self, ids: typing.Any) -> bytes"))
      .def("vocab_size", &Tokenizer::vocab_size, nb::sig("def vocab_size(self) -> int"))
      .def(
          "name", [](const Tokenizer& self) { return to_python(self.name()); }, nb::sig("def name(self) -> str"))
      .def("hash", &Tokenizer::hash, nb::sig("def hash(self) -> str"))
      .def("grammar", &Tokenizer::grammar, nb::sig("def grammar(self) -> str"))
      .def("end_of_text", &Tokenizer::end_of_text, nb::sig("def end_of_text(self) -> int | None"))
      .def(
          "special",
          [](const Tokenizer& self) {
            nb::dict words;
            for (const auto& [text, id] : self.special()) words[to_python(text)] = id;
            return words;
          },
          nb::sig("def special(self) -> dict[str, int]"))
      .def(
          "notices",
          [](const Tokenizer& self) {
            nb::list texts;
            for (const std::string& text : self.notices()) texts.append(to_python(text));
            return texts;
          },
          nb::sig("def notices(self) -> list[str]"));
  m.def("open_tokenizer", &open_tokenizer, nb::arg("path"), nb::arg("grammar"), nb::arg("special"),
        nb::sig("def open_tokenizer(path: bytes, grammar: str, special: collections.abc.Mapping[str, int]) "
                "-> Tokenizer"),
        "Open a tokenizer.");
}

}  // namespace headrace::python
