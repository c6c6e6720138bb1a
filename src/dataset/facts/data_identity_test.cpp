#include "dataset/facts/data_identity.h"

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "dataset/testing/fake_source.h"

namespace headrace {
namespace {

/// An array whose rows come from other files.
class ArrayOfOthers final : public testing::FakeArray {
 public:
  ArrayOfOthers(std::uint64_t first_row, std::vector<std::string> paths)
      : FakeArray(0, first_row, 10, 1, 10, std::make_shared<testing::FakeFaults>()), paths_(std::move(paths)) {}
  std::vector<OutsideFile> other_files() const override {
    std::vector<OutsideFile> others;
    for (const std::string& path : paths_) {
      OutsideFile& other = others.emplace_back();
      other.path = path;
      other.fingerprint.size_bytes = 64;
    }
    return others;
  }

 private:
  const std::vector<std::string> paths_;
};

/// Files that all come from the same 64 others.
class DataIdentityOfOthers : public ::testing::Test {
 protected:
  static constexpr int kOthers = 64;

  std::string other(int i, char content) const {
    return folder_.write_text("other" + std::to_string(i), std::string(64, content));
  }
  static Dataset open(int num_files, const std::vector<std::string>& others) {
    auto source = std::make_shared<Source>();
    source->set_columns({{"a0", "a0", {DType::Kind::kUInt, 4}, {1}}});
    source->places = {{0, 0}};
    for (int f = 0; f < num_files; ++f) {
      SourceFile& file = source->files.emplace_back();
      file.path = "file" + std::to_string(f);
      file.rows = 10;
      file.arrays.push_back(std::make_shared<ArrayOfOthers>(10 * f, others));
    }
    return Dataset(Dataset::Impl::make(source));
  }
  /// How many of the others are looked into: another content of theirs is noticed.
  int num_sampled(int num_files) const {
    std::vector<std::string> paths;
    for (int i = 0; i < kOthers; ++i) paths.push_back(other(i, 'a'));
    const Dataset data = open(num_files, paths);
    const auto contents = [&] { return identify(impl_of(data)->source, impl_of(data)->layout).contents; };
    const std::uint32_t before = contents();
    int sampled = 0;
    for (int i = 0; i < kOthers; ++i) {
      (void)other(i, 'b');
      sampled += contents() != before;
      (void)other(i, 'a');
    }
    EXPECT_EQ(contents(), before);
    return sampled;
  }

  TemporaryFolder folder_;
};

TEST_F(DataIdentityOfOthers, AllOfThemAreSampledWhereThatIsLittle) {
  EXPECT_EQ(num_sampled(1), kOthers);
}

/// 256 stretches over all files, not for each of them.
TEST_F(DataIdentityOfOthers, SomeOfThemWhereManyFilesNameMany) {
  const int of_64 = num_sampled(64), of_200 = num_sampled(200);
  EXPECT_GT(of_64, 0);
  EXPECT_LE(of_64, 256 / 64);
  EXPECT_EQ(of_200, 1);
}

}  // namespace
}  // namespace headrace
