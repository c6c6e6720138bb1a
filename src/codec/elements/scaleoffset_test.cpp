#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

#include "codec/elements/bit_writer_testing.h"

namespace headrace {
namespace {

/// The client values, by name.
struct Values {
  std::uint32_t how = 2, factor = 0, elements = 0, floating = 0, size = 4, is_signed = 1, big_endian = 0, filled = 0;
  std::uint64_t fill = 0;
};

std::vector<std::uint32_t> client_values(const Values& v) {
  std::vector<std::uint32_t> values{v.how,  v.factor,    v.elements,   v.floating,
                                    v.size, v.is_signed, v.big_endian, v.filled};
  values.push_back(static_cast<std::uint32_t>(v.fill));
  values.push_back(static_cast<std::uint32_t>(v.fill >> 32));
  values.resize(20);
  return values;
}

Result<std::unique_ptr<Codec>> make(const Values& v) {
  return make_codec({"scaleoffset", client_values(v)}, {std::uint64_t{v.elements} * v.size, v.size});
}

std::unique_ptr<Codec> made(const Values& v) {
  auto codec = make(v);
  EXPECT_TRUE(codec.ok()) << (codec.ok() ? "" : codec.error().what());
  return codec.ok() ? std::move(*codec) : nullptr;
}

Bytes head(std::uint32_t bits, std::uint64_t minimum, std::uint8_t minimum_bytes = 8) {
  Bytes stored;
  put_number(stored, bits, 4, false);
  stored.push_back(std::byte{minimum_bytes});
  put_number(stored, minimum, 8, false);
  stored.resize(21);
  return stored;
}

/// As libhdf5 writes it, with the byte that it adds.
Bytes stream(std::uint32_t bits, std::uint64_t minimum, const std::vector<std::uint64_t>& distances) {
  Bytes stored = head(bits, minimum);
  BitWriter writer;
  for (const std::uint64_t distance : distances) writer.put(distance, bits);
  stored.insert(stored.end(), writer.bytes().begin(), writer.bytes().end());
  stored.resize(21 + distances.size() * bits / 8 + 1);
  return stored;
}

std::uint64_t ones(unsigned bits) {
  return bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
}

std::vector<std::uint64_t> any_distances(unsigned bits) {
  auto distances = *rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::just(~std::uint64_t{0})));
  for (std::uint64_t& distance : distances) distance &= ones(bits);
  return distances;
}

TEST(ScaleOffset, IntegersOfAnyWidth) {
  EXPECT_TRUE(rc::check("distance and minimum, or the fill value", [] {
    Values v;
    v.size = *rc::gen::element(1u, 2u, 4u, 8u);
    v.is_signed = *rc::gen::inRange(0u, 2u);
    v.big_endian = *rc::gen::inRange(0u, 2u);
    v.filled = *rc::gen::inRange(0u, 2u);
    v.fill = *rc::gen::arbitrary<std::uint64_t>() & ones(8 * v.size);
    const auto bits = *rc::gen::inRange(0u, 8 * v.size + 1);
    const auto minimum = *rc::gen::arbitrary<std::uint64_t>();
    const auto distances = any_distances(bits);
    v.elements = static_cast<std::uint32_t>(distances.size());
    Bytes plain, stored = stream(bits, minimum, distances);
    const bool full = bits == 8 * v.size;
    if (full) stored.resize(21);  // then the elements themselves follow, in the machine's order
    for (const std::uint64_t distance : distances) {
      const std::uint64_t value = full                                      ? distance
                                  : v.filled != 0 && distance == ones(bits) ? v.fill
                                                                            : distance + minimum;
      put_number(plain, value, v.size, v.big_endian != 0);
      if (full) put_number(stored, distance, v.size, std::endian::native == std::endian::big);
    }
    const auto codec = made(v);
    RC_ASSERT(stored.size() <= codec->max_encoded_size(plain.size()));
    expect_decodes(*codec, stored, plain);
  }));
}

// What H5Zscaleoffset.c computes, with its casts.
template <class Float, class Int>
Float from_decimal(std::uint64_t distance, Float minimum, int decimals) {
  return static_cast<Float>(static_cast<Int>(distance)) / std::pow(Float{10}, static_cast<Float>(decimals)) + minimum;
}

TEST(ScaleOffset, FloatsByDecimals) {
  EXPECT_TRUE(rc::check("distance over 10^D and minimum, or the fill value", [] {
    Values v;
    v.how = 0;
    v.floating = 1;
    v.size = *rc::gen::element(4u, 8u);
    v.big_endian = *rc::gen::inRange(0u, 2u);
    v.filled = *rc::gen::inRange(0u, 2u);
    const int decimals = *rc::gen::inRange(-5, 12);
    v.factor = static_cast<std::uint32_t>(decimals);
    const double minimum = *rc::gen::inRange(-1'000'000, 1'000'000) / 7.0, fill = -999.5;
    const auto bits = *rc::gen::inRange(0u, 8 * v.size);
    const auto distances = any_distances(bits);
    v.elements = static_cast<std::uint32_t>(distances.size());
    const bool single = v.size == 4;
    const auto bits_of = [&](double x) -> std::uint64_t {
      return single ? std::bit_cast<std::uint32_t>(static_cast<float>(x)) : std::bit_cast<std::uint64_t>(x);
    };
    v.fill = bits_of(fill);
    Bytes plain;
    for (const std::uint64_t distance : distances) {
      const double value = v.filled != 0 && distance == ones(bits) ? fill
                           : single ? from_decimal<float, std::int32_t>(distance, static_cast<float>(minimum), decimals)
                                    : from_decimal<double, std::int64_t>(distance, minimum, decimals);
      put_number(plain, bits_of(value), v.size, v.big_endian != 0);
    }
    expect_decodes(*made(v), stream(bits, bits_of(minimum), distances), plain);
  }));
}

TEST(ScaleOffset, NoDistancesMeanOneValueOrTheFillValue) {
  const Values v{.elements = 3};
  expect_decodes(*made(v), stream(0, ~std::uint64_t{0}, {0, 0, 0}), Bytes(12, std::byte{0xff}));
  const Values filled{.elements = 3, .filled = 1, .fill = 0x01010101};
  expect_decodes(*made(filled), stream(0, 5, {0, 0, 0}), Bytes(12, std::byte{1}));
}

TEST(ScaleOffset, AllBitsGivenMeansNothingIsDone) {
  const auto codec = made({.factor = 32, .elements = 10, .big_endian = 1});
  const Bytes plain = random_bytes(40, 1);
  expect_decodes(*codec, plain, plain);
  EXPECT_EQ(codec->encoded_size(40), 40u);
  EXPECT_EQ(expect_refused(*codec, std::span(plain).first(39), 40).message(), "the stream has 39 bytes, 40 expected");
}

TEST(ScaleOffset, SettingsReadWell) {
  EXPECT_EQ(made({.elements = 1})->setting(), "");
  EXPECT_EQ(made({.factor = 7, .elements = 1})->setting(), "7");
  EXPECT_EQ(made({.factor = static_cast<std::uint32_t>(-3), .elements = 1})->setting(), "") << "libhdf5 takes it for 0";
  EXPECT_EQ(made({.how = 0, .factor = 3, .elements = 1, .floating = 1})->setting(), "3");
  EXPECT_EQ(made({.how = 0, .factor = static_cast<std::uint32_t>(-2), .elements = 1, .floating = 1})->setting(), "-2");
}

TEST(ScaleOffset, RefusesParametersThatContradictTheArray) {
  const Values sound{.elements = 10};
  const ChunkForm form{40, 4};
  const auto refusal = [&](std::size_t index, std::uint32_t value) {
    auto values = client_values(sound);
    values[index] = value;
    auto codec = make_codec({"scaleoffset", values}, form);
    EXPECT_FALSE(codec.ok()) << index << " = " << value;
    return codec.ok() ? Error(ErrorCode::kInternal, "made") : codec.error();
  };
  for (const auto& [index, value] : std::vector<std::pair<std::size_t, std::uint32_t>>{{0, 0},
                                                                                       {0, 1},
                                                                                       {0, 3},
                                                                                       {1, 33},
                                                                                       {1, 0x7fffffff},
                                                                                       {2, 0},
                                                                                       {2, 9},
                                                                                       {2, 11},
                                                                                       {2, 0x4000000a},
                                                                                       {3, 1},
                                                                                       {3, 2},
                                                                                       {4, 0},
                                                                                       {4, 2},
                                                                                       {4, 3},
                                                                                       {4, 8},
                                                                                       {4, 0xffffffff},
                                                                                       {5, 2},
                                                                                       {6, 2},
                                                                                       {7, 2}})
    EXPECT_EQ(refusal(index, value).code(), ErrorCode::kCorruptData) << index << " = " << value;
  EXPECT_EQ(refusal(2, 9).message(), "the parameters say 9 elements of 4 bytes, a chunk has 40 bytes in elements of 4");
  EXPECT_EQ(refusal(1, 33).message(), "33 bits for integers of 4 bytes");
  for (const std::size_t count : {0, 7, 19, 21}) {
    auto values = client_values(sound);
    values.resize(count);
    EXPECT_EQ(make_codec({"scaleoffset", values}, form).error().code(), ErrorCode::kCorruptData) << count;
  }
  for (const std::uint32_t size : {1u, 2u})
    EXPECT_EQ(make({.how = 0, .elements = 10, .floating = 1, .size = size}).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(make({.how = 1, .elements = 10, .floating = 1}).error().code(), ErrorCode::kUnsupported) << "E-scale";
}

TEST(ScaleOffset, SaysWhatIsWrongWithAStream) {
  const auto codec = made({.elements = 10});
  const auto message = [&](const Bytes& stored) { return expect_refused(*codec, stored, 40).message(); };
  EXPECT_EQ(message(Bytes(20)), "20 bytes cannot hold the header of 21");
  EXPECT_EQ(message(head(33, 0)), "the header says 33 bits for elements of 4 bytes");
  EXPECT_EQ(message(head(0xffffffff, 0)), "the header says 4294967295 bits for elements of 4 bytes");
  EXPECT_EQ(message(head(3, 0, 255)), "the header says a minimum of 255 bytes");
  EXPECT_EQ(message(head(3, 0)), "the stream has 21 bytes, 25 needed");
  EXPECT_EQ(message(head(32, 0)), "the stream has 21 bytes, 61 needed");
  EXPECT_EQ(expect_refused(*codec, head(0, 0), 39).message(), "chunks of 40 bytes where 39 are expected");
}

TEST(ScaleOffset, NoticesEveryTruncationAndSurvivesDamage) {
  for (const std::uint32_t bits : {0u, 1u, 13u, 31u, 32u}) {
    const std::vector<std::uint64_t> distances(100, ones(bits) / 2);
    const Values v{.elements = 100, .filled = 1, .fill = 9};
    const auto codec = made(v);
    Bytes stored = stream(bits, 70, distances);
    auto plain = decode(*codec, stored, 400);
    ASSERT_TRUE(plain.ok()) << plain.error().what();
    expect_survives_damage(*codec, stored, *plain);
    stored.resize(21 + (100 * bits + 7) / 8);
    expect_decodes(*codec, stored, *plain);
    for (std::size_t size = 0; size < stored.size(); ++size) expect_refused(*codec, std::span(stored).first(size), 400);
  }
}

TEST(ScaleOffset, RandomParametersAndStreamsStayInBounds) {
  EXPECT_TRUE(rc::check("any parameters, mostly sound", [] {
    Values v{.elements = *rc::gen::inRange(0u, 200u)};
    v.size = *rc::gen::element(1u, 2u, 4u, 8u);
    auto values = client_values(v);
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
      values[*rc::gen::inRange<std::size_t>(0, 20)] =
          *rc::gen::oneOf(rc::gen::inRange(0u, 70u), rc::gen::arbitrary<std::uint32_t>());
    auto codec = make_codec({"scaleoffset", values}, {std::uint64_t{v.elements} * v.size, v.size});
    if (!codec.ok()) return;
    Bytes stored = random_bytes(*rc::gen::inRange<std::size_t>(0, 2000), *rc::gen::arbitrary<std::uint32_t>());
    const Bytes begin = head(*rc::gen::inRange(0u, 66u), *rc::gen::arbitrary<std::uint64_t>());
    std::copy_n(begin.begin(), std::min(begin.size(), stored.size()), stored.begin());
    const auto decoded = decode(**codec, stored, std::size_t{v.elements} * v.size);
    if (decoded.ok()) RC_ASSERT(decoded->size() == std::size_t{v.elements} * v.size);
  }));
}

}  // namespace
}  // namespace headrace
