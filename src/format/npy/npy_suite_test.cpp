// The suite of every format, for .npy and .npz files. Headers are written out here, as NumPy writes them.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/testing/temporary_folder.h"
#include "format/npy/manifest_text.h"
#include "format/npy/npy_reader.h"
#include "format/npy/testing/zip_writer.h"
#include "format/testing/format_suite.h"

namespace headrace::npy {
namespace {

std::string sealed(const nlohmann::ordered_json& object) {
  const std::string text = object.dump(1);
  return ManifestText::sealed(text.substr(0, text.size() - 2));  // without "\n}"
}

using testing_format::FormatCase;
using testing_format::OpenedArray;
using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A header of this version whose dict is given, padded as NumPy does.
Bytes header(const std::string& dict, int version = 1) {
  const std::size_t before = version == 1 ? 10 : 12;
  std::string text = dict;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (std::size_t i = 0; i < before - 8; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  out += text;
  Bytes bytes(out.size());
  std::memcpy(bytes.data(), out.data(), out.size());
  return bytes;
}

Bytes values(std::size_t n, std::size_t width, bool big_endian = false) {
  Bytes bytes(n * width);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t in_number = i % width;
    const std::size_t at = i - in_number + (big_endian ? width - 1 - in_number : in_number);
    bytes[at] = static_cast<std::byte>(i * 37 + i / 256);
  }
  return bytes;
}

FormatCase of_file(Bytes file, std::vector<Bytes> columns) {
  FormatCase made;
  made.columns = std::move(columns);
  made.addressable = true;
  made.file_bytes = file;
  const auto folder = std::make_shared<TemporaryFolder>();
  const std::string path = folder->write("x.npy", file);
  made.holder = folder;
  made.open = [path]() -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, headrace::open_file(path));
    return reader->open_array("x");
  };
  made.open_file = [](std::shared_ptr<RandomAccessFile> bytes) -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_npy(std::move(bytes), "suite.npy"));
    return reader->open_array("suite");
  };
  return made;
}

FormatCase of_archive(bool deflated, bool zip64) {
  const Bytes x = header("{'descr': '>i4', 'fortran_order': False, 'shape': (23, 3), }") + values(69, 4, true);
  const Bytes other = header("{'descr': '<f8', 'fortran_order': False, 'shape': (23,), }") + values(23, 8);
  const Bytes scalar = header("{'descr': '<f8', 'fortran_order': False, 'shape': (), }") + values(1, 8);
  FormatCase made;
  made.columns = {values(69, 4)};
  made.addressable = !deflated;
  made.file_bytes = write_zip(
      {{"a.npy", other, deflated}, {"x.npy", x, deflated}, {"s.npy", scalar, deflated}, {"read me", other, false}},
      zip64);
  const auto folder = std::make_shared<TemporaryFolder>();
  const std::string path = folder->write("x.npz", made.file_bytes);
  made.holder = folder;
  made.open = [path]() -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, headrace::open_file(path));
    return reader->open_array("x");
  };
  made.open_file = [](std::shared_ptr<RandomAccessFile> bytes) -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, open_npz(std::move(bytes), "suite.npz"));
    return reader->open_array("x");
  };
  made.notices_damage = deflated;  // by the CRC-32 of the whole member
  return made;
}

FormatCase records() {
  // number '<i2', padding of 2 bytes, pair '>f4' (2,), in.flag '|u1', in.text '|S3'
  const std::string dict =
      "{'descr': [('number', '<i2'), ('', '|V2'), (('a title', 'pair'), '>f4', (2,)), "
      "('in', [('flag', '|u1'), ('text', '|S3')])], 'fortran_order': False, 'shape': (17,), }";
  Bytes file = header(dict, 2), number, pair, flag, text;
  const Bytes swapped = values(34, 4, true), native = values(34, 4);
  for (std::size_t row = 0; row < 17; ++row) {
    const auto add = [&](Bytes& column, const Bytes& stored, const Bytes& delivered) {
      file = std::move(file) + stored;
      column = std::move(column) + delivered;
    };
    const auto byte = [&](std::size_t i) { return static_cast<std::byte>(row * 11 + i); };
    add(number, {byte(1), byte(2)}, {byte(1), byte(2)});
    file = std::move(file) + Bytes{byte(3), byte(4)};
    const auto at = static_cast<std::ptrdiff_t>(row * 8);
    add(pair, Bytes(swapped.begin() + at, swapped.begin() + at + 8),
        Bytes(native.begin() + at, native.begin() + at + 8));
    add(flag, {byte(5)}, {byte(5)});
    add(text, {byte(6), byte(7), byte(8)}, {byte(6), byte(7), byte(8)});
  }
  return of_file(std::move(file), {number, pair, flag, text});
}

/// A folder as caches are: a field of whose name no file name can be made, and a manifest.
std::shared_ptr<TemporaryFolder> write_cache() {
  const auto folder = std::make_shared<TemporaryFolder>();
  const Bytes x = header("{'descr': '<i4', 'fortran_order': False, 'shape': (23, 3), }") + values(69, 4);
  const Bytes y = header("{'descr': '<f8', 'fortran_order': False, 'shape': (23,), }") + values(23, 8);
  folder->write("x_.npy", x);
  folder->write("y.npy", y);
  nlohmann::ordered_json manifest = {{"format", "headrace-cache"}, {"format_version", 1}, {"rows", 23}};
  manifest["fields"] = {
      {{"name", "x?"}, {"dtype", "<i4"}, {"shape", {3}}, {"file", "x_.npy"}},
      {{"name", "y"}, {"dtype", "<f8"}, {"shape", nlohmann::ordered_json::array()}, {"file", "y.npy"}}};
  folder->write_text("manifest.json", sealed(manifest));
  return folder;
}

FormatCase of_cache() {
  FormatCase made;
  const auto folder = write_cache();
  made.columns = {values(69, 4)};
  made.addressable = true;
  made.holder = folder;
  made.open = [path = folder->path()]() -> OpenedArray {
    HEADRACE_ASSIGN(const std::shared_ptr<FormatReader> reader, headrace::open_file(path));
    return reader->open_array("x?");
  };
  return made;
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, std::function<FormatCase()> make) {
    testing_format::register_format_reader_tests("NpySuite", name, std::move(make));
  };
  add("Plain", [] {
    return of_file(header("{'descr': '<f4', 'fortran_order': False, 'shape': (31, 2, 3), }") + values(186, 4),
                   {values(186, 4)});
  });
  add("BigEndian", [] {
    return of_file(header("{'descr': '>c8', 'fortran_order': False, 'shape': (12,), }", 3) + values(24, 4, true),
                   {values(24, 4)});
  });
  add("OneColumnInFortranOrder", [] {
    return of_file(header("{\"descr\": '|u1', 'fortran_order': True, 'shape': (50L, 1, 1)}") + values(50, 1),
                   {values(50, 1)});
  });
  add("NoRows",
      [] { return of_file(header("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }"), {Bytes{}}); });
  add("Records", records);
  add("Archive", [] { return of_archive(false, false); });
  add("Archive64", [] { return of_archive(false, true); });
  add("DeflatedArchive", [] { return of_archive(true, false); });
  add("DeflatedArchive64", [] { return of_archive(true, true); });
  add("CacheFolder", of_cache);
  return true;
}();

class NpyErrors : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  Error refused(const Bytes& file, const char* name = "x.npy") {
    const std::string path = folder_.write(name, file);
    auto reader = headrace::open_file(path);
    if (reader.ok()) {
      auto array = (*reader)->open_array("x");
      EXPECT_FALSE(array.ok());
      return array.ok() ? Error(ErrorCode::kInternal, "opened") : array.error();
    }
    EXPECT_EQ(reader.error().file(), path);
    return reader.error();
  }
  static void expect(const Error& error, ErrorCode code, const std::string& words) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
  static Bytes file(const std::string& descr, const std::string& shape = "(2, 3)", const char* fortran = "False") {
    return header("{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }") + Bytes(480);
  }
};

TEST_F(NpyErrors, TypesThatCannotBeDelivered) {
  expect(refused(file("'|O'")), ErrorCode::kUnsupported, "never loads pickles");
  expect(refused(file("'<U5'")), ErrorCode::kUnsupported, "np.char.encode");
  expect(refused(file("'<M8[ns]'")), ErrorCode::kUnsupported, "view('i8')");
  expect(refused(file("'<f16'")), ErrorCode::kUnsupported, "floats of 16 bytes");
  expect(refused(file("'|V7'")), ErrorCode::kUnsupported, "raw bytes");
  expect(refused(file("'|S0'")), ErrorCode::kUnsupported, "strings of no bytes");
  expect(refused(file("[('a', '<i4'), ('o', '|O')]")), ErrorCode::kUnsupported, "(member 'o')");
  expect(refused(file("[('a', [('b', '<i4')], (3,))]")), ErrorCode::kUnsupported, "records inside a record");
  expect(refused(file("'<f4'", "(3, 40)", "True")), ErrorCode::kUnsupported, "np.ascontiguousarray");
}

TEST_F(NpyErrors, HeadersThatMakeNoSense) {
  for (const char* descr : {"'<i3'", "'f4f'", "''", "'<'", "'<f99999999999'", "7", "[]", "[('a',)]", "[('', '|V4')]",
                            "[('a', '<i4', (0,))]", "[('a', '<i4', (-1,))]", "[('a', '<i8', (1000000000000000000,))]"})
    EXPECT_EQ(refused(file(descr)).code(), ErrorCode::kCorruptData) << descr;
  for (const char* shape : {"(2, 'x')", "3", "[1]", "(18446744073709551616,)", "(4294967296, 4294967296, 8)", "(-1,)"})
    EXPECT_EQ(refused(file("'<i8'", shape)).code(), ErrorCode::kCorruptData) << shape;
  expect(refused(file("'<i8'", "(1000, 3)")), ErrorCode::kCorruptData, "480 bytes of values follow");
  expect(refused(header("{'descr': '<i8', 'shape': (1,)}")), ErrorCode::kCorruptData, "fortran_order");
  expect(refused(header(std::string(2000, '('))), ErrorCode::kCorruptData, "less nesting");
  expect(refused(header("{'descr': '<i8'}", 4)), ErrorCode::kUnsupported, "version 4.0");
}

TEST_F(NpyErrors, MembersBesideOnesThatCannotBeDelivered) {
  const std::string path = folder_.write("x.npy", file("[('a', '<i4'), ('t', '<U5'), ('b', '<i4')]", "(3,)"));
  const auto reader = headrace::open_file(path);
  ASSERT_TRUE(reader.ok()) << reader.error().what();
  const ArrayInfo& info = (*reader)->arrays().at(0);
  ASSERT_EQ(info.columns.size(), 2u);
  EXPECT_EQ(info.columns[1].name, "b");
  EXPECT_EQ(info.columns[1].offset, 24u);
  ASSERT_EQ(info.left_out.size(), 1u);
  EXPECT_EQ(info.left_out[0].path, "t");
  EXPECT_NE(info.left_out[0].hint.find("np.char.encode"), std::string::npos);
  expect(refused(file("[('t', '<U5')]", "(3,)")), ErrorCode::kUnsupported, "(member 't')");
}

TEST_F(NpyErrors, BytesBehindTheValuesAreNoticed) {
  const std::string path = folder_.write("x.npy", file("'<f8'", "(50,)"));
  const auto reader = headrace::open_file(path);
  ASSERT_TRUE(reader.ok()) << reader.error().what();
  EXPECT_EQ((*reader)->arrays().at(0).notice.find("80 bytes follow"), 0u);
}

TEST_F(NpyErrors, WhatIsNoRowsOfOneArray) {
  expect(refused(file("'<f8'", "()")), ErrorCode::kUnsupported, "np.atleast_1d");
  const Bytes one = header("{'descr': '<f8', 'fortran_order': False, 'shape': (), }") + Bytes(8);
  expect(refused(one), ErrorCode::kUnsupported, "np.atleast_1d");
  const Bytes two = header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") + Bytes(16);
  expect(refused(two + two), ErrorCode::kUnsupported, "np.savez");
}

TEST_F(NpyErrors, ArchivesWithoutArrays) {
  expect(refused(write_zip({{"a.txt", Bytes(9), false}}), "x.npz"), ErrorCode::kUnsupported, "without .npy members");
  expect(refused(write_zip({}), "x.npz"), ErrorCode::kUnsupported, "without .npy members");
  const Bytes one = file("'|O'");
  expect(refused(write_zip({{"x.npy", one, true}}), "x.npz"), ErrorCode::kUnsupported, "never loads pickles");
  expect(refused(write_zip({{"x.npy", one, false}, {"x.npy", one, false}}), "x.npz"), ErrorCode::kCorruptData,
         "two members");
  expect(refused(write_zip({{"x.npy", Bytes(40), false}}), "x.npz"), ErrorCode::kCorruptData, "x.npy");
}

TEST(CacheFolder, AnyDamageToTheManifestIsNoticed) {
  const auto folder = write_cache();
  const std::string path = folder->path();
  const auto opened = headrace::open_file(path);
  ASSERT_TRUE(opened.ok()) << opened.error().what();
  EXPECT_EQ((*opened)->arrays().size(), 2U);
  std::ifstream in(folder->path("manifest.json"), std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder->write_text("manifest.json", bad);
    const auto damaged = headrace::open_file(path);
    ASSERT_FALSE(damaged.ok()) << "byte " << i;
    EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruptData) << damaged.error().what();
    EXPECT_EQ(damaged.error().file(), folder->path("manifest.json"));
    folder->write_text("manifest.json", good.substr(0, i));
    EXPECT_EQ(headrace::open_file(path).error().code(), ErrorCode::kCorruptData) << i << " bytes";
  }
}

TEST(CacheFolder, FilesFitTheManifest) {
  const auto refused = [](const char* file, const Bytes& bytes) {
    const auto folder = write_cache();
    folder->write(file, bytes);
    const Error error = headrace::open_file(folder->path()).error();
    EXPECT_EQ(error.file(), folder->path(file)) << error.what();
    return error;
  };
  const Bytes other = header("{'descr': '<f8', 'fortran_order': False, 'shape': (22,), }") + values(22, 8);
  const Bytes record = header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (23,), }") + values(23, 8);
  EXPECT_EQ(refused("y.npy", other).code(), ErrorCode::kCorruptData);
  EXPECT_EQ(refused("y.npy", record).code(), ErrorCode::kCorruptData);
  EXPECT_EQ(refused("y.npy", Bytes(200)).code(), ErrorCode::kCorruptData);
  EXPECT_EQ(refused("y.npy", other).field(), "y");
  const auto manifest_with = [](const char* key, const nlohmann::ordered_json& value) {
    const auto folder = write_cache();
    nlohmann::ordered_json manifest = {{"format", "headrace-cache"}, {"format_version", 1}, {"rows", 23}};
    manifest["fields"] = {{{"name", "y"}, {"dtype", "<f8"}, {"shape", nlohmann::ordered_json::array()}}};
    manifest["fields"][0]["file"] = "y.npy";
    (manifest.contains(key) ? manifest[key] : manifest["fields"][0][key]) = value;
    folder->write_text("manifest.json", sealed(manifest));
    const auto opened = headrace::open_file(folder->path());
    return opened.ok() ? ErrorCode::kInternal : opened.error().code();
  };
  EXPECT_EQ(manifest_with("file", "y.npy"), ErrorCode::kInternal);  // as it was
  EXPECT_EQ(manifest_with("file", "../y.npy"), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("file", "/etc/passwd"), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("file", "gone.npy"), ErrorCode::kNotFound);
  EXPECT_EQ(manifest_with("name", ""), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("shape", -1), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("rows", "many"), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("fields", 7), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("format", "another"), ErrorCode::kCorruptData);
  EXPECT_EQ(manifest_with("format_version", 2), ErrorCode::kUnsupported);
}

TEST_F(NpyErrors, MembersMayHaveSlashesInTheirNames) {
  const auto archive =
      headrace::open_file(folder_.write("a.npz", write_zip({{"/abs.npy", file("'|u1'", "(480,)"), false},
                                                            {"a/b.npy", file("'|u1'", "(480,)"), true},
                                                            {"plain.npy", file("'|u1'", "(480,)"), false}})));
  ASSERT_TRUE(archive.ok()) << archive.error().what();
  for (const ArrayInfo& info : (*archive)->arrays()) {
    const auto array = (*archive)->open_array(info.path);
    ASSERT_TRUE(array.ok()) << array.error().what();
    EXPECT_EQ((*array)->info().path, info.path);
  }
  EXPECT_EQ((*archive)->open_array("/plain").value()->info().path, "plain");
}

TEST_F(NpyErrors, ANameIsOfTheFileOrOfTheMember) {
  const auto name_in = [&](const char* file_name) {
    const auto reader = headrace::open_file(folder_.write(file_name, file("'<f8'", "(20, 3)")));
    return reader.ok() ? (*reader)->arrays()[0].path : reader.error().what();
  };
  EXPECT_EQ(name_in("features.npy"), "features");
  EXPECT_EQ(name_in("train_0012.npy"), "train");
  EXPECT_EQ(name_in("x_train-part.3.npy"), "x_train-part");
  EXPECT_EQ(name_in("x2.npy"), "x2");
  EXPECT_EQ(name_in("0012.npy"), "0012");
  EXPECT_EQ(name_in("_1.npy"), "_1");
  const auto archive = headrace::open_file(folder_.write(
      "a.npz", write_zip({{"b/y.npy", file("'<f8'", "(20, 3)"), true}, {"x.npy", file("'|u1'", "(480,)"), false}})));
  ASSERT_TRUE(archive.ok()) << archive.error().what();
  EXPECT_EQ((*archive)->arrays()[0].path, "b/y");
  EXPECT_EQ((*archive)->arrays()[0].codec_text(), "gzip");
  EXPECT_EQ((*archive)->arrays()[1].path, "x");
  const Error missing = (*archive)->open_array("xx").error();
  EXPECT_EQ(missing.code(), ErrorCode::kFieldMissing);
  EXPECT_EQ(missing.hint(), "It has: x, b/y.");
}

}  // namespace
}  // namespace headrace::npy
