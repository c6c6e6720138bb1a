#include "format/parquet/compact_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "format/parquet/parquet_testing.h"

namespace headrace::parquet {
namespace {

using Type = CompactType;

/// A struct with a field of every type, some of them nested, and what it holds.
Bytes every_type() {
  CompactWriter out;
  out.truth(1, true).truth(2, false);
  out.head(3, Type::kByte).bytes.push_back(std::byte{0xfe});
  out.number(4, -32768, Type::kI16).number(5, 2147483647).long_number(6, INT64_MIN);
  append(out.head(7, Type::kDouble).bytes, bytes_of(1.5));
  out.text(8, "text").list(9, Type::kI32, 20);
  for (int i = 0; i < 20; ++i) out.entry(std::int64_t{i} * -1000);
  out.begin(30).number(1, 1).begin(2).text(1, "inner").end().end();  // a step beyond 15
  out.head(10, Type::kSet).bytes.push_back(std::byte{0x21});         // a step back; two truth values
  append(out.bytes, bytes_of(std::uint16_t{0x0201}));
  out.head(11, Type::kMap).varint(1).bytes.push_back(std::byte{0x8b});  // a text to a map
  out.entry("key").varint(0);
  append(out.head(12, Type::kUuid).bytes, Bytes(16));
  out.list(13, Type::kList, 2).bytes.push_back(std::byte{0});
  out.bytes.push_back(std::byte{0x13});
  out.bytes.push_back(std::byte{7});
  out.number(14, 99).end();
  return out.bytes;
}

struct EveryType {
  std::vector<std::int64_t> numbers, entries;
  std::string texts;
  bool yes = false, no = true;
};

EveryType read_every_type(CompactReader& in) {
  EveryType found;
  in.read_struct([&](int id, Type type) {
    if (id == 1) found.yes = in.boolean(type);
    if (id == 2) found.no = in.boolean(type);
    if ((id >= 3 && id <= 6) || id == 14) found.numbers.push_back(in.integer(type));
    if (id == 8) found.texts += in.binary(type);
    if (id == 9)
      in.read_list(type, Type::kI32, [&](std::size_t i) {
        EXPECT_EQ(i, found.entries.size());
        found.entries.push_back(in.integer(Type::kI32));
      });
    if (id == 30)
      in.read_struct([&](int inner, Type) {
        if (inner != 2) return false;
        in.read_struct([&](int, Type text) {
          found.texts += in.binary(text);
          return true;
        });
        return true;
      });
    return id <= 6 || id == 8 || id == 9 || id == 14 || id == 30;
  });
  return found;
}

TEST(CompactReader, EveryTypeIsReadOrSkipped) {
  const Bytes bytes = every_type();
  CompactReader in(bytes);
  const EveryType found = read_every_type(in);
  ASSERT_TRUE(in.ok()) << in.error();
  EXPECT_EQ(in.position(), bytes.size());
  EXPECT_EQ(found.numbers, (std::vector<std::int64_t>{-2, -32768, 2147483647, INT64_MIN, 99}));
  EXPECT_EQ(found.texts, "textinner");
  ASSERT_EQ(found.entries.size(), 20U);
  EXPECT_EQ(found.entries[19], -19000);
  EXPECT_TRUE(found.yes && !found.no);
  CompactReader skipping(bytes);
  skipping.skip(Type::kStruct);
  EXPECT_TRUE(skipping.ok()) << skipping.error();
  EXPECT_EQ(skipping.position(), bytes.size());
}

TEST(CompactReader, EveryCutIsAnEarlyEnd) {
  const Bytes bytes = every_type();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::span cut(bytes.data(), size);
    CompactReader reading(cut), skipping(cut);
    read_every_type(reading);
    skipping.skip(Type::kStruct);
    EXPECT_TRUE(!reading.ok() && reading.ended_early()) << size << ": " << reading.error();
    EXPECT_TRUE(!skipping.ok() && skipping.ended_early()) << size << ": " << skipping.error();
    EXPECT_LE(reading.position(), size);
  }
}

/// The error of reading field 1 of some bytes; `read` is given its type.
std::string compact_error(const Bytes& bytes, const std::function<void(CompactReader&, Type)>& read) {
  CompactReader in(bytes);
  in.read_struct([&](int, Type type) {
    read(in, type);
    return true;
  });
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(in.ended_early()) << in.error();
  return in.error();
}

TEST(CompactReader, AbsurdLengthsAreDamage) {
  const auto read_list = [](CompactReader& in, Type type) {
    in.read_list(type, Type::kI32, [](std::size_t) { ADD_FAILURE() << "an entry"; });
  };
  const auto read_text = [](CompactReader& in, Type type) { EXPECT_EQ(in.binary(type), ""); };
  for (const std::uint64_t count : {std::uint64_t{1} << 30, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    CompactWriter list, text;
    list.list(1, Type::kI32, 15).bytes.pop_back();
    append_varint(list.bytes, count);
    EXPECT_NE(compact_error(list.bytes, read_list).find("a list of "), std::string::npos);
    text.head(1, Type::kBinary).varint(count << 2 | 3);
    EXPECT_NE(compact_error(text.bytes, read_text).find("a text of "), std::string::npos);
  }
  const Bytes long_number{std::byte{0x16}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                          std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                          std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  EXPECT_NE(compact_error(long_number, [](CompactReader& in, Type type) { in.integer(type); }).find("ten bytes"),
            std::string::npos);
}

TEST(CompactReader, OtherTypesAndNumbersThanMustBeAreDamage) {
  const auto number = [](CompactReader& in, Type type) { EXPECT_EQ(in.integer(type), 0); };
  const auto none = [](CompactReader& in, Type type) { EXPECT_EQ(in.count(type, 7), 0U); };
  EXPECT_NE(compact_error(CompactWriter().number(1, 40000, Type::kI16).end().bytes, number).find("beyond its 16 bits"),
            std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().number(1, INT64_MIN).end().bytes, number).find("beyond its 32 bits"),
            std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().text(1, "").end().bytes, number).find("no number"), std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().number(1, 8).end().bytes, none).find("8 where a number from 0 to 7"),
            std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().number(1, -1).end().bytes, none).find("-1 where"), std::string::npos);
  const Bytes one = CompactWriter().number(1, 1).end().bytes;
  EXPECT_NE(compact_error(one, [](CompactReader& in, Type type) { in.boolean(type); }).find("truth"),
            std::string::npos);
  EXPECT_NE(compact_error(one, [](CompactReader& in, Type type) { in.binary(type); }).find("no text"),
            std::string::npos);
  const auto list = [](CompactReader& in, Type type) { in.read_list(type, Type::kI64, [](std::size_t) {}); };
  EXPECT_NE(compact_error(one, list).find("no list"), std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().list(1, Type::kI32, 1).entry(5).end().bytes, list).find("another type"),
            std::string::npos);
  const Bytes unknown{std::byte{0x1e}};
  EXPECT_NE(compact_error(unknown, number).find("unknown type 14"), std::string::npos);
  EXPECT_NE(compact_error(CompactWriter().number(40000, 1).bytes, number).find("field number"), std::string::npos);
}

TEST(CompactReader, DeepNestingIsDamage) {
  const auto nested = [](int depth) {
    CompactWriter out;
    for (int i = 1; i < depth; ++i) out.begin(1);
    for (int i = 0; i < depth; ++i) out.end();
    return out.bytes;
  };
  for (const int depth : {32, 33, 20'000}) {
    const Bytes bytes = nested(depth);
    CompactReader in(bytes);
    in.skip(Type::kStruct);
    EXPECT_EQ(in.ok(), depth <= 32) << depth;
  }
  Bytes lists{std::byte{0x19}};
  lists.resize(20'000, std::byte{0x19});  // lists of one list each
  CompactReader in(lists);
  in.skip(Type::kStruct);
  EXPECT_NE(in.error().find("nested deeper than 32"), std::string::npos);
}

TEST(CompactReader, AFailureStays) {
  const Bytes bytes = every_type();
  CompactReader in(bytes);
  in.fail("for a reason");
  in.fail("for another one");
  EXPECT_EQ(in.error(), "for a reason (byte 0 of its metadata)");
  EXPECT_FALSE(in.ended_early());
  EXPECT_EQ(in.integer(Type::kI64), 0);
  EXPECT_EQ(in.binary(Type::kBinary), "");
  in.read_struct([](int, Type) {
    ADD_FAILURE() << "a field";
    return true;
  });
  EXPECT_EQ(in.position(), 0U);
}

}  // namespace
}  // namespace headrace::parquet
