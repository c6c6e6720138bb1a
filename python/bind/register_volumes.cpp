// Volumes and their patches.
#include <headrace/volumes.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/dataset_handle.h"
#include "bind/progress.h"
#include "bind/register.h"
#include "bind/text.h"
#include "bind/values.h"

namespace headrace::python {
namespace {

using ArrayChoices = std::vector<std::pair<nb::str, nb::str>>;

Volumes open_volume_files(const std::vector<nb::bytes>& paths, const ArrayChoices& arrays, const nb::object& progress) {
  const std::vector<std::string> names = from_python(paths);
  OpenOptions options;
  for (const auto& [name, path] : arrays) options.fields.push_back({from_python(name), from_python(path)});
  Progress reporter(progress, std::chrono::milliseconds(50));
  options.progress = reporter.function();
  return reporter.run([&] { return open_volumes(names, options); });
}

nb::list volume_arrays(const Volumes& self) {
  nb::list result;
  const std::vector<FieldStorage> stored = self.storage();
  for (std::size_t a = 0; a < stored.size(); ++a) {
    const Field& field = self.arrays()[a];
    nb::dict entry;
    entry["name"] = to_python(field.name);
    entry["path"] = to_python(field.path);
    entry["typestr"] = to_python(field.dtype.numpy_typestr());
    entry["shape"] = nb::tuple();
    entry["chunks"] =
        stored[a].chunk_shape.empty() ? nb::none() : nb::object(nb::tuple(nb::cast(stored[a].chunk_shape)));
    entry["codec"] = to_python(stored[a].codec);
    entry["read_path"] = to_python(stored[a].read_path);
    entry["reason"] = to_python(stored[a].reason);
    entry["uniform"] = nb::bool_(stored[a].uniform);
    result.append(entry);
  }
  return result;
}

nb::list volume_shapes(const Volumes& self) {
  nb::list result;
  for (const std::vector<std::uint64_t>& shape : self.shapes()) result.append(nb::tuple(nb::cast(shape)));
  return result;
}

nb::list volume_files(const Volumes& self) {
  nb::list result;
  for (const std::string& file : self.files()) result.append(nb::bytes(file.data(), file.size()));
  return result;
}

DatasetHandle apply_to_volumes(const Volumes& self, const std::string& verb, const nb::kwargs& words) {
  return DatasetHandle(dataset_of(apply_verb(verb, self, words)));
}

}  // namespace

void register_volumes(nb::module_& m) {
  nb::class_<Volumes>(m, "Volumes", "Opened volumes; see headrace.Volumes.")
      .def("__len__", &Volumes::size)
      .def("arrays", &volume_arrays, nb::sig("def arrays(self) -> list[dict[str, typing.Any]]"),
           "One dict for each array, in batch order.")
      .def("shapes", &volume_shapes, nb::sig("def shapes(self) -> list[tuple[int, ...]]"), "The shape of each volume.")
      .def("files", &volume_files, nb::sig("def files(self) -> list[bytes]"), "The file of each volume.")
      .def(
          "describe", [](const Volumes& self) { return to_python(self.describe()); },
          nb::sig("def describe(self) -> str"), "A table for people.")
      .def("apply", &apply_to_volumes, nb::arg("verb"), nb::arg("words"),
           nb::sig("def apply(self, verb: str, **words: typing.Any) -> Dataset"),
           "Apply a verb, with its options as a run file has them; None is not given.");
  m.def("open_volumes", &open_volume_files, nb::arg("paths"), nb::arg("arrays"), nb::arg("progress") = nb::none(),
        nb::sig("def open_volumes(paths: collections.abc.Sequence[bytes], arrays: "
                "collections.abc.Sequence[tuple[str, str]], progress: collections.abc.Callable[[int, int], typing.Any] "
                "| None = None) -> Volumes"),
        "Open a list of paths and globs as volumes.");
}

}  // namespace headrace::python
