// What opening costs: the chunk index of a million chunks by index type, and the walk over many datasets. The figures
// of docs/decisions/0003-hdf5-metadata-only.md. The files are made first, through libhdf5, which takes a minute.
#include <benchmark/benchmark.h>
#include <hdf5.h>

#include <string>
#include <vector>

#include "base/testing/temporary_folder.h"
#include "format/format_reader.h"

namespace headrace {
namespace {

constexpr hsize_t kChunks = 1'000'000;

struct IndexKind {
  const char* name;
  bool latest;
  hsize_t max_rows, max_columns;
};
constexpr IndexKind kKinds[] = {{"v1_btree", false, kChunks, 2},
                                {"fixed_array", true, kChunks, 2},
                                {"extensible_array", true, H5S_UNLIMITED, 2},
                                {"v2_btree", true, H5S_UNLIMITED, H5S_UNLIMITED}};

const TemporaryFolder& folder() {
  static const TemporaryFolder made;
  return made;
}

hid_t new_file(const std::string& path, bool latest) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, latest ? H5F_LIBVER_V110 : H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  return file;
}

void make_chunks(const std::string& path, const IndexKind& kind) {
  const hid_t file = new_file(path, kind.latest), list = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t shape[] = {kChunks, 2}, chunk[] = {1, 2}, max[] = {kind.max_rows, kind.max_columns};
  const hid_t space = H5Screate_simple(2, shape, max);
  H5Pset_chunk(list, 2, chunk);
  const hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_INT8, space, H5P_DEFAULT, list, H5P_DEFAULT);
  const std::vector<char> values(2 * kChunks, 1);
  H5Dwrite(dataset, H5T_NATIVE_INT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(dataset), H5Sclose(space), H5Pclose(list), H5Fclose(file);
}

void BM_index(benchmark::State& state, const IndexKind& kind) {
  const std::string path = folder().path(kind.name);
  make_chunks(path, kind);
  for (auto _ : state) {
    state.PauseTiming();
    const auto file = open_file(path).value();
    const auto array = file->open_array("x").value();
    std::vector<Piece> pieces;
    state.ResumeTiming();
    array->locate({0, 1}, pieces).value();
  }
}

void BM_open_many(benchmark::State& state) {
  const std::string path = folder().path("many.h5");
  const hid_t file = new_file(path, false);
  const hsize_t rows = 100;
  const hid_t space = H5Screate_simple(1, &rows, nullptr);
  for (int i = 0; i < 1569; ++i)
    H5Dclose(H5Dcreate2(file, ("d" + std::to_string(i)).c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
  H5Sclose(space), H5Fclose(file);
  for (auto _ : state) benchmark::DoNotOptimize(open_file(path).value()->arrays().size());
}

void BM_open_million_chunks(benchmark::State& state) {
  const std::string path = folder().path(kKinds[0].name);
  for (auto _ : state) benchmark::DoNotOptimize(open_file(path).value()->arrays().size());
}

const bool registered = [] {
  for (const IndexKind& kind : kKinds)
    benchmark::RegisterBenchmark((std::string("index_1e6_chunks/") + kind.name).c_str(), BM_index, kind)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("open_1e6_chunks", BM_open_million_chunks)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("open_1569_datasets", BM_open_many)->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace headrace

BENCHMARK_MAIN();
