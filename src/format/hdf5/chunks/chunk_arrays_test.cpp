#include "format/hdf5/chunks/chunk_arrays.h"

#include <gtest/gtest.h>

#include <map>

#include "format/hdf5/hdf5_testing.h"
#include "format/hdf5/structure/metadata_testing.h"
#include "format/hdf5/structure/object_header.h"

namespace headrace::hdf5 {
namespace {

constexpr hsize_t kOpen = H5S_UNLIMITED;
using Places = std::map<std::uint64_t, std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>>;

struct Case {
  Shape shape, chunk, most;
  ChunkIndexKind kind;
  bool early = false;
};

const std::vector<Case> kCases = {
    {{50, 9}, {7, 4}, {50, 9}, ChunkIndexKind::kFixedArray},
    {{50, 9}, {7, 4}, {90, 30}, ChunkIndexKind::kFixedArray},
    {{3000}, {2}, {5000}, ChunkIndexKind::kFixedArray},
    {{50, 9}, {7, 4}, {kOpen, 12}, ChunkIndexKind::kExtensibleArray},
    {{50, 9}, {7, 4}, {60, kOpen}, ChunkIndexKind::kExtensibleArray},
    {{20, 9, 11}, {3, 4, 5}, {33, kOpen, 22}, ChunkIndexKind::kExtensibleArray},
    {{3000}, {2}, {kOpen}, ChunkIndexKind::kExtensibleArray},
    {{50, 9}, {7, 4}, {kOpen, kOpen}, ChunkIndexKind::kBTree2},
    {{50, 9}, {50, 9}, {50, 9}, ChunkIndexKind::kSingle},
    {{50, 9}, {7, 4}, {90, 30}, ChunkIndexKind::kImplicit, true},
};

/// A file with one array, as libhdf5 writes it, and the chunks that libhdf5 finds there.
struct Written {
  std::shared_ptr<MemoryFile> file;
  Superblock superblock;
  ChunkLayout layout;
  ChunkGrid grid;
  std::map<std::uint64_t, std::pair<std::vector<std::byte>, std::uint32_t>> chunks;  // by cell: as stored, and its mask
};

std::uint64_t header_address(hid_t dataset) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  H5Oget_info3(dataset, &info, H5O_INFO_BASIC);
  std::uint64_t address = 0;
  std::memcpy(&address, &info.token, sizeof address);
  return address;
#else
  H5O_info_t info;
  H5Oget_info2(dataset, &info, H5O_INFO_BASIC);
  return info.addr;
#endif
}

void write(const Case& c, bool filtered, const SizesOfNumbers& sizes, hsize_t user_block, Written& out) {
  const TemporaryFolder folder;
  const std::string path = folder.path("f.h5");
  std::uint64_t header = 0, elements = 1;
  for (const hsize_t n : c.chunk) elements *= n;
  out.grid = {.cells = {}, .most_cells = {}, .chunk_bytes = 4 * elements, .filtered = filtered};
  for (std::size_t d = 0; d < c.shape.size(); ++d) {
    const auto cells = [&](hsize_t n) {
      return n == kOpen ? ChunkGrid::kUnlimited : (n + c.chunk[d] - 1) / c.chunk[d];
    };
    out.grid.cells.push_back(cells(c.shape[d])), out.grid.most_cells.push_back(cells(c.most[d]));
  }
  {
    const Id creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_sizes(creation.get(), sizes.address, sizes.length);
    H5Pset_userblock(creation.get(), user_block);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110);
    const Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    const Id list = chunks_of(c.chunk);
    if (filtered) H5Pset_deflate(list.get(), 1);
    if (c.early) H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
    const Id space(H5Screate_simple(static_cast<int>(c.shape.size()), c.shape.data(), c.most.data()));
    const Id dataset(H5Dcreate2(file.get(), "x", H5T_STD_I32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
    ASSERT_TRUE(dataset.ok());
    const auto values = counted<std::int32_t>(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Fflush(file.get(), H5F_SCOPE_LOCAL);
    header = header_address(dataset.get());
    // Read by coordinates: where 1.10 says that chunks are is wrong if the open axis is not the first.
    std::uint64_t cells = 1;
    for (const std::uint64_t n : out.grid.cells) cells *= n;
    for (std::uint64_t cell = 0; cell < cells; ++cell) {
      Shape at(c.shape.size());
      std::uint64_t rest = cell;
      for (std::size_t d = at.size(); d-- > 0; rest /= out.grid.cells[d]) at[d] = rest % out.grid.cells[d] * c.chunk[d];
      hsize_t size = 0;
      if (H5Dget_chunk_storage_size(dataset.get(), at.data(), &size) < 0 || size == 0) continue;
      auto& [bytes, mask] = out.chunks[cell];
      bytes.resize(static_cast<std::size_t>(size));
#if H5_VERSION_GE(2, 0, 0)
      std::size_t room = bytes.size();
      ASSERT_GE(H5Dread_chunk2(dataset.get(), H5P_DEFAULT, at.data(), &mask, bytes.data(), &room), 0);
#else
      ASSERT_GE(H5Dread_chunk(dataset.get(), H5P_DEFAULT, at.data(), &mask, bytes.data()), 0);
#endif
    }
  }
  out.file = std::make_shared<MemoryFile>("f.h5", bytes_of_file(path));
  auto superblock = read_superblock(*out.file);
  ASSERT_TRUE(superblock.ok() && superblock->has_value());
  out.superblock = **superblock;
  const auto messages = read_object_header(*out.file, out.superblock, header);
  ASSERT_TRUE(messages.ok());
  for (const HeaderMessage& m : *messages) {
    if (!m.is(MessageType::kLayout)) continue;
    const auto layout = chunk_layout(m.bytes, out.superblock);
    ASSERT_TRUE(layout.ok() && layout->has_value());
    out.layout = **layout;
  }
  ASSERT_EQ(out.layout.index, c.kind);
}

Result<Places> read(const Written& w) {
  FoundChunks found;
  HEADRACE_TRY(
      read_chunk_array(*w.file, w.superblock, w.layout, w.grid, [&](std::uint64_t cell, const ChunkPlace& place) {
        found.emplace_back(cell, place);
        return Status();
      }));
  HEADRACE_TRY(put_in_order(found));
  Places places;
  std::uint64_t next = 0;
  for (const auto& [cell, place] : found) {
    EXPECT_GE(cell, next);
    next = cell + 1;
    places[cell] = {place.address, place.size_bytes, place.filter_mask};
  }
  return places;
}

TEST(ChunkArrays, AsLibhdf5WroteThem) {
  for (const Case& c : kCases)
    for (const bool filtered : {false, true})
      for (const SizesOfNumbers sizes : {SizesOfNumbers{8, 8}, {4, 4}, {4, 8}, {8, 4}})
        for (const hsize_t user_block : {0, 512}) {
          if (filtered && c.early) continue;  // such an array has another index
          Written written;
          ASSERT_NO_FATAL_FAILURE(write(c, filtered, sizes, user_block, written));
          const auto places = read(written);
          ASSERT_TRUE(places.ok());
          EXPECT_FALSE(places->empty());
          decltype(written.chunks) chunks;
          for (const auto& [cell, place] : *places) {
            const auto& [address, size, mask] = place;
            const auto bytes = written.file->bytes().subspan(address, size);
            chunks[cell] = {{bytes.begin(), bytes.end()}, mask};
          }
          EXPECT_EQ(chunks, written.chunks) << "index " << static_cast<int>(c.kind) << ", addresses of "
                                            << sizes.address << " bytes, user block of " << user_block;
        }
}

// One axis less, or one chunk more: the index is not that of the array, and says so.
TEST(ChunkArrays, OfOtherShapes) {
  const auto with = [](std::size_t index, auto change) {
    Written written;
    write(kCases[index], false, {8, 8}, 0, written);
    EXPECT_TRUE(read(written).ok());
    change(written);
    return read(written);
  };
  expect_damaged(with(0, [](Written& w) { w.grid.most_cells[0] = 9; }), "entries for 27 chunks");
  expect_damaged(with(0, [](Written& w) { w.grid.cells[0] = 9; }), "larger than its largest");
  expect_damaged(with(0, [](Written& w) { w.grid.most_cells[0] = kOpen; }), "not of the kind");
  expect_damaged(with(0, [](Written& w) { w.grid.filtered = true; }), "bytes, ");
  expect_damaged(with(0, [](Written& w) { w.grid.most_cells = {1ULL << 40, 1ULL << 40}; }), "absurd number");
  expect_damaged(with(3, [](Written& w) { w.grid.most_cells[0] = 99; }), "not of the kind");
  expect_damaged(with(3, [](Written& w) { w.grid.most_cells[1] = kOpen; }), "two unlimited axes");
  expect_damaged(with(3, [](Written& w) { w.grid.filtered = true; }), "bytes, ");
  expect_damaged(with(7, [](Written& w) { w.grid.cells.push_back(1); }), "records of type 10");
  expect_damaged(with(7, [](Written& w) { w.grid.filtered = true; }), "expected are type 11");
  expect_damaged(with(8, [](Written& w) { w.grid.cells[0] = 2; }), "one chunk for an array of 2");
  expect_damaged(with(8, [](Written& w) { w.grid.filtered = true; }), "without its size");
  expect_damaged(with(9, [](Written& w) { w.grid.filtered = true; }), "without sizes");
  expect_damaged(with(9, [](Written& w) { w.grid.chunk_bytes = 1 << 20; }), "in a file of");
  expect_damaged(with(9, [](Written& w) { w.grid.chunk_bytes = 0; }), "in a file of");
  expect_damaged(with(9, [](Written& w) { w.layout.address = ~0ULL - 5; }), "beyond the end of all files");
  expect_damaged(with(9, [](Written& w) { w.grid.most_cells[0] = kOpen; }), "without an end");
  EXPECT_TRUE(with(0, [](Written& w) { w.layout.address.reset(); })->empty());
  EXPECT_TRUE(with(0, [](Written& w) { w.grid.cells[1] = 0; })->empty());
}

// What a smaller shape has cut off is left out, in each kind of index.
TEST(ChunkArrays, OfASmallerShape) {
  for (const std::size_t index : {1, 3, 4, 7, 9}) {
    Written written;
    write(kCases[index], false, {8, 8}, 0, written);
    const Places all = *read(written);
    const std::uint64_t across = written.grid.cells[1];
    written.grid.cells = {3, 2};
    Places expected;
    for (const auto& [cell, place] : all)
      if (cell / across < 3 && cell % across < 2) expected[cell / across * 2 + cell % across] = place;
    ASSERT_EQ(expected.size(), 6U);
    EXPECT_EQ(*read(written), expected) << index;
  }
}

/// A tree of two records: the address of a chunk, its stored size if it has one, and its place in the grid.
Result<Places> read_two(const SizesOfNumbers& sizes, std::uint64_t chunk_bytes, std::size_t size_bytes,
                        std::uint64_t second_cell) {
  Written w;
  Disk disk(sizes.address, sizes.length);
  const bool filtered = size_bytes > 0;
  const auto record = [&](Block& to, std::uint64_t address, std::uint64_t cell) {
    to.address(address);
    if (filtered) to.number(chunk_bytes + 1, size_bytes).number(3, 4);
    to.number(cell, 8);
  };
  Block leaf = disk.block("BTLF").number(0, 1).number(filtered ? 11 : 10, 1);
  record(leaf, 100, 0), record(leaf, 200, second_cell);
  const std::uint64_t at = disk.add(leaf.sign());
  w.layout.index = ChunkIndexKind::kBTree2;
  w.layout.address = disk.add(disk.block("BTHD")
                                  .number(0, 1)
                                  .number(filtered ? 11 : 10, 1)
                                  .number(512, 4)
                                  .number(sizes.address + (filtered ? size_bytes + 4 : 0) + 8, 2)
                                  .zeros(4)
                                  .address(at)
                                  .number(2, 2)
                                  .length(2)
                                  .sign());
  w.file = disk.share();
  w.superblock = disk.superblock;
  w.grid = {{5}, {kOpen}, chunk_bytes, filtered};
  return read(w);
}

// The stored size takes one byte more than the size of the chunk: filters may make it longer (H5D__bt2_idx_create).
TEST(ChunkArrays, WidthsOfStoredSizes) {
  const std::pair<std::uint64_t, std::size_t> known[] = {
      {1, 2},          {255, 2},        {256, 3},        {65535, 3},      {65536, 4},
      {1ULL << 24, 5}, {1ULL << 32, 6}, {1ULL << 48, 8}, {1ULL << 56, 8}, {1ULL << 62, 8}};
  for (const SizesOfNumbers& sizes : kAllSizes)
    for (const auto& [chunk_bytes, width] : known) {
      const auto places = read_two(sizes, chunk_bytes, width, 4);
      ASSERT_TRUE(places.ok()) << chunk_bytes;
      EXPECT_EQ(*places, (Places{{0, {100, chunk_bytes + 1, 3}}, {4, {200, chunk_bytes + 1, 3}}}));
      expect_damaged(read_two(sizes, chunk_bytes, width == 8 ? 7 : width + 1, 4), "expected are type 11");
    }
}

TEST(ChunkArrays, TwoPlacesOfOneChunk) {
  EXPECT_TRUE(read_two({8, 8}, 16, 0, 1).ok());
  expect_damaged(read_two({8, 8}, 16, 0, 0), "chunk number 0 has two places");
}

}  // namespace
}  // namespace headrace::hdf5
