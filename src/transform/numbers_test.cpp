// Conversions against what the formats say: a value is sign, exponent and fraction, and rounding goes to the nearest of
// two neighbours.
#include "transform/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace headrace {
namespace {

using Kind = DType::Kind;
constexpr DType kHalf{Kind::kFloat, 2}, kBFloat{Kind::kBFloat, 2};

/// The value of 16 bits with so many of the exponent and of the fraction, by their definition.
double value_of_bits(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, all = (1 << exponent_bits) - 1;
  const int exponent = bits >> fraction_bits & all, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == all) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

template <class C>
std::uint16_t stored(const DType& type, C value) {
  std::uint16_t bits = 0;
  store_numbers(type, &value, 1, reinterpret_cast<std::byte*>(&bits));
  return bits;
}

struct Format {
  DType type;
  int exponent_bits, fraction_bits;
  [[nodiscard]] double value(std::uint32_t bits) const {
    return value_of_bits(static_cast<std::uint16_t>(bits), exponent_bits, fraction_bits);
  }
  [[nodiscard]] std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
};
constexpr Format kFormats[] = {{kHalf, 5, 10}, {kBFloat, 8, 7}};

TEST(Numbers, EveryValueOf16BitsIsReadAndComesBack) {
  for (const Format& format : kFormats)
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const double want = format.value(bits);
      float as_float = 1;
      double as_double = 1;
      load_numbers(format.type, reinterpret_cast<const std::byte*>(&half), 1, &as_float);
      load_numbers(format.type, reinterpret_cast<const std::byte*>(&half), 1, &as_double);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(as_float) && std::isnan(as_double)) << bits;
        ASSERT_TRUE(std::isnan(format.value(stored(format.type, as_float)))) << bits;
        ASSERT_TRUE(std::isnan(format.value(stored(format.type, as_double)))) << bits;
        continue;
      }
      ASSERT_EQ(as_float, want) << bits;
      ASSERT_EQ(as_double, want) << bits;
      ASSERT_EQ(std::signbit(as_float), std::signbit(want)) << bits;
      ASSERT_EQ(stored(format.type, as_float), half);
      ASSERT_EQ(stored(format.type, as_double), half);
    }
}

/// What lies between two neighbours goes to the nearer one, what lies in the middle to the even one.
template <class C>
void expect_nearest(const Format& format) {
  for (std::uint32_t bits = 0; bits < format.infinity(); ++bits) {
    const double low = format.value(bits);
    // The neighbour of the largest would be a power of two, which stands for infinity.
    const double high = bits + 1 == format.infinity() ? low + (low - format.value(bits - 1)) : format.value(bits + 1);
    const auto middle = static_cast<C>(low + (high - low) / 2);
    ASSERT_EQ(static_cast<double>(middle), low + (high - low) / 2);  // exact as C
    const C below = std::nextafter(middle, C{0}), above = std::nextafter(middle, std::numeric_limits<C>::infinity());
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const C s = sign != 0 ? C{-1} : C{1};
      ASSERT_EQ(stored(format.type, s * middle), even | sign) << bits;
      ASSERT_EQ(stored(format.type, s * below), bits | sign) << bits;
      ASSERT_EQ(stored(format.type, s * above), (bits + 1) | sign) << bits;
    }
  }
  for (const C large : {std::numeric_limits<C>::max(), std::numeric_limits<C>::infinity()}) {
    EXPECT_EQ(stored(format.type, large), format.infinity());
    EXPECT_EQ(stored(format.type, -large), format.infinity() | 0x8000u);
  }
  EXPECT_EQ(stored(format.type, -std::numeric_limits<C>::denorm_min()), 0x8000u);
}

TEST(Numbers, NanStaysNan) {  // also one whose fraction is in the bits that are dropped
  for (const std::uint32_t bits : {0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0xFFFFFFFFu})
    for (const Format& format : kFormats)
      EXPECT_TRUE(std::isnan(format.value(stored(format.type, std::bit_cast<float>(bits))))) << bits;
}

TEST(Numbers, RoundsFloatsToTheNearest) {
  for (const Format& format : kFormats) expect_nearest<float>(format);
}
TEST(Numbers, RoundsDoublesOnce) {  // by way of float, what is a little off the middle would lie in the middle
  for (const Format& format : kFormats) expect_nearest<double>(format);
}

template <class T, class C>
void expect_integers(const DType& type) {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const auto made = [&](C value) {
    T out{};
    store_numbers(type, &value, 1, reinterpret_cast<std::byte*>(&out));
    return out;
  };
  constexpr C kInfinity = std::numeric_limits<C>::infinity();
  EXPECT_EQ(made(static_cast<C>(2.9)), T{2});
  EXPECT_EQ(made(static_cast<C>(0.9)), T{0});
  EXPECT_EQ(made(static_cast<C>(-0.9)), T{0});
  EXPECT_EQ(made(static_cast<C>(-2.9)), std::is_signed_v<T> ? static_cast<T>(-2) : T{0});
  EXPECT_EQ(made(std::numeric_limits<C>::quiet_NaN()), T{0});
  EXPECT_EQ(made(kInfinity), most);
  EXPECT_EQ(made(-kInfinity), least);
  EXPECT_EQ(made(static_cast<C>(most)), most);
  EXPECT_EQ(made(static_cast<C>(least)), least);
  // The largest C below the upper limit, and what lies one C beyond both.
  C inside = static_cast<C>(most);
  if (static_cast<long double>(inside) > static_cast<long double>(most)) inside = std::nextafter(inside, C{0});
  EXPECT_EQ(made(inside), static_cast<T>(inside));
  EXPECT_EQ(made(std::nextafter(static_cast<C>(most), kInfinity)), most);
  EXPECT_EQ(made(std::nextafter(static_cast<C>(least), -kInfinity)), least);
  for (const T value : {T{0}, T{1}, T{100}, least, static_cast<T>(least + 1), most}) {
    C read = 0;
    load_numbers(type, reinterpret_cast<const std::byte*>(&value), 1, &read);
    EXPECT_EQ(read, static_cast<C>(value));
  }
}

template <class T>
void expect_integers_of(Kind kind) {
  const DType type{kind, sizeof(T)};
  SCOPED_TRACE(type.name());
  expect_integers<T, float>(type);
  expect_integers<T, double>(type);
}

TEST(Numbers, IntegersAreCutTowardsZeroAndAtTheirLimits) {
  expect_integers_of<std::int8_t>(Kind::kInt);
  expect_integers_of<std::int16_t>(Kind::kInt);
  expect_integers_of<std::int32_t>(Kind::kInt);
  expect_integers_of<std::int64_t>(Kind::kInt);
  expect_integers_of<std::uint8_t>(Kind::kUInt);
  expect_integers_of<std::uint16_t>(Kind::kUInt);
  expect_integers_of<std::uint32_t>(Kind::kUInt);
  expect_integers_of<std::uint64_t>(Kind::kUInt);
}

TEST(Numbers, BooleansAreWhatIsNotZero) {
  const DType type{Kind::kBool, 1};
  const std::vector<float> values = {0, -0.0F, 0.25F, -3, std::nanf("")};
  std::vector<std::byte> made(values.size());
  store_numbers(type, values.data(), values.size(), made.data());
  EXPECT_EQ(made, (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1}}));
  made[0] = std::byte{200};  // as some files have it
  std::vector<float> read(values.size());
  load_numbers(type, made.data(), made.size(), read.data());
  EXPECT_EQ(read, (std::vector<float>{1, 0, 1, 1, 1}));
}

TEST(Numbers, FloatsAndDoublesStayThemselves) {
  const DType single{Kind::kFloat, 4}, full{Kind::kFloat, 8};
  const std::vector<float> floats = {0.1F, -0.0F, 1e38F, std::numeric_limits<float>::denorm_min()};
  std::vector<double> doubles(floats.size());
  load_numbers(single, reinterpret_cast<const std::byte*>(floats.data()), floats.size(), doubles.data());
  for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(doubles[i], static_cast<double>(floats[i]));
  std::vector<float> back(floats.size());
  store_numbers(single, doubles.data(), doubles.size(), reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, floats);
  std::vector<double> wide(floats.size());
  store_numbers(full, floats.data(), floats.size(), reinterpret_cast<std::byte*>(wide.data()));
  EXPECT_EQ(wide, doubles);
}

TEST(Numbers, KnowsTypes) {
  for (const char* name : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                           "float32", "float64", "bfloat16"}) {
    const Result<DType> type = type_of_name(name);
    ASSERT_TRUE(type.ok()) << name;
    EXPECT_EQ(type->name(), name);
    EXPECT_TRUE(is_number(*type));
    // A float has 24 bits: more than these whole numbers need.
    const std::string text = name;
    EXPECT_EQ(fits_float(*type), text.find("64") == std::string::npos && text.find("int32") == std::string::npos)
        << name;
    EXPECT_EQ(result_type(*type).name(), text == "float64" ? "float64" : "float32");
  }
  const Result<DType> none = type_of_name("flaot32");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().hint().find("float32"), std::string::npos) << none.error().hint();
  EXPECT_FALSE(is_number({Kind::kComplex, 8}));
  EXPECT_FALSE(is_number({Kind::kBytes, 3}));
}

}  // namespace
}  // namespace headrace
