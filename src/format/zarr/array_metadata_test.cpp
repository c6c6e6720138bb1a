#include "format/zarr/array_metadata.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace headrace::zarr {
namespace {

Json json_of(const std::string& text) {
  return parse_json(std::as_bytes(std::span(text))).value();
}

Result<ArrayMetadata> v2_with(const std::string& key, const Json& value) {
  Json document = json_of(R"({"zarr_format": 2, "shape": [10, 20], "chunks": [4, 5], "dtype": "<f4", "order": "C",
                              "compressor": null, "filters": null, "fill_value": 0})");
  document[key] = value;
  return parse_v2_array(document);
}

Result<ArrayMetadata> v3_with(const std::string& key, const Json& value) {
  Json document = json_of(R"({"zarr_format": 3, "node_type": "array", "shape": [10, 20], "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 5]}}, "fill_value": 0,
    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]})");
  document[key] = value;
  return parse_v3_array(document);
}

template <class T>
T fill_as(const Result<ArrayMetadata>& made) {
  T value{};
  EXPECT_TRUE(made.ok()) << made.error().what();
  EXPECT_LE(made->fill.size(), sizeof value);
  if (!made->fill.empty()) std::memcpy(&value, made->fill.data(), made->fill.size());  // no bytes have no address
  return value;
}

TEST(ZarrMetadata, FillValuesInAllSpellings) {
  EXPECT_EQ(fill_as<float>(v2_with("fill_value", 1.5)), 1.5F);
  EXPECT_EQ(fill_as<float>(v2_with("fill_value", nullptr)), 0.0F);
  EXPECT_TRUE(std::isnan(fill_as<float>(v2_with("fill_value", "NaN"))));
  EXPECT_EQ(fill_as<float>(v2_with("fill_value", "-Infinity")), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(fill_as<std::uint32_t>(v3_with("fill_value", "0x7fc00001")), 0x7fc00001U);
  for (const Json& none : {Json("nan"), Json("0x7fc0"), Json(Json::array()), Json(Json::object())})
    EXPECT_EQ(v3_with("fill_value", none).error().code(), ErrorCode::kCorruptData) << none;
  const auto whole = [](const char* type, const Json& value) {
    npy::NpyType made = npy::parse_type({npy::Literal::Kind::kText, 0, type, {}}).value();
    return fill_of(value, made);
  };
  EXPECT_EQ(whole("|i1", -128).value(), std::vector{std::byte{0x80}});
  EXPECT_EQ(whole("|u1", 255.0).value(), std::vector{std::byte{0xff}});
  EXPECT_EQ(whole("<i8", INT64_MIN).value()[7], std::byte{0x80});
  EXPECT_EQ(whole("<u8", UINT64_MAX).value()[7], std::byte{0xff});
  for (const auto& [type, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"|i1", -129}, {"|i1", 128}, {"|u1", -1}, {"|u1", 256}, {"|u1", 0.5}, {"|b1", 2}, {"<i8", UINT64_MAX}})
    EXPECT_EQ(whole(type, value).error().code(), ErrorCode::kCorruptData) << type << " " << value;
  EXPECT_EQ(whole("|S3", "YWI=").value(), (std::vector{std::byte{'a'}, std::byte{'b'}})) << "zeros follow";
  EXPECT_TRUE(whole("|S500000000", nullptr).value().empty()) << "no memory for what a name of a type says";
  EXPECT_EQ(whole("|S500000000", "YWI=").value().size(), 2U);
}

TEST(ZarrMetadata, HalfPrecisionRoundsToNearestEven) {
  const npy::NpyType half = npy::parse_type({npy::Literal::Kind::kText, 0, "<f2", {}}).value();
  const auto bits = [&](double value) {
    std::uint16_t out = 0;
    std::memcpy(&out, fill_of(Json(value), half).value().data(), 2);
    return out;
  };
  EXPECT_EQ(bits(1), 0x3c00);
  EXPECT_EQ(bits(-2.5), 0xc100);
  EXPECT_EQ(bits(65504), 0x7bff);
  EXPECT_EQ(bits(65519), 0x7bff);
  EXPECT_EQ(bits(65520), 0x7c00);
  EXPECT_EQ(bits(0x1p-14), 0x0400);
  EXPECT_EQ(bits(0x1p-24), 0x0001);
  EXPECT_EQ(bits(0x1p-25), 0x0000);
  EXPECT_EQ(bits(0x1.8p-25), 0x0001);
  EXPECT_EQ(bits(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(bits(1 + 0x1.8p-10), 0x3c02);
  EXPECT_EQ(bits(2 - 0x1p-12), 0x4000);
}

TEST(ZarrMetadata, RefusesByName) {
  const auto refused = [](const Result<ArrayMetadata>& made, const std::string& name) {
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported) << made.error().what();
    EXPECT_NE(std::string(made.error().what()).find(name), std::string::npos) << made.error().what();
  };
  refused(v2_with("compressor", {{"id", "lzma"}}), "lzma");
  refused(v2_with("filters", Json::array({{{"id", "delta"}}})), "delta");
  refused(v2_with("dtype", "|O"), "object");
  refused(v3_with("data_type", "bfloat16"), "bfloat16");
  refused(v3_with("chunk_grid", {{"name", "rectilinear"}}), "rectilinear");
  refused(v3_with("chunk_key_encoding", {{"name", "suffix"}}), "suffix");
  refused(v3_with("storage_transformers", Json::array({{{"name", "chunk-manifest"}}})), "chunk-manifest");
  refused(v3_with("colour", {{"name", "blue"}}), "colour");
  EXPECT_TRUE(v3_with("colour", {{"name", "blue"}, {"must_understand", false}}).ok());
}

TEST(ZarrMetadata, RefusesWhatContradictsItself) {
  const auto corrupt = [](const Result<ArrayMetadata>& made) {
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code(), ErrorCode::kCorruptData) << made.error().what();
  };
  corrupt(v2_with("chunks", {4}));
  corrupt(v2_with("chunks", {0, 5}));
  corrupt(v2_with("chunks", {-4, 5}));
  corrupt(v2_with("chunks", {1ULL << 40, 1ULL << 40}));
  corrupt(v2_with("shape", {1ULL << 40, 1ULL << 40}));
  corrupt(v2_with("order", "D"));
  corrupt(v2_with("dimension_separator", "-"));
  corrupt(v3_with("codecs", Json::array()));
  corrupt(v3_with("codecs", Json::array({{{"name", "transpose"}, {"configuration", {{"order", {0, 0}}}}}})));
}

TEST(ZarrMetadata, ReadsWhatPythonWritesForNaN) {
  const Json json = json_of(R"({"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \" Infinity"})");
  EXPECT_EQ(json["a"], "NaN");
  EXPECT_EQ(json["b"][0], "-Infinity");
  EXPECT_EQ(json["c"], "NaN \" Infinity");
}

TEST(ZarrMetadata, ChunkNames) {
  const ChunkKeys dots{false, '.'}, slashes{true, '/'};
  EXPECT_EQ(dots.key({1, 0, 12}), "1.0.12");
  EXPECT_EQ(slashes.key({1, 0, 12}), "c/1/0/12");
  EXPECT_EQ(dots.parse("1.0.12", 3), (std::vector<std::uint64_t>{1, 0, 12}));
  for (const char* none :
       {"1.0", "1.0.12.3", "1.0.", ".1.0", "01.0.1", "1.0.x", "1/0/12", "-1.0.2", "1.0.99999999999999999999"})
    EXPECT_FALSE(dots.parse(none, 3)) << none;
  EXPECT_FALSE(slashes.parse("1/0/12", 3));
}

}  // namespace
}  // namespace headrace::zarr
