// Datatypes: which columns they become, and which path reads them.
#include "format/hdf5/hdf5_testing.h"
#include "format/hdf5/types/element_type.h"

namespace headrace::hdf5 {
namespace {

class Types : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("f.h5");

  ArrayInfo info_of(const std::string& name) {
    const auto file = must_open(path_);
    for (const ArrayInfo& a : file->arrays())
      if (a.path == name) return a;
    ADD_FAILURE() << "no " << name;
    return {};
  }
};

TEST_F(Types, IntegersAndFloatsOfBothOrders) {
  struct {
    const char* name;
    hid_t type;
    const char* dtype;
  } const cases[] = {
      {"i1", H5T_STD_I8LE, "int8"},      {"u1", H5T_STD_U8BE, "uint8"},   {"i2", H5T_STD_I16BE, "int16"},
      {"u2", H5T_STD_U16LE, "uint16"},   {"i4", H5T_STD_I32LE, "int32"},  {"u4", H5T_STD_U32BE, "uint32"},
      {"i8", H5T_STD_I64BE, "int64"},    {"u8", H5T_STD_U64LE, "uint64"}, {"f4", H5T_IEEE_F32BE, "float32"},
      {"f8", H5T_IEEE_F64LE, "float64"}, {"b2", H5T_STD_B16BE, "uint16"}};
  const double none = 0;
  {
    NewFile file(path_);
    for (const auto& c : cases) file.add(c.name, c.type, {1}, &none);
  }
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const ArrayInfo info = info_of(c.name);
    ASSERT_EQ(info.columns.size(), 1U);
    EXPECT_EQ(info.columns[0].dtype.name(), c.dtype);
    EXPECT_EQ(info.columns[0].name, "");
    EXPECT_EQ(info.read_path, ReadPath::kNative);
    EXPECT_EQ(info.reason, "");
    EXPECT_FALSE(info.is_record);
  }
}

Id half() {
  Id type(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), 15);
  return type;
}

TEST_F(Types, HalfPrecisionIsNative) {
  const std::vector<std::uint16_t> bits{0x3C00, 0xC000, 0x7C00};  // 1, -2, infinity
  {
    NewFile file(path_);
    const Id type = half(), swapped(H5Tcopy(type.get()));
    H5Tset_order(swapped.get(), H5T_ORDER_BE);
    file.add("le", type.get(), {3}, bits.data());
    file.add("be", swapped.get(), {3}, bits.data(), H5P_DEFAULT, {}, type.get());
  }
  EXPECT_EQ(info_of("le").columns[0].dtype.name(), "float16");
  EXPECT_EQ(values_of<std::uint16_t>(path_, "le"), bits);
  EXPECT_EQ(values_of<std::uint16_t>(path_, "be"), bits);
}

TEST_F(Types, BoolAndOtherEnums) {
  const std::vector<std::int8_t> flags{1, 0, 1};
  const std::vector<std::int16_t> colours{5, -7};
  {
    NewFile file(path_);
    const Id truth(H5Tenum_create(H5T_STD_I8LE)), colour(H5Tenum_create(H5T_STD_I16BE));
    std::int8_t f = 0, t = 1;
    H5Tenum_insert(truth.get(), "FALSE", &f);
    H5Tenum_insert(truth.get(), "TRUE", &t);
    const signed char red[2] = {0, 5}, blue[2] = {-1, -7};  // plain char has no sign on ARM
    H5Tenum_insert(colour.get(), "RED", red);
    H5Tenum_insert(colour.get(), "BLUE", blue);
    file.add("flags", truth.get(), {3}, flags.data());
    const signed char stored[4] = {0, 5, -1, -7};
    file.add("colours", colour.get(), {2}, stored);
  }
  EXPECT_EQ(info_of("flags").columns[0].dtype.name(), "bool");
  EXPECT_EQ(values_of<std::int8_t>(path_, "flags"), flags);
  EXPECT_EQ(info_of("colours").columns[0].dtype.name(), "int16");
  EXPECT_EQ(values_of<std::int16_t>(path_, "colours"), colours);
}

TEST_F(Types, FixedStringsAndComplex) {
  const char words[] = "abc\0\0defgh";
  const std::vector<double> numbers{1, -2, 3, -4};
  {
    NewFile file(path_);
    const Id text(H5Tcopy(H5T_C_S1));
    H5Tset_size(text.get(), 5);
    H5Tset_strpad(text.get(), H5T_STR_NULLPAD);
    file.add("words", text.get(), {2}, words);
    const Id complex(H5Tcreate(H5T_COMPOUND, 16)), memory(H5Tcreate(H5T_COMPOUND, 16));
    H5Tinsert(complex.get(), "r", 0, H5T_IEEE_F64BE);
    H5Tinsert(complex.get(), "i", 8, H5T_IEEE_F64BE);
    H5Tinsert(memory.get(), "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(memory.get(), "i", 8, H5T_NATIVE_DOUBLE);
    file.add("numbers", complex.get(), {2}, numbers.data(), H5P_DEFAULT, {}, memory.get());
  }
  EXPECT_EQ(info_of("words").columns[0].dtype.name(), "S5");
  EXPECT_EQ(values_of<char>(path_, "words"), std::vector<char>(words, words + 10));
  const ArrayInfo info = info_of("numbers");
  ASSERT_EQ(info.columns.size(), 1U);
  EXPECT_FALSE(info.is_record);
  EXPECT_EQ(info.columns[0].dtype.name(), "complex128");
  EXPECT_EQ(values_of<double>(path_, "numbers"), numbers);
}

// {int16 id (BE); struct {float x, y;} pos; float hits[2][3] (BE); struct {uint8 a; int32 b (BE);} parts[2];}
struct __attribute__((packed)) Part {
  std::uint8_t a;
  std::int32_t b;
};
struct __attribute__((packed)) TypesRecord {
  std::int16_t id;
  float x, y;
  float hits[2][3];
  Part parts[2];
};

Id record_type(bool swapped) {
  const hsize_t two = 2, two_three[] = {2, 3};
  Id pos(H5Tcreate(H5T_COMPOUND, 8)), part(H5Tcreate(H5T_COMPOUND, sizeof(Part)));
  H5Tinsert(pos.get(), "x", 0, H5T_IEEE_F32LE);
  H5Tinsert(pos.get(), "y", 4, H5T_IEEE_F32LE);
  H5Tinsert(part.get(), "a", 0, H5T_STD_U8LE);
  H5Tinsert(part.get(), "b", 1, swapped ? H5T_STD_I32BE : H5T_STD_I32LE);
  const Id hits(H5Tarray_create2(swapped ? H5T_IEEE_F32BE : H5T_IEEE_F32LE, 2, two_three));
  const Id parts(H5Tarray_create2(part.get(), 1, &two));
  Id type(H5Tcreate(H5T_COMPOUND, sizeof(TypesRecord)));
  H5Tinsert(type.get(), "id", offsetof(TypesRecord, id), swapped ? H5T_STD_I16BE : H5T_STD_I16LE);
  H5Tinsert(type.get(), "pos", offsetof(TypesRecord, x), pos.get());
  H5Tinsert(type.get(), "hits", offsetof(TypesRecord, hits), hits.get());
  H5Tinsert(type.get(), "parts", offsetof(TypesRecord, parts), parts.get());
  return type;
}

TEST_F(Types, RecordsBecomeColumns) {
  std::vector<TypesRecord> records(10);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto f = static_cast<float>(i);
    records[i] = {static_cast<std::int16_t>(i * 100),
                  f,
                  -f,
                  {{f, 1, 2}, {3, 4, f}},
                  {{static_cast<std::uint8_t>(i), static_cast<std::int32_t>(i) * 70000}, {9, -1}}};
  }
  {
    NewFile file(path_);
    const Id stored = record_type(true), memory = record_type(false), list = chunks_of({4});
    H5Pset_deflate(list.get(), 1);
    file.add("zipped", stored.get(), {10}, records.data(), list.get(), {}, memory.get());
    file.add("contiguous", stored.get(), {5, 2}, records.data(), H5P_DEFAULT, {}, memory.get());
    file.add("native", memory.get(), {10}, records.data());
  }
  for (const char* name : {"zipped", "contiguous", "native"}) {
    SCOPED_TRACE(name);
    const ArrayInfo info = info_of(name);
    ASSERT_EQ(info.columns.size(), 6U);
    EXPECT_TRUE(info.is_record);
    EXPECT_EQ(info.record_bytes, sizeof(TypesRecord));
    EXPECT_EQ(info.columns[1].name, "pos.x");
    EXPECT_EQ(info.columns[3].inner_shape, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(info.columns[5].name, "parts.b");
    std::vector<std::int16_t> ids;
    std::vector<float> ys, hits;
    std::vector<std::int32_t> bs;
    for (const TypesRecord& r : records) {  // copies: members of packed records lie where no reference may point
      ids.push_back(std::int16_t{r.id});
      ys.push_back(float{r.y});
      for (std::size_t i = 0; i < 6; ++i) hits.push_back(float{r.hits[i / 3][i % 3]});
      for (const Part& p : r.parts) bs.push_back(std::int32_t{p.b});
    }
    EXPECT_EQ(values_of<std::int16_t>(path_, name, 0), ids);
    EXPECT_EQ(values_of<float>(path_, name, 2), ys);
    EXPECT_EQ(values_of<float>(path_, name, 3), hits);
    EXPECT_EQ(values_of<std::int32_t>(path_, name, 5), bs);
  }
}

TEST_F(Types, WholeElementArraysExtendTheRow) {
  const auto data = counted<std::int16_t>(4 * 3 * 2);
  {
    NewFile file(path_);
    const hsize_t dims[] = {3, 2};
    const Id type(H5Tarray_create2(H5T_STD_I16LE, 2, dims));
    file.add("x", type.get(), {4}, data.data());
  }
  const ArrayInfo info = info_of("x");
  EXPECT_EQ(info.columns[0].inner_shape, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(info.record_bytes, 12U);
  EXPECT_EQ(values_of<std::int16_t>(path_, "x"), data);
}

TEST_F(Types, UnusualNumbersAreConvertedByTheLibrary) {
  const std::vector<std::int32_t> ints{1, -2, 300000, -8000000};
  const std::vector<long double> longs{1.5L, -2.25L, 0, 8};
  const std::vector<float> floats{1, -2, 0.5F, 4};
  {
    NewFile file(path_);
    const Id narrow(H5Tcopy(H5T_STD_I32LE)), small(H5Tcopy(H5T_STD_I32BE)), brain(H5Tcopy(H5T_IEEE_F32LE));
    H5Tset_precision(narrow.get(), 24);
    H5Tset_precision(small.get(), 24);
    H5Tset_size(small.get(), 3);
    H5Tset_fields(brain.get(), 15, 7, 8, 0, 7);
    H5Tset_size(brain.get(), 2);
    const Id list = chunks_of({3});
    H5Pset_deflate(list.get(), 1);
    file.add("padded", narrow.get(), {4}, ints.data(), list.get(), {}, H5T_NATIVE_INT32);
    file.add("three", small.get(), {4}, ints.data(), H5P_DEFAULT, {}, H5T_NATIVE_INT32);
    file.add("long", H5T_NATIVE_LDOUBLE, {4}, longs.data());
    file.add("brain", brain.get(), {4}, floats.data(), H5P_DEFAULT, {}, H5T_NATIVE_FLOAT);
  }
  for (const char* name : {"padded", "three", "long", "brain"}) {
    EXPECT_EQ(info_of(name).read_path, ReadPath::kConverted) << name;
    EXPECT_TRUE(info_of(name).reason.ends_with(": converted by libhdf5")) << name;
  }
  EXPECT_EQ(values_of<std::int32_t>(path_, "padded"), ints);
  EXPECT_EQ(values_of<std::int32_t>(path_, "three"), ints);
  EXPECT_EQ(values_of<double>(path_, "long"), (std::vector<double>{1.5, -2.25, 0, 8}));
  EXPECT_EQ(values_of<float>(path_, "brain"), floats);
  const auto file = must_open(path_);
  const auto array = must_open_array(*file, "padded");
  values_of<std::int32_t>(*array);
  EXPECT_EQ(array->slow_pieces(), 0U) << "we read and decode, libhdf5 converts only";
}

TEST_F(Types, WhatHasNoFixedSizeIsRefusedWithTheReason) {
  {
    NewFile file(path_);
    const Id text(H5Tcopy(H5T_C_S1)), sequence(H5Tvlen_create(H5T_NATIVE_INT)), opaque(H5Tcreate(H5T_OPAQUE, 8));
    H5Tset_size(text.get(), H5T_VARIABLE);
    H5Tset_tag(opaque.get(), "NUMPY:M8[ns]");
    const Id record(H5Tcreate(H5T_COMPOUND, 16));
    H5Tinsert(record.get(), "name", 0, text.get());
    H5Tinsert(record.get(), "where", 8, H5T_STD_REF_OBJ);
    file.add("text", text.get(), {2}, nullptr);
    file.add("sequence", sequence.get(), {2}, nullptr);
    file.add("opaque", opaque.get(), {2}, nullptr);
    file.add("reference", H5T_STD_REF_OBJ, {2}, nullptr);
    file.add("record", record.get(), {2}, nullptr);
  }
  EXPECT_NE(info_of("text").reason.find("variable-length strings"), std::string::npos);
  EXPECT_NE(info_of("sequence").reason.find("variable-length sequences"), std::string::npos);
  EXPECT_NE(info_of("opaque").reason.find("NUMPY:M8[ns]"), std::string::npos);
  EXPECT_NE(info_of("reference").reason.find("references"), std::string::npos);
  EXPECT_NE(info_of("record").reason.find("'name'"), std::string::npos);
  const auto file = must_open(path_);
  for (const char* name : {"text", "sequence", "opaque", "reference", "record"}) {
    auto array = file->open_array(name);
    ASSERT_FALSE(array.ok());
    EXPECT_EQ(array.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(array.error().field(), name);
  }
}

// What is behind a text of variable length lies elsewhere in the file than libhdf5's description says.
TEST_F(Types, MembersBesideOnesThatHaveNoFixedSize) {
  struct Inner {
    std::int16_t a;
    char* text;
    std::int32_t b;
  };
  struct Row {
    std::int32_t n;
    char* name;
    double x;
    Inner inner[2];
    hvl_t sequence;
    float last;
  };
  char name[] = "a name", other[] = "another";
  std::int32_t numbers[] = {7, 8, 9};
  std::vector<Row> rows(50);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto k = static_cast<std::int32_t>(i);
    rows[i] = {k,
               name,
               k * 0.5,
               {{static_cast<std::int16_t>(-k), other, 10 * k}, {3, name, -k}},
               {3, numbers},
               static_cast<float>(k) + 0.25F};
  }
  const hsize_t two = 2;
  for (const bool unusual : {false, true}) {  // read as it is; converted by libhdf5
    {
      NewFile file(path_);
      const Id text(H5Tcopy(H5T_C_S1)), sequence(H5Tvlen_create(H5T_NATIVE_INT32));
      H5Tset_size(text.get(), H5T_VARIABLE);
      const Id small(H5Tcopy(H5T_STD_I32LE));
      if (unusual) H5Tset_precision(small.get(), 20);
      const auto record = [&](hid_t number) {
        const Id inner(H5Tcreate(H5T_COMPOUND, sizeof(Inner)));
        H5Tinsert(inner.get(), "a", offsetof(Inner, a), H5T_STD_I16LE);
        H5Tinsert(inner.get(), "text", offsetof(Inner, text), text.get());
        H5Tinsert(inner.get(), "b", offsetof(Inner, b), H5T_STD_I32LE);
        const Id pair(H5Tarray_create2(inner.get(), 1, &two));
        Id row(H5Tcreate(H5T_COMPOUND, sizeof(Row)));
        H5Tinsert(row.get(), "n", offsetof(Row, n), number);
        H5Tinsert(row.get(), "name", offsetof(Row, name), text.get());
        H5Tinsert(row.get(), "x", offsetof(Row, x), H5T_IEEE_F64LE);
        H5Tinsert(row.get(), "inner", offsetof(Row, inner), pair.get());
        H5Tinsert(row.get(), "sequence", offsetof(Row, sequence), sequence.get());
        H5Tinsert(row.get(), "last", offsetof(Row, last), H5T_IEEE_F32LE);
        return row;
      };
      const Id stored = record(small.get()), memory = record(H5T_STD_I32LE), list(H5Pcreate(H5P_DATASET_CREATE));
      const hsize_t chunk = 16;
      H5Pset_chunk(list.get(), 1, &chunk);
      H5Pset_deflate(list.get(), 1);
      file.add("chunked", stored.get(), {50}, rows.data(), list.get(), {}, memory.get());
      file.add("flat", stored.get(), {50}, rows.data(), H5P_DEFAULT, {}, memory.get());
    }
    for (const char* array : {"chunked", "flat"}) {
      const ArrayInfo info = info_of(array);
      EXPECT_EQ(info.read_path, unusual ? ReadPath::kConverted : ReadPath::kNative) << info.reason;
      std::vector<std::string> names, left_out;
      for (const Column& column : info.columns) names.push_back(column.name);
      for (const LeftOut& one : info.left_out) left_out.push_back(one.path);
      ASSERT_EQ(names, (std::vector<std::string>{"n", "x", "inner.a", "inner.b", "last"}));
      EXPECT_EQ(left_out, (std::vector<std::string>{"name", "inner.text", "sequence"}));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(values_of<std::int32_t>(path_, array, 0)[i], rows[i].n);
        EXPECT_EQ(values_of<double>(path_, array, 1)[i], rows[i].x);
        EXPECT_EQ(values_of<std::int16_t>(path_, array, 2)[2 * i], rows[i].inner[0].a);
        EXPECT_EQ(values_of<std::int32_t>(path_, array, 3)[2 * i + 1], rows[i].inner[1].b);
        EXPECT_EQ(values_of<float>(path_, array, 4)[i], rows[i].last);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::hdf5
