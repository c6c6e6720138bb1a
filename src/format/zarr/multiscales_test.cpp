#include "format/zarr/multiscales.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace headrace::zarr {
namespace {

using Doubles = std::vector<double>;
using Texts = std::vector<std::string>;

/// Return the level of an image with these axes, whose voxels are 0.04 x 4 x 4 and begin at 2, 2, 2.
std::vector<ImageLevel> level_with(const std::string& axes) {
  const std::string text = R"({"multiscales": [{"axes": )" + axes + R"(, "datasets": [{"path": "s0",
      "coordinateTransformations": [{"type": "scale", "scale": [0.04, 4, 4]},
                                    {"type": "translation", "translation": [2, 2, 2]}]}]}]})";
  return levels_of(parse_json(std::as_bytes(std::span(text))).value(), "em");
}

std::string axis(const std::string& name, const std::string& unit) {
  return R"({"name": ")" + name + R"(", "type": "space", "unit": ")" + unit + R"("})";
}

TEST(Multiscales, LengthsHaveTheUnitOfTheLastAxisOfSpace) {
  const auto levels =
      level_with("[" + axis("z", "micrometer") + "," + axis("y", "angstrom") + "," + axis("x", "nanometer") + "]");
  ASSERT_EQ(levels.size(), 1);
  EXPECT_EQ(levels[0].path, "em/s0");
  EXPECT_EQ(names_text(levels[0].axes), "z, y, x");
  EXPECT_EQ(levels[0].voxel->size, (Doubles{40, 0.4, 4}));
  EXPECT_EQ(levels[0].voxel->origin, (Doubles{2000, 0.2, 2}));
  EXPECT_EQ(levels[0].voxel->text(), "40 x 0.4 x 4 nanometer");
}

TEST(Multiscales, OtherUnitsStayBesideEachOther) {
  const auto pixels =
      level_with("[" + axis("z", "pixel") + "," + axis("y", "nanometer") + "," + axis("x", "nanometer") + "]");
  EXPECT_EQ(pixels.at(0).voxel->size, (Doubles{0.04, 4, 4}));
  EXPECT_EQ(pixels[0].voxel->unit(), "");
  EXPECT_EQ(pixels[0].voxel->text(), "0.04 pixel x 4 nanometer x 4 nanometer");
  const auto film = level_with(R"([{"name": "t", "type": "time", "unit": "second"},)" + axis("y", "nm") + "," +
                               axis("x", "nanometer") + "]");
  EXPECT_EQ(film.at(0).voxel->units, (Texts{"second", "nanometer", "nanometer"}));
  const auto channels =
      level_with(R"([{"name": "c", "type": "channel"},)" + axis("y", "nanometer") + "," + axis("x", "nanometer") + "]");
  EXPECT_EQ(channels.at(0).voxel->text(), "0.04 x 4 x 4 nanometer");
}

TEST(Multiscales, SumsAndProductsThatAreNoNumbers) {
  for (const char* steps :
       {R"({"type": "translation", "translation": [1e308]}, {"type": "scale", "scale": [1e308]})",
        R"({"type": "translation", "translation": [1e308]}, {"type": "translation", "translation": [1e308]})",
        R"({"type": "scale", "scale": [1e-300]}, {"type": "scale", "scale": [1e-300]})"}) {
    const std::string text = R"({"multiscales": [{"axes": ["x"], "datasets": [{"path": "s0",
        "coordinateTransformations": [)" +
                             std::string(steps) + "]}]}]}";
    const auto levels = levels_of(parse_json(std::as_bytes(std::span(text))).value(), "");
    ASSERT_EQ(levels.size(), 1) << steps;
    EXPECT_FALSE(levels[0].voxel.has_value()) << steps;
  }
}

TEST(Multiscales, AxesWithoutNamesOrInOtherNumber) {
  EXPECT_EQ(names_text(level_with(R"(["z", "y", "x"])").at(0).axes), "z, y, x");
  for (const char* axes :
       {"null", "5", "[]", R"([{"type": "space"}, {"name": "y"}, {"name": "x"}])", R"(["z", "", 1])"}) {
    EXPECT_TRUE(level_with(axes).at(0).axes.empty()) << axes;
    EXPECT_EQ(level_with(axes).at(0).voxel->units, (Texts{"", "", ""})) << axes;
  }
  const auto two = level_with("[" + axis("y", "nanometer") + "," + axis("x", "nanometer") + "]");
  EXPECT_EQ(two.at(0).voxel->units, (Texts(3, "nanometer")));
}

TEST(Multiscales, NamesAreReadWhereSizesAreNot) {
  const std::string text =
      R"({"multiscales": [{"axes": ["z", "y", "x"], "datasets": [{"path": "s0"}, {"path": "s1",
          "coordinateTransformations": [{"type": "affine", "affine": [[1]]}]}, {"no path": 1}]}]})";
  const auto levels = levels_of(parse_json(std::as_bytes(std::span(text))).value(), "");
  ASSERT_EQ(levels.size(), 2);
  for (const ImageLevel& level : levels) {
    EXPECT_FALSE(level.voxel);
    EXPECT_EQ(level.axes.size(), 3);
  }
}

}  // namespace
}  // namespace headrace::zarr
