// Chunked arrays of every index type, full and sparse, with and without filters.
#include "format/hdf5/hdf5_testing.h"

namespace headrace::hdf5 {
namespace {

enum class IndexKind { kBTree1, kSingle, kImplicit, kFixedArray, kExtensibleArray, kBTree2 };

struct ChunkedCase {
  IndexKind kind;
  bool filtered;
  hsize_t user_block;
};

std::string name_of(const ::testing::TestParamInfo<ChunkedCase>& info) {
  static constexpr const char* kNames[] = {"btree1", "single", "implicit", "fixed", "extensible", "btree2"};
  return std::string(kNames[static_cast<int>(info.param.kind)]) + (info.param.filtered ? "_gzip" : "_plain") + "_" +
         std::to_string(info.param.user_block);
}

class EveryIndex : public ::testing::TestWithParam<ChunkedCase> {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");

  // What makes libhdf5 choose each index (H5D__layout_set_latest_indexing): fixed or unlimited axes, early allocation.
  void write(const Shape& shape, const float* data) {
    const ChunkedCase c = GetParam();
    NewFile file(path_, c.user_block, c.kind == IndexKind::kBTree1 ? H5F_LIBVER_EARLIEST : H5F_LIBVER_V110);
    const Id list = chunks_of(c.kind == IndexKind::kSingle ? shape : Shape{7, 5});
    if (c.filtered) H5Pset_deflate(list.get(), 4);
    if (c.kind == IndexKind::kImplicit) H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
    const float fill = -3;
    H5Pset_fill_value(list.get(), H5T_NATIVE_FLOAT, &fill);
    Shape max;
    if (c.kind == IndexKind::kExtensibleArray) max = {H5S_UNLIMITED, shape[1]};
    if (c.kind == IndexKind::kBTree2) max = {H5S_UNLIMITED, H5S_UNLIMITED};
    dataset_ = file.add("grp/x", H5T_IEEE_F32LE, shape, data, list.get(), max);
    sparse_ = file.add("sparse", H5T_IEEE_F32LE, shape, nullptr, list.get(), max);
    const Shape at{shape[0] / 2, 6}, one{1, 1};  // a single value in the middle
    const Id space(H5Dget_space(sparse_.get())), memory(H5Screate_simple(2, one.data(), nullptr));
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one.data(), nullptr);
    const float value = 42;
    H5Dwrite(sparse_.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, &value);
    never_ = file.add("never", H5T_IEEE_F32LE, shape, nullptr, list.get(), max);
    dataset_.reset(), sparse_.reset(), never_.reset();
  }
  Id dataset_, sparse_, never_;
};

TEST_P(EveryIndex, ReadsWhatWasWritten) {
  const auto data = counted<float>(40 * 13);
  write({40, 13}, data.data());
  EXPECT_EQ(values_of<float>(path_, "grp/x"), data);
}

TEST_P(EveryIndex, MissingChunksAreTheFillValue) {
  const auto data = counted<float>(40 * 13);
  write({40, 13}, data.data());
  std::vector<float> expected(40 * 13, -3.F);
  EXPECT_EQ(values_of<float>(path_, "never"), expected);
  expected[20 * 13 + 6] = 42;
  EXPECT_EQ(values_of<float>(path_, "sparse"), expected);
}

TEST_P(EveryIndex, PiecesTellWhereTheBytesLie) {
  const auto data = counted<float>(40 * 13);
  write({40, 13}, data.data());
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "/grp/x");
  EXPECT_EQ(array->info().read_path, ReadPath::kNative);
  std::vector<Piece> pieces;
  ASSERT_TRUE(array->locate({10, 3}, pieces).ok());
  if (GetParam().kind == IndexKind::kSingle) {
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].rows, (RowRange{0, 40}));
    return;
  }
  ASSERT_EQ(array->pieces_across(), 3U);
  ASSERT_EQ(pieces.size(), 3U);
  for (std::uint32_t a = 0; a < 3; ++a) {
    EXPECT_EQ(pieces[a].rows, (RowRange{7, 7}));
    EXPECT_EQ(pieces[a].across, a);
    EXPECT_EQ(pieces[a].decoded_bytes, 7U * 5 * 4);
    EXPECT_EQ(array->piece_name(pieces[a]), "(1," + std::to_string(a) + ")");
    if (!GetParam().filtered) {
      EXPECT_EQ(pieces[a].stored.range.size, 7U * 5 * 4);
    }
    EXPECT_GE(pieces[a].stored.range.offset, GetParam().user_block);
  }
}

std::vector<ChunkedCase> cases() {
  std::vector<ChunkedCase> out;
  for (const IndexKind k : {IndexKind::kBTree1, IndexKind::kSingle, IndexKind::kImplicit, IndexKind::kFixedArray,
                            IndexKind::kExtensibleArray, IndexKind::kBTree2})
    for (const bool filtered : {false, true})
      for (const hsize_t block : {0, 512, 4096})
        if (!(k == IndexKind::kImplicit && filtered)) out.push_back({k, filtered, block});  // never filtered
  return out;
}
INSTANTIATE_TEST_SUITE_P(Hdf5, EveryIndex, ::testing::ValuesIn(cases()), name_of);

class Chunked : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");
};

TEST_F(Chunked, ThreeAxesWithEdgesOnAll) {
  const auto data = counted<std::int32_t>(11 * 9 * 10);
  {
    NewFile file(path_);
    const Id list = chunks_of({4, 4, 3});
    H5Pset_shuffle(list.get());
    H5Pset_deflate(list.get(), 1);
    H5Pset_fletcher32(list.get());
    file.add("x", H5T_STD_I32LE, {11, 9, 10}, data.data(), list.get());
  }
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  EXPECT_EQ(values_of<std::int32_t>(*array), data);
  EXPECT_EQ(array->pieces_across(), 3U * 4U);
  ASSERT_EQ(array->info().filters.size(), 3U);
  EXPECT_EQ(array->info().filters[1].name, "deflate");
  EXPECT_EQ(array->info().filters[1].setting, "1");
  for (std::uint64_t first = 0; first < 11; ++first) {
    auto rows = read_rows(*array, {first, 11 - first});
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(std::memcmp(rows->data(), data.data() + first * 90, rows->size()), 0);
  }
}

TEST_F(Chunked, PartialEdgeChunksMayBeUnfiltered) {
  const auto data = counted<std::int16_t>(10 * 7);
  {
    NewFile file(path_, 0, H5F_LIBVER_V110);
    const Id list = chunks_of({4, 4});
    H5Pset_deflate(list.get(), 6);
    ASSERT_GE(H5Pset_chunk_opts(list.get(), H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS), 0);
    file.add("x", H5T_STD_I16LE, {10, 7}, data.data(), list.get());
  }
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  EXPECT_EQ(values_of<std::int16_t>(*array), data);
  std::vector<Piece> pieces;
  ASSERT_TRUE(array->locate({0, 10}, pieces).ok());
  EXPECT_NE(pieces[0].stored.range.size, 32U);  // whole: deflated
  EXPECT_EQ(pieces[1].stored.range.size, 32U);  // past the last column
  EXPECT_EQ(pieces[4].stored.range.size, 32U);  // past the last row
}

TEST_F(Chunked, FilterMasksSkipFilters) {
  const auto data = counted<std::uint8_t>(16, [](std::size_t i) { return static_cast<std::uint8_t>(i * 37); });
  {
    NewFile file(path_);
    const Id list = chunks_of({16});
    H5Pset_shuffle(list.get());
    H5Pset_deflate(list.get(), 1);
    const Id dataset = file.add("x", H5T_STD_U8LE, {16}, nullptr, list.get());
    const hsize_t at = 0;
    ASSERT_GE(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0b11, &at, data.size(), data.data()), 0);
  }
  EXPECT_EQ(values_of<std::uint8_t>(path_, "x"), data);
}

TEST_F(Chunked, BigEndianIsSwapped) {
  const auto data = counted<std::int32_t>(20);
  const auto wide = counted<double>(20, [](std::size_t i) { return 0.5 * static_cast<double>(i); });
  {
    NewFile file(path_);
    const Id list = chunks_of({6}), zipped = chunks_of({6});
    H5Pset_deflate(zipped.get(), 1);
    const std::int32_t fill = 77;
    H5Pset_fill_value(list.get(), H5T_NATIVE_INT32, &fill);
    file.add("plain", H5T_STD_I32BE, {20}, data.data(), list.get(), {}, H5T_NATIVE_INT32);
    file.add("zipped", H5T_IEEE_F64BE, {20}, wide.data(), zipped.get(), {}, H5T_NATIVE_DOUBLE);
    file.add("contiguous", H5T_STD_I32BE, {20}, data.data(), H5P_DEFAULT, {}, H5T_NATIVE_INT32);
    file.add("never", H5T_STD_I32BE, {20}, nullptr, list.get());
  }
  EXPECT_EQ(values_of<std::int32_t>(path_, "plain"), data);
  EXPECT_EQ(values_of<double>(path_, "zipped"), wide);
  EXPECT_EQ(values_of<std::int32_t>(path_, "contiguous"), data);
  EXPECT_EQ(values_of<std::int32_t>(path_, "never"), std::vector<std::int32_t>(20, 77));
}

TEST_F(Chunked, AHugeEmptyGridCostsNothing) {
  {
    NewFile file(path_);
    const Id list = chunks_of({1});
    file.add("x", H5T_STD_I8LE, {15'000'000}, nullptr, list.get());
    file.add("too_many", H5T_STD_I8LE, {hsize_t{1} << 40}, nullptr, list.get());
    const Id wide = chunks_of({1, 1 << 20});
    file.add("absurd", H5T_STD_I64LE, {hsize_t{1} << 40, hsize_t{1} << 22}, nullptr, wide.get());
  }
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  auto rows = read_rows(*array, {14'999'990, 10});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, std::vector<std::byte>(10));
  EXPECT_EQ(file->open_array("too_many").error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(file->open_array("absurd").error().code(), ErrorCode::kUnsupported);
}

// Cells by number are the pieces that locate() finds by row, in the order asked for and as often.
TEST_P(EveryIndex, LocatesCellsOfTheGrid) {
  const auto data = counted<float>(40 * 13);
  write({40, 13}, data.data());
  const auto file = must_open(path_);
  for (const char* name : {"grp/x", "sparse", "never"}) {
    const auto array = must_open_array(*file, name);
    std::vector<Piece> by_row, by_cell;
    ASSERT_TRUE(array->locate({0, 40}, by_row).ok());
    std::vector<std::uint64_t> cells(by_row.size());
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cells.size() - 1 - i;
    cells.push_back(0);
    ASSERT_TRUE(array->locate_cells(cells, by_cell).ok());
    ASSERT_EQ(by_cell.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Piece& expected = by_row[cells[i]];
      EXPECT_EQ(by_cell[i].id, cells[i]);
      EXPECT_EQ(by_cell[i].id, expected.id);
      EXPECT_EQ(by_cell[i].rows, expected.rows);
      EXPECT_EQ(by_cell[i].across, expected.across);
      EXPECT_EQ(by_cell[i].stored, expected.stored);
      EXPECT_EQ(by_cell[i].filter_mask, expected.filter_mask);
    }
    const Status outside = array->locate_cells(std::vector<std::uint64_t>{by_row.size()}, by_cell);
    ASSERT_FALSE(outside.ok());
    EXPECT_EQ(outside.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(outside.error().what()).find(name), std::string::npos) << outside.error().what();
  }
}

// The index knows what was written without asking for every cell, and so does locate_written().
TEST_P(EveryIndex, LocatesOnlyWhatWasWritten) {
  const auto data = counted<float>(40 * 13);
  write({40, 13}, data.data());
  const auto file = must_open(path_);
  const bool single = GetParam().kind == IndexKind::kSingle, implicit = GetParam().kind == IndexKind::kImplicit;
  const auto check = [&](const char* name, std::uint64_t expected_written, std::uint64_t expected_absent) {
    const auto array = must_open_array(*file, name);
    std::vector<Piece> all, written;
    ASSERT_TRUE(array->locate({0, 40}, all).ok());
    const auto absent = array->locate_written({0, 40}, written);
    ASSERT_TRUE(absent.ok());
    EXPECT_EQ(*absent, expected_absent);
    EXPECT_EQ(written.size(), expected_written);
    std::erase_if(all, [](const Piece& p) { return p.stored.range.size == 0; });
    ASSERT_EQ(all.size(), written.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].id, written[i].id);
      EXPECT_EQ(all[i].stored, written[i].stored);
      EXPECT_EQ(all[i].across, written[i].across);
    }
  };
  check("grp/x", single ? 1 : 18, 0);
  if (!implicit) {  // there all space is taken at once
    check("sparse", 1, single ? 0 : 17);
    check("never", 0, single ? 1 : 18);
  }
}

// Few chunks far apart in a grid of 16 million, by every index that can be sparse.
TEST_F(Chunked, AHugeGridWithFewChunks) {
  struct Kind {
    const char* name;
    H5F_libver_t low;
    Shape max;
  };
  constexpr hsize_t kRows = 4'000'000;
  for (const Kind& kind : {Kind{"btree1", H5F_LIBVER_EARLIEST, {}}, Kind{"btree1_gzip", H5F_LIBVER_EARLIEST, {}},
                           Kind{"btree2", H5F_LIBVER_V110, {H5S_UNLIMITED, H5S_UNLIMITED}}}) {
    SCOPED_TRACE(kind.name);
    const std::string path = folder_.path(kind.name);
    {
      NewFile file(path, 512, kind.low);
      const Id list = chunks_of({1, 2});
      if (std::string(kind.name) == "btree1_gzip") H5Pset_deflate(list.get(), 1);
      const Id dataset = file.add("x", H5T_STD_I32LE, {kRows, 8}, nullptr, list.get(), kind.max);
      const Id space(H5Dget_space(dataset.get()));
      const Shape one{1, 1};
      const Id memory(H5Screate_simple(2, one.data(), nullptr));
      for (hsize_t i = 0; i < 200; ++i) {
        const Shape at{(i * 15'485'863) % kRows, (i * 3) % 8};
        const auto value = static_cast<std::int32_t>(i + 1);
        H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one.data(), nullptr);
        ASSERT_GE(H5Dwrite(dataset.get(), H5T_NATIVE_INT32, memory.get(), space.get(), H5P_DEFAULT, &value), 0);
      }
    }
    const auto file = must_open(path);
    const auto array = must_open_array(*file, "x");
    std::vector<Piece> pieces;
    const auto absent = array->locate_written({0, kRows}, pieces);
    ASSERT_TRUE(absent.ok()) << absent.error().what();
    EXPECT_EQ(pieces.size(), 200U);
    EXPECT_EQ(*absent, kRows * 4 - 200);
    for (hsize_t i = 0; i < 200; ++i) {
      auto row = read_rows(*array, {(i * 15'485'863) % kRows, 1});
      ASSERT_TRUE(row.ok());
      std::int32_t value = 0;
      std::memcpy(&value, row->data() + (i * 3) % 8 * 4, 4);
      EXPECT_EQ(value, static_cast<std::int32_t>(i + 1));
    }
  }
}

TEST_F(Chunked, ADeepTree) {  // nodes of few entries: many levels
  const auto data = counted<std::int16_t>(5000);
  {
    const Id creation(H5Pcreate(H5P_FILE_CREATE));
    ASSERT_GE(H5Pset_istore_k(creation.get(), 3), 0);
    const Id file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation.get(), H5P_DEFAULT));
    const hsize_t rows = 5000;
    const Id list = chunks_of({2}), space(H5Screate_simple(1, &rows, nullptr));
    const Id dataset(H5Dcreate2(file.get(), "x", H5T_STD_I16LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(dataset.get(), H5T_STD_I16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), 0);
  }
  EXPECT_EQ(values_of<std::int16_t>(path_, "x"), data);
}

// Keys of the leaf of a version 1 B-tree, by hand: each is refused, none becomes a fill value.
TEST_F(Chunked, ADamagedTreeIsRefused) {
  const auto data = counted<std::int32_t>(64);
  {
    NewFile file(path_);
    const Id list = chunks_of({16});
    H5Pset_deflate(list.get(), 1);
    file.add("x", H5T_STD_I32LE, {64}, data.data(), list.get());
  }
  const std::vector<std::byte> good = bytes_of_file(path_);
  const std::string text(reinterpret_cast<const char*>(good.data()), good.size());
  const std::size_t node = text.find(std::string("TREE\1\0\4", 7));  // a leaf of chunks, four of them
  ASSERT_NE(node, std::string::npos);
  constexpr std::size_t kEntry = 8 + 2 * 8 + 8;  // size, mask, offset, element offset, address
  const auto read_with = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    std::vector<std::byte> bad = good;
    std::memcpy(bad.data() + node + at, &value, width);
    const std::string path = folder_.path("bad.h5");
    std::FILE* f = std::fopen(path.c_str(), "wb");
    EXPECT_EQ(std::fwrite(bad.data(), 1, bad.size(), f), bad.size());
    std::fclose(f);
    const auto file = must_open(path);
    auto array = file->open_array("x");
    EXPECT_TRUE(array.ok());
    return read_rows(**array, {0, 64});
  };
  struct Damage {
    const char* what;
    std::size_t at;
    std::uint64_t value;
    std::size_t width;
  };
  for (const Damage& c : {Damage{"not a node", 0, 0, 1},
                          {"another kind of node", 4, 0, 1},
                          {"a level", 5, 1, 1},
                          {"more entries than bytes", 6, 65'535, 2},
                          {"past the end", 24 + 8, 1 << 20, 8},
                          {"between two chunks", 24 + kEntry + 8, 17, 8},
                          {"twice", 24 + kEntry + 8, 32, 8},
                          {"inside an element", 24 + 16, 1, 8},
                          {"nowhere", 24 + 24, ~std::uint64_t{0}, 8}}) {
    SCOPED_TRACE(c.what);
    auto rows = read_with(c.at, c.value, c.width);
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code(), ErrorCode::kCorruptData) << rows.error().what();
    EXPECT_EQ(rows.error().field(), "x");
  }
  EXPECT_TRUE(read_with(0, 'T', 1).ok());  // as it was
}

TEST_F(Chunked, ZeroRowsAndZeroSizeAxes) {
  {
    NewFile file(path_);
    const Id list = chunks_of({4, 2});
    file.add("no_rows", H5T_STD_I32LE, {0, 3}, nullptr, list.get(), {H5S_UNLIMITED, 3});
    file.add("no_columns", H5T_STD_I32LE, {5, 0}, nullptr, list.get(), {5, H5S_UNLIMITED});
    file.add("contiguous", H5T_STD_I32LE, {5, 0}, nullptr);
  }
  for (const char* name : {"no_rows", "no_columns", "contiguous"}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(values_of<std::int32_t>(path_, name).empty());
  }
  const auto file = must_open(path_);
  std::vector<Piece> pieces;
  const auto array = must_open_array(*file, "no_rows");
  ASSERT_NE(array, nullptr);
  EXPECT_TRUE(array->locate({0, 0}, pieces).ok());
  EXPECT_TRUE(pieces.empty());
  EXPECT_EQ(array->locate({0, 1}, pieces).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(Chunked, ADamagedChunkIsNamed) {
  const auto data = counted<float>(64);
  {
    NewFile file(path_);
    const Id list = chunks_of({16});
    H5Pset_deflate(list.get(), 4);
    file.add("x", H5T_IEEE_F32LE, {64}, data.data(), list.get());
  }
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "x");
  std::vector<Piece> pieces;
  ASSERT_TRUE(array->locate({40, 1}, pieces).ok());
  ASSERT_EQ(pieces.size(), 1U);
  const std::vector<std::byte> zeros(pieces[0].stored.range.size);
  const ScratchNeed need = array->scratch_need(1);
  std::vector<std::byte> out(need.out_bytes), ping(need.filter_bytes), pong(need.filter_bytes);
  auto decoded = array->decode(pieces[0], zeros, {out, ping, pong});
  ASSERT_FALSE(decoded.ok());
  const Error& e = decoded.error();
  EXPECT_EQ(e.code(), ErrorCode::kCorruptData);
  EXPECT_EQ(e.file(), path_);
  EXPECT_EQ(e.field(), "x");
  EXPECT_EQ(e.chunk(), "(2)");
  EXPECT_EQ(e.bytes(), pieces[0].stored.range);
  EXPECT_EQ(e.stage(), "deflate");
  EXPECT_EQ(e.hint(), "Run: headrace verify " + path_);
}

}  // namespace
}  // namespace headrace::hdf5
