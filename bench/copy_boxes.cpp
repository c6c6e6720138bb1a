// The limit of patches that need no decoding: threads that copy boxes out of volumes into batches, and do nothing else.
// No order, no consumer, no checks. The places are known before the clock starts.
//
// bench_copy_boxes --starts FILE [--arrays raw,labels] [--box 64] [--batch-size 4] [--threads 2] [--ring 8]
//                  [--from memory|mapping|pread] [--passes 0] FILE…                 prints one JSON object
//
// Files are HDF5 with chunked arrays of three axes, of one byte an element and without filters. FILE of the starts has
// four int64 for each box: number of the file, first voxel along each axis. The chunks lie in memory, in huge pages; or
// in mappings of the files; or each box reads with one pread of each chunk the planes that it needs of it.
#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "pages.h"

namespace bench {
namespace {

struct Options {
  std::vector<std::string> files, arrays = {"raw", "labels"};
  std::string starts, from = "memory";
  std::uint64_t box = 64, batch_size = 4, ring = 8, passes = 0;
  unsigned threads = 2;
};

using Place = std::array<std::uint64_t, 3>;

struct Chunk {
  std::uint64_t offset = 0;         // in the file
  const std::byte* data = nullptr;  // null: it has to be read
};

/// One array of one file.
struct Array {
  Place shape, cell, cells;
  std::vector<Chunk> chunks;  // by their places, in C order
  int descriptor = -1;

  [[nodiscard]] std::uint64_t cell_bytes() const { return cell[0] * cell[1] * cell[2]; }
};

struct Start {
  std::int64_t file;
  std::array<std::int64_t, 3> first;
};

void read_exactly(int descriptor, std::byte* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t got = pread(descriptor, to, bytes, static_cast<off_t>(offset));
    if (got <= 0) throw std::runtime_error("pread failed or met the end of the file");
    to += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

Array open_array(hid_t file, int descriptor, const std::string& name) {
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  if (dataset < 0) throw std::runtime_error(name + " cannot be opened");
  const hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), list = H5Dget_create_plist(dataset);
  hsize_t extents[H5S_MAX_RANK], cell[H5S_MAX_RANK], at[H5S_MAX_RANK];
  if (H5Sget_simple_extent_dims(space, extents, nullptr) != 3 || H5Pget_chunk(list, H5S_MAX_RANK, cell) != 3 ||
      H5Tget_size(type) != 1 || H5Pget_nfilters(list) != 0) {
    throw std::runtime_error(name + " is not of chunks of bytes, of three axes, without filters");
  }
  Array array;
  array.descriptor = descriptor;
  std::uint64_t all = 1;
  for (int a = 0; a < 3; ++a) {
    array.shape[a] = extents[a], array.cell[a] = cell[a], array.cells[a] = (extents[a] + cell[a] - 1) / cell[a];
    all *= array.cells[a];
  }
  array.chunks.resize(all);
  hsize_t count = 0;
  if (H5Dget_num_chunks(dataset, space, &count) < 0 || count != all) throw std::runtime_error(name + " lacks chunks");
  for (hsize_t i = 0; i < count; ++i) {
    unsigned mask = 0;
    haddr_t offset = 0;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info(dataset, space, i, at, &mask, &offset, &bytes) < 0) throw std::runtime_error("chunk index");
    const std::uint64_t number =
        (at[0] / cell[0] * array.cells[1] + at[1] / cell[1]) * array.cells[2] + at[2] / cell[2];
    array.chunks.at(number).offset = offset;
  }
  H5Pclose(list);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  return array;
}

/// All arrays of all files, and the memory that they lie in.
class Volumes {
 public:
  explicit Volumes(const Options& o) {
    for (const std::string& name : o.files) {
      const hid_t file = H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
      const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0 || descriptor < 0) throw std::runtime_error(name + " cannot be opened");
      for (const std::string& array : o.arrays) {
        arrays_.push_back(open_array(file, descriptor, array));
        if (o.from == "memory") keep(arrays_.back());
        if (o.from == "mapping") map(arrays_.back());
      }
      H5Fclose(file);
    }
  }
  [[nodiscard]] const std::vector<Array>& arrays() const { return arrays_; }

 private:
  void keep(Array& array) {
    const std::uint64_t bytes = array.cell_bytes();
    std::byte* to = kept_.emplace_back(std::make_unique<Pages>(bytes * array.chunks.size()))->data();
    for (Chunk& chunk : array.chunks) {
      read_exactly(array.descriptor, to, bytes, chunk.offset);
      chunk.data = to;
      to += bytes;
    }
  }
  /// The mapping stays until the process ends.
  static void map(Array& array) {
    struct stat info {};
    if (fstat(array.descriptor, &info) != 0) throw std::runtime_error("fstat failed");
    void* const at = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_SHARED | MAP_POPULATE,
                          array.descriptor, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap failed");
    for (Chunk& chunk : array.chunks) chunk.data = static_cast<const std::byte*>(at) + chunk.offset;
  }

  std::vector<Array> arrays_;  // of file 0, of file 1, …
  std::vector<std::unique_ptr<Pages>> kept_;
};

/// What a chunk and a box have in common. Strides are bytes.
struct Overlap {
  Place count, from_stride, to_stride;
};

template <class Run>
void copy_rows(const std::byte* from, std::byte* to, const Overlap& o, Run run) {
  for (std::uint64_t z = 0; z < o.count[0]; ++z)
    for (std::uint64_t y = 0; y < o.count[1]; ++y)
      run(to + z * o.to_stride[0] + y * o.to_stride[1], from + z * o.from_stride[0] + y * o.from_stride[1]);
}

/// Runs of kHalf to 2·kHalf bytes are two moves that may overlap, which no call of memcpy is faster than.
template <std::size_t kHalf>
void copy_halves(const std::byte* from, std::byte* to, const Overlap& o) {
  const std::size_t second = o.count[2] - kHalf;
  copy_rows(from, to, o, [second](std::byte* t, const std::byte* f) {
    std::byte low[kHalf], high[kHalf];
    std::memcpy(low, f, kHalf);
    std::memcpy(high, f + second, kHalf);
    std::memcpy(t, low, kHalf);
    std::memcpy(t + second, high, kHalf);
  });
}

void copy_overlap(const std::byte* from, std::byte* to, const Overlap& o) {
  const std::size_t run = o.count[2];
  if (run == 64) return copy_rows(from, to, o, [](std::byte* t, const std::byte* f) { std::memcpy(t, f, 64); });
  if (run > 64) return copy_rows(from, to, o, [run](std::byte* t, const std::byte* f) { std::memcpy(t, f, run); });
  if (run >= 32) return copy_halves<32>(from, to, o);
  if (run >= 16) return copy_halves<16>(from, to, o);
  if (run >= 8) return copy_halves<8>(from, to, o);
  if (run >= 4) return copy_halves<4>(from, to, o);
  if (run >= 2) return copy_halves<2>(from, to, o);
  copy_rows(from, to, o, [](std::byte* t, const std::byte* f) { *t = *f; });
}

/// Copies a box of an array. `scratch` has room for a chunk, where chunks have to be read.
void copy_box(const Array& array, const std::array<std::int64_t, 3>& first, std::uint64_t box, std::byte* to,
              std::byte* scratch) {
  Place begin, end;  // chunks along each axis
  for (int a = 0; a < 3; ++a) {
    begin[a] = static_cast<std::uint64_t>(first[a]) / array.cell[a];
    end[a] = (static_cast<std::uint64_t>(first[a]) + box - 1) / array.cell[a] + 1;
  }
  const std::uint64_t plane = array.cell[1] * array.cell[2];
  Place c;
  for (c[0] = begin[0]; c[0] < end[0]; ++c[0])
    for (c[1] = begin[1]; c[1] < end[1]; ++c[1])
      for (c[2] = begin[2]; c[2] < end[2]; ++c[2]) {
        Overlap o{{}, {plane, array.cell[2], 1}, {box * box, box, 1}};
        Place in_cell;
        std::uint64_t in_box = 0;
        for (int a = 0; a < 3; ++a) {
          const std::uint64_t box_first = static_cast<std::uint64_t>(first[a]), cell_first = c[a] * array.cell[a];
          const std::uint64_t low = std::max(box_first, cell_first);
          o.count[a] = std::min(box_first + box, cell_first + array.cell[a]) - low;
          in_cell[a] = low - cell_first;
          in_box = in_box * box + (low - box_first);
        }
        const Chunk& chunk = array.chunks[(c[0] * array.cells[1] + c[1]) * array.cells[2] + c[2]];
        std::uint64_t skipped = in_cell[1] * array.cell[2] + in_cell[2];
        const std::byte* from = chunk.data;
        if (from != nullptr) {
          skipped += in_cell[0] * plane;
        } else {  // from the first byte that is needed to the last
          const std::uint64_t bytes = (o.count[0] - 1) * plane + (o.count[1] - 1) * array.cell[2] + o.count[2];
          read_exactly(array.descriptor, scratch, bytes, chunk.offset + in_cell[0] * plane + skipped);
          from = scratch;
          skipped = 0;
        }
        copy_overlap(from + skipped, to + in_box, o);
      }
}

std::vector<Start> read_starts(const std::string& name) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error(name + " cannot be opened");
  std::vector<Start> starts(static_cast<std::size_t>(file.tellg()) / sizeof(Start));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(starts.data()), static_cast<std::streamsize>(starts.size() * sizeof(Start)));
  if (starts.empty()) throw std::runtime_error(name + " is empty");
  return starts;
}

nlohmann::json measure(const Options& o) {
  const Volumes volumes(o);
  const std::vector<Start> starts = read_starts(o.starts);
  const std::size_t fields = o.arrays.size();
  std::uint64_t cell_bytes = 0;
  for (const Array& array : volumes.arrays()) cell_bytes = std::max(cell_bytes, array.cell_bytes());
  for (const Start& start : starts)
    for (std::size_t f = 0; f < fields; ++f) {
      const Array& array = volumes.arrays().at(static_cast<std::size_t>(start.file) * fields + f);
      for (int a = 0; a < 3; ++a)
        if (static_cast<std::uint64_t>(start.first[a]) + o.box > array.shape[a])
          throw std::runtime_error("a box reaches past the end of its volume");
    }
  const std::uint64_t box_bytes = o.box * o.box * o.box, batch_bytes = o.batch_size * fields * box_bytes;
  // Each thread goes round in its own share of the ring.
  const std::uint64_t share = std::max<std::uint64_t>(o.ring / o.threads, 1);
  std::vector<std::unique_ptr<Pages>> rings, scratch;
  for (unsigned t = 0; t < o.threads; ++t) {
    rings.push_back(std::make_unique<Pages>(share * batch_bytes));
    scratch.push_back(std::make_unique<Pages>(cell_bytes));
  }
  const std::uint64_t batches = (starts.size() + o.batch_size - 1) / o.batch_size;
  const auto run = [&](std::uint64_t passes) {
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    const auto started = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < o.threads; ++t) {
        threads.emplace_back([&, ring = rings[t]->data(), room = scratch[t]->data()] {
          try {
            std::uint64_t nth = 0;
            for (std::uint64_t i = next++; i < passes * batches; i = next++, ++nth) {
              std::byte* const batch = ring + nth % share * batch_bytes;
              const std::uint64_t first = i % batches * o.batch_size;
              const std::uint64_t end = std::min<std::uint64_t>(first + o.batch_size, starts.size());
              for (std::uint64_t b = first; b < end; ++b)
                for (std::size_t f = 0; f < fields; ++f)
                  copy_box(volumes.arrays()[static_cast<std::size_t>(starts[b].file) * fields + f], starts[b].first,
                           o.box, batch + (f * o.batch_size + (b - first)) * box_bytes, room);
            }
          } catch (const std::exception&) {
            failed = true;
          }
        });
      }
    }
    if (failed) throw std::runtime_error("a file could not be read");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  // One pass before those that are timed, which take half a second at least.
  const double once = run(1);
  const std::uint64_t passes = o.passes != 0 ? o.passes : static_cast<std::uint64_t>(0.5 / once) + 1;
  const double seconds = run(passes);
  const double boxes = static_cast<double>(starts.size() * passes);
  std::uint64_t sum = 0;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < share * batch_bytes; ++i) sum += std::to_integer<std::uint64_t>(ring->data()[i]);
  return {{"rows_per_s", boxes / seconds},
          {"bytes_per_s", boxes * static_cast<double>(fields * box_bytes) / seconds},
          {"seconds", seconds},
          {"passes", passes},
          {"boxes", starts.size()},
          {"from", o.from},
          {"threads", o.threads},
          {"ring", share * o.threads},
          {"checksum", sum}};
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  CLI::App app("Copies boxes out of volumes, and nothing else");
  app.add_option("files", options.files, "HDF5 files")->required();
  app.add_option("--starts", options.starts, "Four int64 for each box: file, first voxel")->required();
  app.add_option("--arrays", options.arrays, "Datasets")->delimiter(',')->capture_default_str();
  app.add_option("--from", options.from)->check(CLI::IsMember({"memory", "mapping", "pread"}))->capture_default_str();
  app.add_option("--box", options.box)->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--batch-size", options.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--ring", options.ring, "Batch buffers of all threads")->check(CLI::Range(1, 1024));
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--passes", options.passes, "Of all boxes; 0: half a second of them")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    std::puts(bench::measure(options).dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
  return 0;
}
