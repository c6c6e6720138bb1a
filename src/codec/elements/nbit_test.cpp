#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "codec/elements/bit_writer_testing.h"

namespace headrace {
namespace {

/// A datatype as the client values describe it, by its definition.
struct Type {
  enum Kind : std::uint32_t { kNumber = 1, kArray = 2, kRecord = 3, kBytes = 4 };
  Kind kind = kNumber;
  std::uint32_t size = 4, big_endian = 0, precision = 32, shift = 0;
  std::vector<std::pair<std::uint32_t, Type>> parts = {};  // offset and type; an array has all of its entries

  void add_to(std::vector<std::uint32_t>& values) const {
    values.insert(values.end(), {kind, size});
    if (kind == kNumber) values.insert(values.end(), {big_endian, precision, shift});
    if (kind == kArray) parts[0].second.add_to(values);
    if (kind != kRecord) return;
    values.push_back(static_cast<std::uint32_t>(parts.size()));
    for (const auto& [offset, type] : parts) {
      values.push_back(offset);
      type.add_to(values);
    }
  }

  /// Write what is significant of `element`, and copy only that to `kept`.
  void encode(const std::byte* element, BitWriter& stream, std::byte* kept) const {
    for (const auto& [offset, type] : parts) type.encode(element + offset, stream, kept + offset);
    if (kind == kBytes) {
      for (std::uint32_t i = 0; i < size; ++i) stream.put(std::to_integer<unsigned>(kept[i] = element[i]), 8);
    }
    if (kind != kNumber) return;
    for (std::uint32_t bit = shift + precision; bit-- > shift;) {
      const std::uint32_t byte = big_endian != 0 ? size - 1 - bit / 8 : bit / 8;
      const std::byte mask{static_cast<std::uint8_t>(1u << bit % 8)};
      stream.put((element[byte] & mask) != std::byte{0} ? 1 : 0, 1);
      kept[byte] |= element[byte] & mask;
    }
  }
};

Type number(std::uint32_t size, std::uint32_t precision, std::uint32_t shift, bool big_endian = false) {
  return {.size = size, .big_endian = big_endian ? 1u : 0u, .precision = precision, .shift = shift};
}
Type raw(std::uint32_t size) {
  return {.kind = Type::kBytes, .size = size};
}
Type array(const Type& entry, std::uint32_t count) {
  Type made{.kind = Type::kArray, .size = entry.size * count};
  for (std::uint32_t i = 0; i < count; ++i) made.parts.emplace_back(i * entry.size, entry);
  return made;
}
Type record(std::uint32_t size, std::vector<std::pair<std::uint32_t, Type>> members) {
  return {.kind = Type::kRecord, .size = size, .parts = std::move(members)};
}

Type any_type(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 3);
  if (kind < 2) {
    const auto size = *rc::gen::oneOf(rc::gen::element(1u, 2u, 4u, 8u), rc::gen::inRange(1u, 18u));
    const auto precision = *rc::gen::oneOf(rc::gen::just(8 * size), rc::gen::inRange(1u, 8 * size + 1));
    return number(size, precision, *rc::gen::inRange(0u, 8 * size - precision + 1), *rc::gen::arbitrary<bool>());
  }
  if (kind == 2) return raw(*rc::gen::inRange(1u, 10u));
  if (kind == 3) return array(any_type(depth - 1), *rc::gen::inRange(1u, 5u));
  std::vector<std::pair<std::uint32_t, Type>> members;
  std::uint32_t end = 0;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const std::uint32_t at = end + *rc::gen::inRange(0u, 3u);
    members.emplace_back(at, any_type(depth - 1));
    end = at + members.back().second.size;
  }
  if (*rc::gen::arbitrary<bool>()) std::swap(members.front(), members.back());
  return record(end + *rc::gen::inRange(0u, 3u), std::move(members));
}

/// Return the type of a dataset: one of bytes only has nothing to do.
Type any_type() {
  const Type type = any_type(4);
  return type.kind == Type::kBytes ? record(type.size, {{0, type}}) : type;
}

std::vector<std::uint32_t> client_values(const Type& type, std::uint32_t elements) {
  std::vector<std::uint32_t> values{0, 0, elements};
  type.add_to(values);
  values[0] = static_cast<std::uint32_t>(values.size());
  return values;
}

Result<std::unique_ptr<Codec>> make(const std::vector<std::uint32_t>& values, std::uint64_t element_bytes) {
  return make_codec({"nbit", values}, {values[2] * element_bytes, element_bytes});
}

struct Chunk {
  std::unique_ptr<Codec> codec;
  Bytes stored, plain;
};

Chunk chunk_of(const Type& type, std::uint32_t elements, std::uint32_t seed) {
  const Bytes data = random_bytes(std::size_t{type.size} * elements, seed);
  Chunk chunk;
  chunk.plain.resize(data.size());
  BitWriter stream;
  for (std::uint32_t i = 0; i < elements; ++i)
    type.encode(data.data() + i * type.size, stream, chunk.plain.data() + i * type.size);
  chunk.stored = stream.bytes();
  auto codec = make(client_values(type, elements), type.size);
  EXPECT_TRUE(codec.ok()) << codec.error().what();
  if (codec.ok()) chunk.codec = std::move(*codec);
  return chunk;
}

TEST(NBit, NumbersOfEveryPrecision) {
  for (const std::uint32_t size : {1u, 2u, 3u, 4u, 8u, 9u})
    for (std::uint32_t precision = 1; precision <= 8 * size; ++precision)
      for (const std::uint32_t shift : {0u, 1u, (8 * size - precision) / 2, 8 * size - precision})
        for (const bool big_endian : {false, true}) {
          if (precision + shift > 8 * size) continue;
          SCOPED_TRACE(::testing::Message()
                       << size << " bytes, " << precision << " bits above " << shift << ", big-endian " << big_endian);
          const Chunk chunk = chunk_of(number(size, precision, shift, big_endian), 5, precision);
          expect_decodes(*chunk.codec, chunk.stored, chunk.plain);
          EXPECT_EQ(chunk.codec->setting(), std::to_string(precision));
        }
}

TEST(NBit, AnyDatatype) {
  EXPECT_TRUE(rc::check("records and arrays of each other", [] {
    const Type type = any_type();
    const auto elements = *rc::gen::inRange(0u, 6u);
    Chunk chunk = chunk_of(type, elements, 1);
    expect_decodes(*chunk.codec, chunk.stored, chunk.plain);
    if (!chunk.stored.empty())
      expect_refused(*chunk.codec, std::span(chunk.stored).first(chunk.stored.size() - 1), chunk.plain.size());
    chunk.stored.push_back(std::byte{0x5a});  // as libhdf5 adds a byte
    RC_ASSERT(chunk.stored.size() <= chunk.codec->max_encoded_size(chunk.plain.size()));
    expect_decodes(*chunk.codec, chunk.stored, chunk.plain);
  }));
}

TEST(NBit, NothingToDoMeansTheBytesAreStoredAsTheyAre) {
  const Bytes plain = random_bytes(40, 1);
  for (const std::vector<std::uint32_t>& values : {std::vector<std::uint32_t>{3, 1, 10},  // enumerations have no type
                                                   {8, 1, 10, 1, 4, 0, 32, 0}}) {
    auto codec = make(values, 4);
    ASSERT_TRUE(codec.ok()) << codec.error().what();
    EXPECT_EQ((*codec)->encoded_size(40), 40u);
    EXPECT_EQ((*codec)->setting(), "");
    expect_decodes(**codec, plain, plain);
    EXPECT_EQ(expect_refused(**codec, std::span(plain).first(39), 40).message(), "the stream has 39 bytes, 40 needed");
  }
}

TEST(NBit, RefusesDatatypesThatMakeNoSense) {
  const auto refusal = [](std::vector<std::uint32_t> type, std::uint64_t element_bytes) {
    std::vector<std::uint32_t> values{static_cast<std::uint32_t>(type.size()) + 3, 0, 10};
    values.insert(values.end(), type.begin(), type.end());
    auto codec = make(values, element_bytes);
    EXPECT_FALSE(codec.ok());
    if (codec.ok()) return std::string("made");
    EXPECT_EQ(codec.error().code(), ErrorCode::kCorruptData);
    return codec.error().message();
  };
  const std::string senseless = "the parameters describe no datatype that there can be";
  for (const std::vector<std::uint32_t>& type : std::vector<std::vector<std::uint32_t>>{
           {},
           {1},
           {0, 4, 0, 32, 0},
           {5, 4, 0, 32, 0},
           {4, 4},               // libhdf5 calls this "nothing to do"
           {1, 4, 0, 32},        // ends early
           {1, 4, 0, 32, 0, 0},  // goes on
           {1, 0, 0, 0, 0},      // no bytes
           {1, 4, 2, 32, 0},     // no such order
           {1, 4, 0, 0, 0},      // no bits
           {1, 4, 0, 33, 0},     // more bits than there are
           {1, 4, 0, 32, 1},
           {1, 4, 0, 1, 0xffffffff},  // would overflow
           {2, 4, 1, 3, 0, 24, 0},    // no whole number of entries
           {2, 4, 1, 8, 0, 24, 0},    // an entry larger than the array
           {2, 4, 2, 4, 4},
           {3, 4, 0},                     // no members
           {3, 4, 0xffffffff},            // more than there are values
           {3, 4, 1, 1, 1, 4, 0, 32, 0},  // past the end of the record
           {3, 4, 1, 0xffffffff, 1, 4, 0, 32, 0},
           {3, 4, 2, 0, 1, 2, 0, 16, 0, 1, 1, 2, 0, 16, 0},          // overlap
           {3, 4, 2, 1, 1, 2, 0, 16, 0, 0, 1, 2, 0, 16, 0},          // overlap, in another order
           {3, 4, 2, 0, 1, 2, 0, 16, 0, 0, 4, 1},                    // in the same place
           {3, 8, 1, 0, 2, 8, 3, 4, 2, 0, 1, 2, 0, 9, 0, 0, 4, 2}})  // overlap, deeper
    EXPECT_EQ(refusal(type, 4), senseless) << ::testing::PrintToString(type);
  EXPECT_EQ(refusal({1, 2, 0, 9, 0}, 4), "the parameters describe elements of 2 bytes, the array has 4");
  EXPECT_EQ(refusal({1, 8, 0, 9, 0}, 4), "the parameters describe elements of 8 bytes, the array has 4");
}

TEST(NBit, RefusesTypesThatAreTooDeep) {
  const auto nested = [](std::size_t depth) {
    std::vector<std::uint32_t> values{0, 0, 3};
    for (std::size_t i = 0; i < depth; ++i) values.insert(values.end(), {Type::kArray, 1});
    values.insert(values.end(), {Type::kNumber, 1, 0, 5, 0});
    values[0] = static_cast<std::uint32_t>(values.size());
    return make(values, 1);
  };
  EXPECT_TRUE(nested(16).ok());
  EXPECT_EQ(nested(17).error().code(), ErrorCode::kCorruptData);
  EXPECT_EQ(nested(1'000'000).error().code(), ErrorCode::kCorruptData) << "and the stack holds";
}

TEST(NBit, RefusesAnotherNumberOfElementsOrParameters) {
  const std::vector<std::uint32_t> sound = client_values(number(4, 17, 3), 10);
  const auto refusal = [&](std::size_t index, std::uint32_t value) {
    auto values = sound;
    values[index] = value;
    auto codec = make_codec({"nbit", values}, {40, 4});
    EXPECT_FALSE(codec.ok());
    return codec.ok() ? std::string("made") : codec.error().message();
  };
  EXPECT_EQ(refusal(0, 7), "8 parameters, 7 expected");
  EXPECT_EQ(refusal(0, 0xffffffff), "8 parameters, 4294967295 expected");
  EXPECT_EQ(refusal(1, 2), "'nothing to do' is 2, not 0 or 1");
  EXPECT_EQ(refusal(2, 11), "the parameters say 11 elements, a chunk has 40 bytes in elements of 4");
  EXPECT_EQ(refusal(2, 0x4000000a), "the parameters say 1073741834 elements, a chunk has 40 bytes in elements of 4");
  for (const std::vector<std::uint32_t>& values : {std::vector<std::uint32_t>{}, {1}, {2, 1}})
    EXPECT_EQ(make_codec({"nbit", values}, {40, 4}).error().code(), ErrorCode::kCorruptData);
}

TEST(NBit, NoticesEveryTruncationAndSurvivesDamage) {
  const Type type = record(14, {{0, number(4, 17, 3, true)}, {5, array(number(2, 9, 0), 3)}, {11, raw(2)}});
  const Chunk chunk = chunk_of(type, 20, 4);
  expect_survives_damage(*chunk.codec, chunk.stored, chunk.plain);
  for (std::size_t size = 0; size < chunk.stored.size(); ++size)
    expect_refused(*chunk.codec, std::span(chunk.stored).first(size), chunk.plain.size());
  EXPECT_EQ(expect_refused(*chunk.codec, {}, 280).message(), "the stream has 0 bytes, 150 needed");
  EXPECT_EQ(expect_refused(*chunk.codec, chunk.stored, 279).message(), "chunks of 280 bytes where 279 are expected");
}

TEST(NBit, RandomParametersStayInBounds) {
  EXPECT_TRUE(rc::check("sound ones with some changed", [] {
    const Type type = any_type();
    const auto elements = *rc::gen::inRange(0u, 6u);
    auto values = client_values(type, elements);
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
      values[*rc::gen::inRange<std::size_t>(0, values.size())] =
          *rc::gen::oneOf(rc::gen::inRange(0u, 20u), rc::gen::arbitrary<std::uint32_t>());
    const std::size_t size = std::size_t{type.size} * elements;
    auto codec = make_codec({"nbit", values}, {size, type.size});
    if (!codec.ok()) return;
    const auto decoded = decode(**codec, random_bytes(*rc::gen::inRange<std::size_t>(0, 300), 3), size);
    if (decoded.ok()) RC_ASSERT(decoded->size() == size);
  }));
}

}  // namespace
}  // namespace headrace
