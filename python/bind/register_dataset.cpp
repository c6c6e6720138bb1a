// Dataset: opening, description, rows by number. Everything that may read a file runs without the GIL.
#include <headrace/mix.h>
#include <headrace/split.h>
#include <headrace/stats.h>
#include <headrace/whole_number.h>
#include <headrace/windows.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bind/dataset_handle.h"
#include "bind/progress.h"
#include "bind/register.h"
#include "bind/row_numbers.h"
#include "bind/sample_by.h"
#include "bind/text.h"
#include "bind/values.h"
#include "bind/whole_number.h"
#include "bind/without_gil.h"
#include "dataset/recipe/words.h"

namespace headrace::python {
namespace {

using Choices = std::vector<std::pair<nb::str, nb::str>>;

using Beside = std::vector<std::pair<nb::str, std::vector<nb::bytes>>>;

using Broadcasts = std::vector<std::tuple<nb::str, nb::str, std::uint32_t>>;

DatasetHandle open_paths(const std::vector<nb::bytes>& paths, const Choices& choices, const Beside& beside,
                         std::uint32_t sample_axes, const Broadcasts& broadcast, const nb::object& sample_by,
                         const Choices& targets, const nb::str& nulls, const nb::object& progress) {
  const std::vector<std::string> names = from_python(paths);
  OpenOptions options;
  for (const auto& [name, path] : choices) options.fields.push_back({from_python(name), from_python(path)});
  for (const auto& [files, meant] : beside) options.companion_files.emplace(from_python(files), from_python(meant));
  options.sample_axes = sample_axes;
  for (const auto& [name, path, axes] : broadcast)
    options.broadcast.push_back({from_python(name), from_python(path), axes});
  if (!sample_by.is_none()) options.sample_by = to_sample_by(sample_by);
  for (const auto& [name, path] : targets) options.targets.push_back({from_python(name), from_python(path)});
  options.nulls = enum_of<Nulls>("nulls", from_python(nulls));
  Progress reporter(progress, std::chrono::milliseconds(50));  // a file is described in less than a millisecond
  options.progress = reporter.function();
  return DatasetHandle(reporter.run([&] { return open(names, std::move(options)); }));
}

Dataset open_again(const nb::bytes& recipe) {
  const std::string bytes(recipe.c_str(), recipe.size());
  return without_gil([&] { return open_recipe(bytes); });
}

nb::bytes to_bytes(const std::string& text) {
  return nb::bytes(text.data(), text.size());
}

/// Return what `read(go_on)` returns, which is called without the GIL; Ctrl-C stops it.
template <class Read>
Batch interruptible(Read&& read) {
  Progress reporter{nb::none()};
  const auto go_on = reporter.uncounted();
  return reporter.run([&] { return read(go_on); });
}

nb::object rows(const DatasetHandle& self, std::uint64_t first, std::uint64_t count) {
  return self.exporter(interruptible([&](const auto& go_on) { return self.dataset.slice(first, count, go_on); }));
}

nb::object take(const DatasetHandle& self, const RowNumbers& numbers) {
  const std::span<const std::uint64_t> wanted(numbers.data(), numbers.size());
  return self.exporter(interruptible([&](const auto& go_on) { return self.dataset.take(wanted, go_on); }));
}

DatasetHandle choose(const DatasetHandle& self, const std::vector<nb::str>& names) {
  std::vector<std::string> fields;
  for (const nb::str& name : names) fields.push_back(from_python(name));
  return DatasetHandle(self.dataset.choose(fields));
}

/// Columns of a table of NumPy's.
std::vector<NumberColumn> to_columns(const nb::list& arrays) {
  using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  std::vector<NumberColumn> columns;
  for (const nb::handle one : arrays) {
    const auto array = nb::cast<Array>(one);
    const auto code = static_cast<nb::dlpack::dtype_code>(array.dtype().code);
    const DType::Kind kind = code == nb::dlpack::dtype_code::Bool    ? DType::Kind::kBool
                             : code == nb::dlpack::dtype_code::Int   ? DType::Kind::kInt
                             : code == nb::dlpack::dtype_code::Float ? DType::Kind::kFloat
                                                                     : DType::Kind::kUInt;
    columns.emplace_back(DType{kind, static_cast<std::uint32_t>(array.itemsize())},
                         std::span(static_cast<const std::byte*>(array.data()), array.nbytes()));
  }
  return columns;
}

Setting to_setting(const nb::handle& value) {
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<std::int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return from_python(nb::cast<nb::str>(value));
  const auto list = nb::cast<nb::list>(value);
  if (list.size() > 0 && nb::isinstance<nb::str>(list[0])) {  // NumPy's texts are arrays, too
    std::vector<std::string> texts;
    for (const nb::handle text : list) texts.push_back(from_python(nb::cast<nb::str>(text)));
    return texts;
  }
  if (list.size() > 0 && nb::ndarray_check(list[0])) return to_columns(list);
  if (std::ranges::all_of(list, [](const nb::handle& one) { return nb::isinstance<nb::int_>(one); })) {
    std::vector<WholeNumber> numbers;
    for (const nb::handle one : list) numbers.push_back(whole_number(one));
    return numbers;
  }
  return nb::cast<std::vector<double>>(value);
}

DatasetHandle map_fields(const DatasetHandle& self,
                         const std::vector<std::tuple<std::string, std::vector<nb::str>, nb::dict>>& transforms) {
  std::vector<Transform> list;
  for (const auto& [name, fields, settings] : transforms) {
    Transform& transform = list.emplace_back();
    transform.name = name;
    for (const nb::str& field : fields) transform.fields.push_back(from_python(field));
    for (const auto& [key, value] : settings) transform.settings.emplace(nb::cast<std::string>(key), to_setting(value));
  }
  return DatasetHandle(without_gil([&] { return self.dataset.map(list); }));
}

DatasetHandle select(const DatasetHandle& self, const RowNumbers& numbers) {
  return DatasetHandle(without_gil([&] { return self.dataset.select({numbers.data(), numbers.size()}); }));
}

std::vector<DatasetHandle> split_dataset(const DatasetHandle& self, const std::vector<double>& shares,
                                         std::uint64_t seed, const nb::str& stratify, const nb::str& by,
                                         const std::vector<nb::str>& names) {
  Progress reporter{nb::none()};
  SplitOptions options{seed, from_python(stratify), from_python(by), reporter.uncounted(), {}};
  for (const nb::str& name : names) options.names.push_back(from_python(name));
  const std::vector<Dataset> made = reporter.run([&] { return split(self.dataset, shares, options); });
  std::vector<DatasetHandle> parts;
  for (const Dataset& part : made) parts.emplace_back(part);
  return parts;
}

DatasetHandle apply_to_rows(const DatasetHandle& self, const std::string& verb, const nb::kwargs& words) {
  return DatasetHandle(dataset_of(apply_verb(verb, self.dataset, words)));
}

DatasetHandle mix_datasets(const std::vector<std::tuple<std::string, const DatasetHandle*, double>>& parts,
                           double temperature, const std::string& stop, std::uint64_t num_samples) {
  std::vector<MixPart> list;
  for (const auto& [name, data, weight] : parts) list.push_back({name, data->dataset, weight});
  const auto how = enum_of<MixStop>("stop", stop);
  return DatasetHandle(without_gil([&] { return mix(list, {temperature, how, num_samples}); }));
}

/// An array that owns the numbers. \tparam Value  What they are in NumPy, of as many bytes.
template <class Value, class Number>
nb::object owned_array(std::vector<Number> numbers, const std::vector<std::size_t>& shape) {
  static_assert(sizeof(Value) == sizeof(Number));
  auto* const held = new std::vector<Number>(std::move(numbers));
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  auto* const values = reinterpret_cast<Value*>(held->data());
  return nb::cast(nb::ndarray<nb::numpy, Value>(values, shape.size(), shape.data(), owner));
}

template <class Value, class Number>
nb::object owned_array(std::vector<Number> numbers) {
  const std::size_t size = numbers.size();
  return owned_array<Value>(std::move(numbers), {size});
}

nb::object selected_rows(const DatasetHandle& self) {
  return owned_array<std::uint64_t>(without_gil([&] { return self.dataset.selected_rows(); }));
}

nb::object lengths(const DatasetHandle& self) {
  return owned_array<std::int64_t>(without_gil([&] { return self.dataset.lengths(); }));
}

nb::dict stats_of(const DatasetHandle& self, const nb::str& name, const nb::str& where, int threads) {
  Progress reporter{nb::none()};
  const std::string field = from_python(name);
  const StatsOptions options{from_python(where), reporter.uncounted(), threads};
  const Stats found = reporter.run([&] { return stats(self.dataset, field, options); });
  std::vector<std::size_t> shape{found.mean.size()};
  for (const Field& f : self.dataset.fields())
    if (f.name == field && f.dims.extents().empty()) shape.clear();
  nb::dict result;
  result["mean"] = owned_array<double>(found.mean, shape);
  result["std"] = owned_array<double>(found.std, shape);
  result["min"] = owned_array<double>(found.min, shape);
  result["max"] = owned_array<double>(found.max, shape);
  result["count"] = owned_array<std::int64_t>(found.count, shape);
  result["nan_count"] = owned_array<std::int64_t>(found.nan_count, shape);
  result["inf_count"] = owned_array<std::int64_t>(found.inf_count, shape);
  result["remembered"] = found.remembered;
  return result;
}

nb::list sample_shapes(const DatasetHandle& self) {
  nb::list result;
  for (const std::vector<std::uint64_t>& shape : self.dataset.sample_shapes())
    result.append(nb::tuple(nb::cast(shape)));
  return result;
}

nb::object sample_index(const DatasetHandle& self, const RowNumbers& numbers) {
  std::vector<std::int64_t> index = without_gil([&] {
    return self.dataset.sample_index({numbers.data(), numbers.size()});
  });
  const std::size_t axes = self.dataset.sample_shapes().at(0).size();
  return owned_array<std::int64_t>(std::move(index), {numbers.size(), axes});
}

nb::list fields(const DatasetHandle& self) {
  nb::list result;
  for (std::size_t i = 0; i < self.dataset.fields().size(); ++i) {
    const Field& field = self.dataset.fields()[i];
    const FieldStorage& storage = self.dataset.storage()[i];
    nb::dict entry;
    entry["name"] = to_python(field.name);
    entry["path"] = to_python(field.path);
    entry["typestr"] = to_python(field.dtype.numpy_typestr());
    entry["shape"] = nb::tuple(nb::cast(field.dims.row_shape()));
    entry["ragged"] = field.dims.is_ragged();
    entry["chunks"] = storage.chunk_shape.empty() ? nb::none() : nb::object(nb::tuple(nb::cast(storage.chunk_shape)));
    entry["codec"] = to_python(storage.codec);
    entry["read_path"] = to_python(storage.read_path);
    entry["reason"] = to_python(storage.reason);
    entry["uniform"] = nb::bool_(storage.uniform);
    result.append(entry);
  }
  return result;
}

nb::list files(const DatasetHandle& self) {
  nb::list result;
  for (const FileEntry& file : self.dataset.files()) {
    result.append(nb::make_tuple(nb::bytes(file.path.data(), file.path.size()), file.rows));
  }
  return result;
}

nb::list left_out(const DatasetHandle& self) {
  nb::list result;
  for (const LeftOut& one : self.dataset.left_out())
    result.append(nb::make_tuple(to_python(one.path), to_python(one.reason), one.is_unknown));
  return result;
}

nb::object value_of(const AttributeValue& value) {
  return std::visit(
      []<class T>(const T& v) -> nb::object {
        if constexpr (std::is_same_v<T, std::string>) {
          return to_python(v);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          nb::list list;
          for (const std::string& text : v) list.append(to_python(text));
          return list;
        } else {
          return nb::cast(v);
        }
      },
      value);
}

nb::tuple attributes_of(const Attributes& attributes) {
  nb::dict values, left_out;
  for (const auto& [name, value] : attributes.values) values[to_python(name)] = value_of(value);
  for (const auto& [name, why] : attributes.left_out) left_out[to_python(name)] = to_python(why);
  return nb::make_tuple(values, left_out);
}

nb::tuple attributes(const DatasetHandle& self, std::size_t field) {
  if (field >= self.dataset.fields().size()) throw nb::index_error("no such field");
  return attributes_of(self.dataset.attributes(field));
}

}  // namespace

void register_dataset(nb::module_& m) {
  nb::class_<DatasetHandle>(m, "Dataset", "Opened files; see headrace.Dataset.")
      .def("__len__", [](const DatasetHandle& self) { return self.dataset.size(); })
      .def("fields", &fields, nb::sig("def fields(self) -> list[dict[str, typing.Any]]"),
           "One dict for each field, in batch order.")
      .def(
          "tree_files",
          [](const DatasetHandle& self) {
            nb::list result;
            if (const DataTree tree = self.dataset.tree())
              for (const std::string& file : files_of(*tree)) result.append(nb::bytes(file.data(), file.size()));
            return result;
          },
          nb::sig("def tree_files(self) -> list[bytes]"), "Absolute paths of all files that it was made of.")
      .def("files", &files, nb::sig("def files(self) -> list[tuple[bytes, int]]"), "(path, rows) of each file.")
      .def("left_out", &left_out, nb::sig("def left_out(self) -> list[tuple[str, str, bool]]"),
           "(path, reason, is_unknown) of each array that is no field where no fields were chosen.")
      .def("attributes", &attributes, nb::arg("field"),
           nb::sig("def attributes(self, field: int) -> tuple[dict[str, typing.Any], dict[str, str]]"),
           "Attributes of a field's array: those that all files agree in, and name → reason of the others.")
      .def(
          "file_attributes", [](const DatasetHandle& self) { return attributes_of(self.dataset.file_attributes()); },
          nb::sig("def file_attributes(self) -> tuple[dict[str, typing.Any], dict[str, str]]"),
          "The same of the files as a whole.")
      .def(
          "notices",
          [](const DatasetHandle& self) {
            nb::list result;
            for (const std::string& text : self.dataset.notices()) result.append(to_python(text));
            return result;
          },
          nb::sig("def notices(self) -> list[str]"), "What should be known of the files, a sentence each.")
      .def("rows", &rows, nb::arg("first"), nb::arg("count"),
           nb::sig("def rows(self, first: int, count: int) -> dict[str, typing.Any]"),
           "Rows [first, first + count) as NumPy arrays.")
      .def("take", &take, nb::arg("rows"), nb::sig("def take(self, rows: typing.Any) -> dict[str, typing.Any]"),
           "Rows by number (a uint64 array), in any order, as NumPy arrays.")
      .def("select", &select, nb::arg("rows"), nb::sig("def select(self, rows: typing.Any) -> Dataset"),
           "Only these rows (a uint64 array, ascending).")
      .def("map", &map_fields, nb::arg("transforms"),
           nb::sig(
               "def map(self, transforms: collections.abc.Sequence[tuple[str, list[str], dict[str, typing.Any]]]) -> "
               "Dataset"),
           "The same samples through these transforms: (name, fields, settings) each.")
      .def("split", &split_dataset, nb::arg("shares"), nb::arg("seed"), nb::arg("stratify"), nb::arg("by"),
           nb::arg("names"), "Parts of these shares and names.")
      .def("apply", &apply_to_rows, nb::arg("verb"), nb::arg("words"),
           nb::sig("def apply(self, verb: str, **words: typing.Any) -> Dataset"),
           "Apply a verb, with its options as a run file has them; None is not given.")
      .def("lengths", &lengths, nb::sig("def lengths(self) -> typing.Any"), "Rows of each sample, as an int64 array.")
      .def("selected_rows", &selected_rows, nb::sig("def selected_rows(self) -> typing.Any"),
           "Number of each row among all rows of all files, as a uint64 array.")
      .def("stats", &stats_of, nb::arg("field"), nb::arg("where"), nb::arg("threads"),
           nb::sig("def stats(self, field: str, where: str, threads: int) -> dict[str, typing.Any]"),
           "Mean, spread and range of a field, as arrays.")
      .def("sample_shapes", &sample_shapes, nb::sig("def sample_shapes(self) -> list[tuple[int, ...]]"),
           "Extents of the samples' axes, a tuple for each file.")
      .def("sample_index", &sample_index, nb::arg("rows"),
           nb::sig("def sample_index(self, rows: typing.Any) -> typing.Any"),
           "Places of rows (a uint64 array) along those axes, as an int64 array (n, axes).")
      .def(
          "block_end", [](const DatasetHandle& self, std::uint64_t row) { return self.dataset.block_end(row); },
          nb::arg("row"), "Rows [row, block_end) decode together.")
      .def(
          "recipe", [](const DatasetHandle& self) { return to_bytes(self.dataset.recipe()); },
          nb::sig("def recipe(self) -> bytes"), "How the data set was made.")
      .def("choose", &choose, nb::arg("names"), "The same files with only these fields.")
      .def(
          "describe", [](const DatasetHandle& self) { return to_python(self.dataset.describe()); },
          nb::sig("def describe(self) -> str"), "A table for people.")
      .def("sample_bytes", [](const DatasetHandle& self) { return self.dataset.sample_bytes(); })
      .def("block_rows", [](const DatasetHandle& self) { return self.dataset.block_rows(); })
      .def("close",
           [](DatasetHandle& self) {
             const WithoutGil nogil;
             self.dataset.close();
           })
      .def("closed", [](const DatasetHandle& self) { return self.dataset.closed(); });
  m.def(
      "open_recipe", [](const nb::bytes& recipe) { return DatasetHandle(open_again(recipe)); }, nb::arg("recipe"),
      "Open again what Dataset.recipe() told of.");
  m.def("mix", &mix_datasets, nb::arg("parts"), nb::arg("temperature"), nb::arg("stop"), nb::arg("num_samples"),
        "A mixture of (name, data set, weight).");
  m.def("open", &open_paths, nb::arg("paths"), nb::arg("fields"), nb::arg("beside") = Beside(),
        nb::arg("sample_axes") = 1, nb::arg("broadcast") = Broadcasts(), nb::arg("sample_by") = nb::none(),
        nb::arg("targets") = Choices(), nb::arg("nulls") = "error", nb::arg("progress") = nb::none(),
        nb::sig("def open(paths: collections.abc.Sequence[bytes], fields: collections.abc.Sequence[tuple[str, str]], "
                "beside: collections.abc.Sequence[tuple[str, collections.abc.Sequence[bytes]]] = [], "
                "sample_axes: int = 1, "
                "broadcast: collections.abc.Sequence[tuple[str, str, int]] = [], "
                "sample_by: tuple[str, int | None, str, typing.Any, tuple[str, ...]] | None = None, "
                "targets: collections.abc.Sequence[tuple[str, str]] = [], "
                "nulls: str = 'error', "
                "progress: collections.abc.Callable[[int, int], typing.Any] | None = None) -> Dataset"),
        "Open a list of paths and globs, in its order. beside: what FILES of a field's FILES::PATH stands for.");
}

}  // namespace headrace::python
