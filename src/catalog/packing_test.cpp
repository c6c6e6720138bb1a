#include "catalog/packing.h"

#include <gtest/gtest.h>

#include "catalog/attribute_bytes.h"

namespace headrace {
namespace {

TEST(Packing, ScaleShiftAndMissingValues) {
  const Attributes attributes{{{"scale_factor", 0.01},
                               {"add_offset", std::int64_t{273}},
                               {"_FillValue", std::int64_t{-32767}},
                               {"missing_value", std::vector<std::int64_t>{-32767, -1}},
                               {"units", "K"}},
                              {}};
  const auto packing = packing_of(attributes);
  ASSERT_TRUE(packing);
  EXPECT_EQ(packing->scale, 0.01);
  EXPECT_EQ(packing->shift, 273);
  EXPECT_EQ(packing->missing, (std::vector<double>{-32767, -1}));
  EXPECT_EQ(unpacking_text("t2m", *packing), "T.Affine('t2m', scale=0.01, shift=273, missing=[-32767, -1])");
}

TEST(Packing, ValuesThatAreNotPacked) {
  EXPECT_FALSE(packing_of({}));
  EXPECT_FALSE(packing_of({{{"_FillValue", std::int64_t{0}}, {"units", "K"}}, {}}));
  EXPECT_FALSE(packing_of({{{"scale_factor", "a text"}}, {}}));
}

TEST(AttributeBytes, EveryKindComesBack) {
  const Attributes attributes{{{"", true},
                               {"i", std::int64_t{-7}},
                               {"u", ~std::uint64_t{0}},
                               {"d", -0.1},
                               {"t", std::string("a\0b", 3)},
                               {"is", std::vector<std::int64_t>{-1, 1LL << 62}},
                               {"ds", std::vector<double>{1e300, 0.5}},
                               {"ts", std::vector<std::string>{"", "x"}}},
                              {{"lost", "why"}}};
  PackedWriter out;
  pack(attributes, out);
  PackedReader in(out.bytes());
  EXPECT_EQ(unpack_attributes(in), attributes);
  EXPECT_TRUE(in.complete());
  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    PackedReader cut(std::string_view(out.bytes()).substr(0, size));
    unpack_attributes(cut);
    EXPECT_FALSE(cut.ok()) << size;
  }
}

TEST(AttributeText, OfEveryKind) {
  EXPECT_EQ(text_of(true), "true");
  EXPECT_EQ(text_of(std::int64_t{-7}), "-7");
  EXPECT_EQ(text_of(0.1), "0.1");
  EXPECT_EQ(text_of(std::string("GeV")), "GeV");
  EXPECT_EQ(text_of(std::vector<double>{1.5, -2}), "[1.5, -2]");
  EXPECT_EQ(text_of(std::vector<std::string>{"a", "b"}), "[a, b]");
}

}  // namespace
}  // namespace headrace
