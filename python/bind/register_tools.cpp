// The command line's verbs as functions.
#include <headrace/tools.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bind/dataset_handle.h"
#include "bind/loader_handle.h"
#include "bind/loader_words.h"
#include "bind/progress.h"
#include "bind/register.h"
#include "bind/row_numbers.h"
#include "bind/sample_by.h"
#include "bind/text.h"
#include "bind/without_gil.h"
#include "tools/runs/run_file_text.h"

namespace headrace::python {
namespace {

ToolResult inspect_files(const std::vector<nb::bytes>& paths, const nb::object& sample_by,
                         std::vector<std::string> values, std::string picture) {
  const std::vector<std::string> names = from_python(paths);
  InspectOptions options{{}, std::move(values), std::move(picture)};
  if (!sample_by.is_none()) options.sample_by = to_sample_by(sample_by);
  const WithoutGil nogil;
  return inspect(names, options);
}

ToolResult verify_files(const std::vector<nb::bytes>& paths, std::uint32_t threads, nb::object progress) {
  const std::vector<std::string> names = from_python(paths);
  Progress reporter(std::move(progress));
  const auto function = reporter.function();
  return reporter.run([&] { return verify(names, threads, function); });
}

ToolResult list_caches_of(const nb::bytes& directory) {
  const std::string path = from_python(directory);
  const WithoutGil nogil;
  return cache_list(path);
}

ToolResult verify_caches(const nb::bytes& directory, const std::string& name, nb::object progress) {
  const std::string path = from_python(directory);
  Progress reporter(std::move(progress));
  const auto function = reporter.function();
  return reporter.run([&] { return cache_verify(path, name, function); });
}

ToolResult build_cache(LoaderHandle& handle, nb::object progress) {
  handle.check_process();
  Progress reporter(std::move(progress));
  Turn turn(handle, "cache_build()");
  return turn.run(reporter, [&](const auto& function) { return cache_build(handle.loader(), function); });
}

ToolResult remove_cache_of(const nb::bytes& directory, const std::string& name) {
  const std::string path = from_python(directory);
  const WithoutGil nogil;
  return cache_remove(path, name);
}

ToolResult rewrite_files(const std::vector<nb::bytes>& paths, const nb::bytes& to, const std::string& codec,
                         std::uint64_t chunk_rows, bool shuffle, std::uint64_t seed, std::uint32_t threads,
                         std::uint64_t memory_bytes, bool dry_run, nb::object progress) {
  const std::vector<std::string> names = from_python(paths);
  RewriteOptions options;
  options.to = from_python(to);
  options.codec = codec;
  options.chunk_rows = chunk_rows;
  options.shuffle = shuffle;
  options.seed = seed;
  options.threads = threads;
  options.memory_bytes = memory_bytes;
  options.dry_run = dry_run;
  Progress reporter(std::move(progress));
  const auto function = reporter.function();
  return reporter.run([&] { return rewrite(names, options, function); });
}

ToolResult bench_loader(LoaderHandle& handle, std::uint64_t epochs, double max_seconds, std::uint64_t max_batches,
                        const BenchJudgement& judgement, nb::object progress) {
  handle.check_process();
  Progress reporter(std::move(progress));
  Turn turn(handle, "bench()");
  return turn.run(reporter, [&](const auto& function) {
    return bench(handle.loader(), {epochs, max_seconds, max_batches}, function, judgement);
  });
}

/// A data set, a run file (bytes), or paths with their fields; and the arguments of Loader.
RunConfig to_run(const nb::object& source, const std::vector<std::pair<nb::str, nb::str>>& fields,
                 const nb::dict& words) {
  RunConfig run;
  if (nb::isinstance<DatasetHandle>(source)) {
    run.data = nb::cast<const DatasetHandle&>(source).dataset.tree();
    if (!run.data) throw Error(ErrorCode::kUnsupported, "a data set that was made in memory has no files to measure");
  } else if (nb::isinstance<nb::bytes>(source)) {
    run = load_run(from_python(nb::borrow<nb::bytes>(source)));
  } else {
    OpenOptions open;
    for (const auto& [name, path] : fields) open.fields.push_back({from_python(name), from_python(path)});
    run.data = tree_of(from_python(nb::cast<std::vector<nb::bytes>>(source)), std::move(open));
  }
  set_loader(run, to_settings(words));
  return run;
}

nb::dict read_run_file(const nb::bytes& path) {
  const RunConfig config = load_run(from_python(path));
  return to_words(loader_settings(config));
}

DatasetHandle open_run_file(const nb::bytes& path, const std::vector<nb::bytes>& files) {
  const RunConfig config = load_run(from_python(path));
  const std::vector<std::string> others = from_python(files);
  Progress reporter{nb::none()};
  return DatasetHandle(reporter.run([&] {
    return others.empty() ? open_run(config, reporter.function()) : open_run(config, others, reporter.function());
  }));
}

/// The run file of a data set and of a loader's options.
std::string run_text(const DatasetHandle& handle, const nb::dict& words) {
  RunConfig run;
  run.data = handle.dataset.tree();
  if (!run.data)
    throw Error(ErrorCode::kUnsupported, "a data set that was made in memory is in no run file: no file holds it");
  set_loader(run, to_settings(words));
  const std::set<std::string> companions;  // the tree names all of them
  return run_file_text(run, &companions);
}

nb::dict library_versions() {
  nb::dict result;
  for (const auto& [name, version] : versions()) result[to_python(name)] = to_python(version);
  return result;
}

}  // namespace

void register_tools(nb::module_& m) {
  nb::class_<ToolResult>(m, "ToolResult", "What a tool found: print() shows one screen, to_dict() gives the data.")
      .def_ro("findings", &ToolResult::findings,
              "True if something is worth attention (the command line's exit status 1).")
      .def_ro("bad_data", &ToolResult::bad_data,
              "True if damaged, truncated or unreadable bytes were found (exit status 3).")
      .def_ro("exit_status", &ToolResult::exit_status,
              "Exit status of check_memory: 0 fits, 10 tight, 11 would be killed; 0 elsewhere.")
      .def_prop_ro(
          "run_file", [](const ToolResult& self) { return to_python(self.run_file); },
          nb::sig("def run_file(self) -> str"), "Settings as the text of a run file, where the tool makes some.")
      .def(
          "__str__", [](const ToolResult& self) { return to_python(self.text); }, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const ToolResult& self) { return to_python(self.text); }, nb::sig("def __repr__(self) -> str"))
      .def_prop_ro(
          "plot", [](const ToolResult& self) { return to_python(self.plot); }, nb::sig("def plot(self) -> str"),
          "A picture as SVG text, where the tool draws one.")
      .def_prop_ro(
          "png", [](const ToolResult& self) { return nb::bytes(self.png.data(), self.png.size()); },
          nb::sig("def png(self) -> bytes"), "A picture as the bytes of a PNG, where the tool draws one.")
      .def_prop_ro(
          "markdown", [](const ToolResult& self) { return to_python(self.markdown); },
          nb::sig("def markdown(self) -> str"), "The table as Markdown, where the tool compares.")
      .def(
          "to_json", [](const ToolResult& self) { return to_python(self.json); }, nb::sig("def to_json(self) -> str"),
          "Return the data as JSON text, as --json prints it.")
      .def(
          "to_dict",
          [](const ToolResult& self) { return nb::module_::import_("json").attr("loads")(to_python(self.json)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "Return the data as plain Python objects.");
  m.def("inspect", &inspect_files, nb::arg("paths"), nb::arg("sample_by").none(), nb::arg("values"),
        nb::arg("picture"));
  m.def("verify", &verify_files, nb::arg("paths"), nb::arg("threads"), nb::arg("progress").none());
  m.def("cache_build", &build_cache, nb::arg("loader"), nb::arg("progress").none());
  m.def("cache_list", &list_caches_of, nb::arg("directory"));
  m.def("cache_verify", &verify_caches, nb::arg("directory"), nb::arg("name"), nb::arg("progress").none());
  m.def("cache_remove", &remove_cache_of, nb::arg("directory"), nb::arg("name"));
  m.def("rewrite", &rewrite_files, nb::arg("paths"), nb::arg("to"), nb::arg("codec"), nb::arg("chunk_rows"),
        nb::arg("shuffle"), nb::arg("seed"), nb::arg("threads"), nb::arg("memory_bytes"), nb::arg("dry_run"),
        nb::arg("progress").none());
  m.def(
      "bench",
      [](LoaderHandle& handle, std::uint64_t epochs, double max_seconds, std::uint64_t max_batches,
         const nb::bytes& baseline, double max_slowdown, nb::object progress) {
        return bench_loader(handle, epochs, max_seconds, max_batches, {from_python(baseline), max_slowdown},
                            std::move(progress));
      },
      nb::arg("loader"), nb::arg("epochs"), nb::arg("max_seconds"), nb::arg("max_batches"), nb::arg("baseline"),
      nb::arg("max_slowdown"), nb::arg("progress").none());
  m.def(
      "bench_frame",
      [](LoaderHandle& handle) {
        handle.check_process();
        const std::string frame = bench_frame(handle.loader().dataset());
        return to_python(frame);
      },
      nb::arg("loader"), nb::sig("def bench_frame(loader: Loader) -> str"));
  m.def(
      "bench_report",
      [](const nb::str& measured, const nb::bytes& baseline, double max_slowdown) {
        return bench_report(from_python(measured), {from_python(baseline), max_slowdown});
      },
      nb::arg("measured"), nb::arg("baseline"), nb::arg("max_slowdown"),
      nb::sig("def bench_report(measured: str, baseline: bytes, max_slowdown: float) -> ToolResult"));
  m.def(
      "order",
      [](LoaderHandle& handle, const nb::str& by, std::uint64_t epoch) {
        handle.check_process();
        const std::string field = from_python(by);
        const Turn turn(handle, "order()");
        const WithoutGil nogil;
        return order(handle.loader(), {field, epoch});
      },
      nb::arg("loader"), nb::arg("by"), nb::arg("epoch"));
  m.def(
      "replay",
      [](LoaderHandle& handle, std::uint64_t epoch, std::uint64_t step, const nb::object& rows) {
        handle.check_process();
        const Turn turn(handle, "replay()");
        const ListedNumbers list = from_listed(rows);
        const WithoutGil nogil;
        return replay(handle.loader(), {epoch, step, list.rows, list.batch_rows});
      },
      nb::arg("loader"), nb::arg("epoch"), nb::arg("step"), nb::arg("rows").none(),
      nb::sig("def replay(loader: Loader, epoch: int, step: int, rows: typing.Any) -> ToolResult"));
  m.def(
      "advise",
      [](const nb::object& source, const std::vector<std::pair<nb::str, nb::str>>& fields, const nb::dict& loader,
         const std::string& target, std::uint64_t epochs) {
        const RunConfig run = to_run(source, fields, loader);
        AdviseOptions options;
        options.epochs = epochs;
        if (!target.empty()) options.target_per_second = parse_rate(target);
        const WithoutGil nogil;
        return advise(run, options);
      },
      nb::arg("source"), nb::arg("fields"), nb::arg("loader"), nb::arg("target"), nb::arg("epochs"),
      nb::sig("def advise(source: Dataset | bytes | collections.abc.Sequence[bytes], "
              "fields: collections.abc.Sequence[tuple[str, str]], loader: dict[str, typing.Any], target: str, epochs: "
              "int) -> ToolResult"));
  m.def(
      "check_memory",
      [](const DatasetHandle& handle, const nb::dict& loader, std::uint64_t machine_memory_bytes) {
        const LoaderSettings settings = to_settings(loader);
        const WithoutGil nogil;
        return check_memory(handle.dataset, settings.options, {machine_memory_bytes});
      },
      nb::arg("dataset"), nb::arg("loader"), nb::arg("machine_memory_bytes"),
      nb::sig("def check_memory(dataset: Dataset, loader: dict[str, typing.Any], machine_memory_bytes: int) -> "
              "ToolResult"));
  m.def("load_run", &read_run_file, nb::arg("path"), nb::sig("def load_run(path: bytes) -> dict[str, typing.Any]"),
        "The options of Loader that a run file gives.");
  m.def(
      "files_of_run",
      [](const nb::bytes& path) {
        nb::list files;
        for (const std::string& file : files_of_run(load_run(from_python(path))))
          files.append(nb::bytes(file.data(), file.size()));
        return files;
      },
      nb::arg("path"), nb::sig("def files_of_run(path: bytes) -> list[bytes]"), "The paths and globs of a run file.");
  m.def("open_run", &open_run_file, nb::arg("path"), nb::arg("files") = std::vector<nb::bytes>(),
        nb::sig("def open_run(path: bytes, files: collections.abc.Sequence[bytes] = []) -> Dataset"),
        "Open the data of a run file, of these files where any are given.");
  m.def(
      "run_text",
      [](const DatasetHandle& dataset, const nb::dict& loader) { return to_python(run_text(dataset, loader)); },
      nb::arg("dataset"), nb::arg("loader"),
      nb::sig("def run_text(dataset: Dataset, loader: dict[str, typing.Any]) -> str"),
      "The run file of a data set and of the options of a loader.");
  m.def("versions", &library_versions, nb::sig("def versions() -> dict[str, str]"));
}

}  // namespace headrace::python
