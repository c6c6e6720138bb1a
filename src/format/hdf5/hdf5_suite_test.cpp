// The suite of every format, for each way in which HDF5 stores an array. The oracle is what was given to libhdf5.
#include "format/hdf5/hdf5_reader.h"
#include "format/hdf5/hdf5_testing.h"
#include "format/testing/format_suite.h"

namespace headrace::hdf5 {
namespace {

using testing_format::FormatCase;
using testing_format::OpenedArray;

/// A folder that notices readers which leave handles of libhdf5 open.
struct Folder : TemporaryFolder {
  ~Folder() { EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0) << "a handle was left open"; }
};

struct Options {
  H5F_libver_t low = H5F_LIBVER_EARLIEST;
  bool addressable = false;
  bool notices_damage = false;
  std::size_t flip_step = 5;
};

/// A file with the array x that `write` adds to it.
template <class Write>
FormatCase case_of(const Options& options, std::vector<std::vector<std::byte>> columns, const Write& write) {
  const auto folder = std::make_shared<Folder>();
  const std::string path = folder->path("f.h5");
  {
    NewFile file(path, 0, options.low);
    write(file);
  }
  FormatCase made;
  made.open = [path]() -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> file, open_file(path));
    return file->open_array("x");
  };
  made.columns = std::move(columns);
  made.addressable = options.addressable;
  made.holder = folder;
  made.file_bytes = bytes_of_file(path);
  made.open_file = [](std::shared_ptr<RandomAccessFile> bytes) -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> file, open_hdf5(std::move(bytes), "suite.data"));
    return file->open_array("x");
  };
  made.notices_damage = options.notices_damage;
  made.flip_step = options.flip_step;
  return made;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::int32_t> squares(std::size_t n) {
  return counted<std::int32_t>(n, [](std::size_t i) { return static_cast<std::int32_t>(i * i); });
}

/// An array of int32 in one column; `list` may be H5P_DEFAULT's.
FormatCase plain(const Options& options, const Shape& shape, hid_t stored_type, const Id& list, const Shape& max = {}) {
  std::size_t n = 1;
  for (const hsize_t extent : shape) n *= extent;
  const auto data = squares(n);
  return case_of(options, {bytes_of(data)}, [&](NewFile& file) {
    file.add("x", stored_type, shape, data.data(), list.get(), max, H5T_NATIVE_INT32);
  });
}

FormatCase gzip(H5F_libver_t low, bool notices_damage, const Shape& max = {}) {
  const Id list = chunks_of({8, 3});
  H5Pset_shuffle(list.get());
  H5Pset_deflate(list.get(), 4);
  H5Pset_fletcher32(list.get());
  return plain({.low = low, .notices_damage = notices_damage, .flip_step = 1}, {37, 3}, H5T_STD_I32LE, list, max);
}

FormatCase across() {
  const Id list = chunks_of({4, 2, 3});
  H5Pset_deflate(list.get(), 1);
  return plain({}, {11, 5, 7}, H5T_STD_I32BE, list);
}

FormatCase sparse() {  // the chunk of row 20 was written, and no other
  std::vector<std::int32_t> values(40 * 3, -7);
  values[20 * 3 + 1] = 42;
  return case_of({}, {bytes_of(values)}, [](NewFile& file) {
    const Id list = chunks_of({8, 3});
    const std::int32_t fill = -7, value = 42;
    H5Pset_fill_value(list.get(), H5T_NATIVE_INT32, &fill);
    const Id dataset = file.add("x", H5T_STD_I32LE, {40, 3}, nullptr, list.get());
    const Shape at{20, 1}, one{1, 1};
    const Id space(H5Dget_space(dataset.get())), memory(H5Screate_simple(2, one.data(), nullptr));
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one.data(), nullptr);
    H5Dwrite(dataset.get(), H5T_NATIVE_INT32, memory.get(), space.get(), H5P_DEFAULT, &value);
  });
}

FormatCase compact() {
  const Id list(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(list.get(), H5D_COMPACT);
  return plain({.addressable = true}, {12, 3}, H5T_STD_I32BE, list);
}

FormatCase converted(bool addressable, const Id& list) {
  const Id type = odd_integer(H5T_STD_I32BE, 24, 3);
  return plain({.addressable = addressable}, {11, 5, 7}, type.get(), list);
}

FormatCase converted_across() {
  const Id list = chunks_of({4, 2, 3});
  H5Pset_shuffle(list.get());
  H5Pset_deflate(list.get(), 1);
  H5Pset_fletcher32(list.get());
  return converted(false, list);
}

FormatCase converted_compact() {
  const Id list(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(list.get(), H5D_COMPACT);
  return converted(true, list);
}

FormatCase converted_larger(bool chunked) {  // stored numbers are larger than those they become
  const Id list = chunks_of(chunked ? Shape{7, 2} : Shape{});
  if (chunked) {
    H5Pset_shuffle(list.get());
    H5Pset_deflate(list.get(), 1);
  }
  const auto data = counted<double>(std::size_t{23} * 3, [](std::size_t i) { return 0.25 * static_cast<double>(i); });
  return case_of({.addressable = !chunked}, {bytes_of(data)}, [&](NewFile& file) {
    file.add("x", H5T_NATIVE_LDOUBLE, {23, 3}, data.data(), list.get(), {}, H5T_NATIVE_DOUBLE);
  });
}

FormatCase converted_fill() {  // the chunk of row 20 was written, and no other
  std::vector<std::int32_t> values(40 * 3, -7);
  for (std::size_t i = 20 * 3; i < 21 * 3; ++i) values[i] = 42;
  return case_of({}, {bytes_of(values)}, [](NewFile& file) {
    const Id list = chunks_of({1, 3}), type = odd_integer(H5T_STD_I32LE, 24, 3);
    const std::int32_t fill = -7, written[] = {42, 42, 42};
    H5Pset_fill_value(list.get(), H5T_NATIVE_INT32, &fill);
    H5Pset_deflate(list.get(), 1);
    const Id dataset = file.add("x", type.get(), {40, 3}, nullptr, list.get());
    const Shape at{20, 0}, row{1, 3};
    const Id space(H5Dget_space(dataset.get())), memory(H5Screate_simple(2, row.data(), nullptr));
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, row.data(), nullptr);
    H5Dwrite(dataset.get(), H5T_NATIVE_INT32, memory.get(), space.get(), H5P_DEFAULT, written);
  });
}

FormatCase converted_n_bit() {
  const Id of_24_bits(H5Tcopy(H5T_STD_I32LE));
  H5Tset_precision(of_24_bits.get(), 24);
  const Id list = chunks_of({5});
  H5Pset_nbit(list.get());
  return plain({}, {23}, of_24_bits.get(), list);
}

FormatCase n_bit() {  // of a record, whose padding it leaves out
  struct Padded {
    std::int16_t number;
    double value;
  };
  std::vector<Padded> data(29);
  std::vector<std::int16_t> numbers;
  std::vector<double> values;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = {static_cast<std::int16_t>(i), 0.5 * static_cast<double>(i)};
    numbers.push_back(data[i].number);
    values.push_back(data[i].value);
  }
  return case_of({}, {bytes_of(numbers), bytes_of(values)}, [&](NewFile& file) {
    const Id type(H5Tcreate(H5T_COMPOUND, sizeof(Padded)));
    H5Tinsert(type.get(), "number", offsetof(Padded, number), H5T_NATIVE_INT16);
    H5Tinsert(type.get(), "value", offsetof(Padded, value), H5T_NATIVE_DOUBLE);
    const Id list = chunks_of({6});
    H5Pset_nbit(list.get());
    H5Pset_deflate(list.get(), 1);
    file.add("x", type.get(), {data.size()}, data.data(), list.get());
  });
}

FormatCase scale_offset() {
  const Id list = chunks_of({5});
  H5Pset_scaleoffset(list.get(), H5Z_SO_INT, 0);
  H5Pset_deflate(list.get(), 1);
  return plain({}, {23}, H5T_STD_I32BE, list);
}

struct Record {
  std::int16_t number;
  double value;
  float pair[2];
};

/// \param odd  With a member that libhdf5 converts, and bytes that belong to none.
FormatCase records(bool chunked, bool odd = false) {
  constexpr std::size_t kRows = 29;
  std::vector<Record> data(kRows);
  std::vector<std::int16_t> numbers;
  std::vector<double> values;
  std::vector<float> pairs;
  for (std::size_t i = 0; i < kRows; ++i) {
    data[i] = {static_cast<std::int16_t>(i * 3), 0.25 * static_cast<double>(i), {static_cast<float>(i), -1}};
    numbers.push_back(data[i].number);
    values.push_back(data[i].value);
    pairs.insert(pairs.end(), {data[i].pair[0], data[i].pair[1]});
  }
  return case_of({.addressable = !chunked}, {bytes_of(numbers), bytes_of(values), bytes_of(pairs)}, [&](NewFile& file) {
    const hsize_t two = 2;
    const Id memory(H5Tcreate(H5T_COMPOUND, sizeof(Record))), stored(H5Tcreate(H5T_COMPOUND, odd ? 27 : 18));
    const Id twelve = odd_integer(H5T_STD_I16LE, 12, 2, 4);
    const Id floats(H5Tarray_create2(H5T_IEEE_F32LE, 1, &two));
    H5Tinsert(memory.get(), "number", offsetof(Record, number), H5T_NATIVE_INT16);
    H5Tinsert(memory.get(), "value", offsetof(Record, value), H5T_NATIVE_DOUBLE);
    H5Tinsert(memory.get(), "pair", offsetof(Record, pair), floats.get());
    H5Tinsert(stored.get(), "number", 0, odd ? twelve.get() : H5T_STD_I16LE);
    H5Tinsert(stored.get(), "value", 2, H5T_IEEE_F64BE);
    H5Tinsert(stored.get(), "pair", 10, floats.get());
    const Id list = chunks_of(chunked ? Shape{6} : Shape{});
    if (chunked) H5Pset_deflate(list.get(), 1);
    file.add("x", stored.get(), {kRows}, data.data(), list.get(), {}, memory.get());
  });
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, std::function<FormatCase()> make) {
    testing_format::register_format_reader_tests("Hdf5Suite", name, std::move(make));
  };
  add("Contiguous", [] { return plain({.addressable = true, .flip_step = 1}, {40, 3}, H5T_STD_I32LE, chunks_of({})); });
  add("ContiguousBigEndian", [] { return plain({.addressable = true}, {40, 3}, H5T_STD_I32BE, chunks_of({})); });
  add("NoRows", [] {
    return plain({.addressable = false}, {0, 3}, H5T_STD_I32LE, chunks_of({4, 3}), {H5S_UNLIMITED, 3});
  });
  add("Compact", compact);
  add("Chunked", [] { return plain({}, {41, 3}, H5T_STD_I32BE, chunks_of({7, 3})); });
  add("OneChunk", [] { return plain({.low = H5F_LIBVER_V110}, {9, 3}, H5T_STD_I32LE, chunks_of({9, 3})); });
  add("Gzip", [] { return gzip(H5F_LIBVER_EARLIEST, false); });
  add("GzipWithChecksums", [] { return gzip(H5F_LIBVER_V110, true); });
  add("GzipThatMayGrow", [] { return gzip(H5F_LIBVER_V110, true, {H5S_UNLIMITED, 3}); });
  add("AcrossTheRow", across);
  add("Sparse", sparse);
  add("Records", [] { return records(false); });
  add("RecordsInChunks", [] { return records(true); });
  add("NBit", n_bit);
  add("ScaleOffset", scale_offset);
  add("RecordsConverted", [] { return records(false, true); });
  add("RecordsInChunksConverted", [] { return records(true, true); });
  add("Converted", [] { return converted(true, chunks_of({})); });
  add("ConvertedAcrossTheRow", converted_across);
  add("ConvertedWithoutFilters", [] { return converted(false, chunks_of({4, 2, 3})); });
  add("ConvertedCompact", converted_compact);
  add("ConvertedLarger", [] { return converted_larger(false); });
  add("ConvertedLargerInChunks", [] { return converted_larger(true); });
  add("ConvertedSparse", converted_fill);
  add("ConvertedNBit", converted_n_bit);
  return true;
}();

}  // namespace
}  // namespace headrace::hdf5
