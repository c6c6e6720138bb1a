#include "dataset/files/paths.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

class Paths : public ::testing::Test {
 protected:
  void touch(const std::string& name) { folder_.write_text(name, "x"); }
  [[nodiscard]] std::string at(const std::string& name) const { return root_ + "/" + name; }
  /// What `patterns` (under the root) mean, relative to the root.
  [[nodiscard]] Strings expand(Strings patterns) const {
    for (std::string& p : patterns) p = at(p);
    Strings files = expand_paths(patterns).value();
    for (std::string& f : files) f = f.substr(root_.size() + 1);
    return files;
  }
  [[nodiscard]] Error refusal(Strings patterns) const {
    for (std::string& p : patterns) p = at(p);
    const auto result = expand_paths(patterns);
    if (result.ok()) {
      ADD_FAILURE() << "expected an error";
      return Error(ErrorCode::kInternal, "none");
    }
    return result.error();
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(Paths, GlobsAreOrderedNaturally) {
  for (const char* name : {"f10.h5", "f2.h5", "f1.h5", "f02.h5", "g.txt"}) touch(name);
  EXPECT_EQ(expand({"f*.h5"}), (Strings{"f1.h5", "f02.h5", "f2.h5", "f10.h5"}));
}

TEST_F(Paths, AListKeepsItsOrder) {
  for (const char* name : {"a.h5", "b.h5", "c1.h5", "c2.h5"}) touch(name);
  EXPECT_EQ(expand({"c*.h5", "b.h5", "a.h5"}), (Strings{"c1.h5", "c2.h5", "b.h5", "a.h5"}));
}

TEST_F(Paths, QuestionMarksAndBrackets) {
  for (const char* name : {"a1", "a2", "a3", "b1", "a10"}) touch(name);
  EXPECT_EQ(expand({"a?"}), (Strings{"a1", "a2", "a3"}));
  EXPECT_EQ(expand({"[ab]1"}), (Strings{"a1", "b1"}));
  EXPECT_EQ(expand({"a[2-9]"}), (Strings{"a2", "a3"}));
  EXPECT_EQ(expand({"[!a]*"}), (Strings{"b1"}));
}

TEST_F(Paths, TwoStarsReachAnyDepthAndComeByEachFileOnce) {
  for (const char* name : {"x.h5", "d/x.h5", "d/e/x.h5", "d/e/y.txt", ".hidden/x.h5"}) touch(name);
  EXPECT_EQ(expand({"**/x.h5"}), (Strings{"d/e/x.h5", "d/x.h5", "x.h5"}));
  EXPECT_EQ(expand({"**/**/*.h5"}), (Strings{"d/e/x.h5", "d/x.h5", "x.h5"}));
  EXPECT_EQ(expand({"d/**"}), (Strings{"d/e/x.h5", "d/e/y.txt", "d/x.h5"}));
}

TEST_F(Paths, TwoStarsFollowLinksButNotInCircles) {
  touch("d/x.h5");
  fs::create_directory_symlink(root_ + "/d", at("d/loop"));
  fs::create_directory_symlink(root_ + "/d", at("link"));
  EXPECT_EQ(expand({"**/x.h5"}), (Strings{"d/x.h5", "link/x.h5"}));
}

/// Without end if each of them were taken in every way that leads there.
TEST_F(Paths, DirectoriesAreTakenOnceForEachPartOfAPattern) {
  std::string deep;
  for (int level = 0; level < 40; ++level) deep += "d/";
  touch(deep + "x.h5");
  std::string pattern;
  for (int stars = 0; stars < 20; ++stars) pattern += "**/";
  EXPECT_EQ(expand({pattern + "x.h5"}), (Strings{deep + "x.h5"}));
  EXPECT_EQ(expand({"**/d/**/d/**/d/**/d/**/d/**/d/**/d/**/d/**/d/**/d/**/*.h5"}), (Strings{deep + "x.h5"}));
}

TEST_F(Paths, StarsAreNotMatchedInCirclesOfLinks) {
  touch("d/e/x.h5");
  for (const char* name : {"d/here", "d/again", "d/once_more"}) fs::create_directory_symlink(root_ + "/d", at(name));
  EXPECT_EQ(expand({"d/*/x.h5"}), (Strings{"d/e/x.h5"}));
  EXPECT_EQ(refusal({"d/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x.h5"}).code(), ErrorCode::kNotFound);
}

TEST_F(Paths, PatternsSayHowDeepTheyGoThroughLinksToParents) {
  touch("run/a.h5");
  touch("run/d/b.h5");
  fs::create_directory_symlink("..", at("run/d/up"));
  EXPECT_EQ(expand({"run/*/up/*.h5"}), (Strings{"run/d/up/a.h5"}));
  EXPECT_EQ(expand({"run/*/*/*.h5"}), (Strings{"run/d/up/a.h5"}));
  EXPECT_EQ(expand({"run/*/../*.h5"}), (Strings{"run/d/../a.h5"}));
  EXPECT_EQ(expand({"run/*/up/**/a.h5"}), (Strings{"run/d/up/a.h5"}));
}

TEST_F(Paths, AnExistingFileIsTakenLiterally) {
  for (const char* name : {"run[1].h5", "run1.h5", "*"}) touch(name);
  EXPECT_EQ(expand({"run[1].h5"}), (Strings{"run[1].h5"}));
  EXPECT_EQ(expand({"*"}), (Strings{"*"}));
}

TEST_F(Paths, LeadingDotsMustBeWritten) {
  for (const char* name : {".a.h5", "b.h5"}) touch(name);
  EXPECT_EQ(expand({"*.h5"}), (Strings{"b.h5"}));
  EXPECT_EQ(expand({".*.h5"}), (Strings{".a.h5"}));
}

TEST_F(Paths, GlobsPassOverDirectories) {
  touch("a/f.h5");
  touch("a1.h5");
  EXPECT_EQ(expand({"a*"}), (Strings{"a1.h5"}));
  const Error error = [&] {
    fs::remove(at("a1.h5"));
    return refusal({"a*"});
  }();
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_NE(error.hint().find("1 directory"), std::string::npos) << error.what();
}

TEST_F(Paths, HomeIsExpanded) {
  touch("f1.h5");
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ::setenv("HOME", root_.c_str(), 1);
  EXPECT_EQ(expand_paths({"~/f*.h5"}).value(), (Strings{at("f1.h5")}));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(Paths, AMissingFileNamesItsNeighboursNearestFirst) {
  for (const char* name : {"test_1.h5", "train_1.h5", "zzz.txt"}) touch(name);
  const Error error = refusal({"trian_1.h5"});
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.file(), at("trian_1.h5"));
  const std::size_t near = error.hint().find("train_1.h5"), far = error.hint().find("zzz.txt");
  ASSERT_NE(near, std::string::npos) << error.what();
  EXPECT_LT(near, far);
}

TEST_F(Paths, AnEmptyGlobNamesThePatternAndWhatIsThere) {
  touch("train/jets_1.hdf5");
  const Error error = refusal({"train/*.h5"});
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(error.file(), at("train/*.h5"));
  EXPECT_NE(error.hint().find("jets_1.hdf5"), std::string::npos) << error.what();
}

TEST_F(Paths, AMissingDirectoryIsNamed) {
  touch("train/x.h5");
  const Error error = refusal({"trian/*.h5"});
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_NE(error.message().find("trian"), std::string::npos) << error.what();
  EXPECT_NE(error.hint().find("train/"), std::string::npos) << error.what();
}

TEST_F(Paths, ADirectoryIsRefusedWithAHint) {
  touch("train/x.h5");
  const Error error = refusal({"train"});
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(error.hint().find("train/*.h5"), std::string::npos) << error.what();
}

TEST_F(Paths, DuplicatesAreRefusedByName) {
  for (const char* name : {"f1.h5", "f2.h5"}) touch(name);
  const Error error = refusal({"f*.h5", "./f2.h5"});
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(fs::path(error.file()).filename(), "f2.h5");
}

TEST_F(Paths, NothingIsRefused) {
  EXPECT_EQ(expand_paths({}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(expand_paths({""}).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(Paths, AnUnreadableDirectoryIsAnErrorAndNotASkip) {
  touch("d/closed/x.h5");
  touch("d/x.h5");
  fs::permissions(root_, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(at("d/closed"), fs::perms::none);
  const bool root = ::geteuid() == 0;  // root may read everything
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  const Error error = refusal({"d/**/x.h5"});
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  fs::permissions(at("d/closed"), fs::perms::owner_all);
  EXPECT_EQ(error.code(), ErrorCode::kPermission) << error.what();
}

TEST(GlobMatch, Cases) {
  EXPECT_TRUE(glob_match("*", "anything"));
  EXPECT_TRUE(glob_match("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_match("a*b*c", "a-c-b"));
  EXPECT_TRUE(glob_match("?.h5", "ü.h5"));
  EXPECT_TRUE(glob_match("*?", "ü"));
  EXPECT_FALSE(glob_match("??.h5", "ü.h5"));
  EXPECT_TRUE(glob_match("[]x]", "]"));
  EXPECT_TRUE(glob_match("[[]x", "[x"));
  EXPECT_TRUE(glob_match("a[b", "a[b"));  // never closed: a letter
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("", ""));
}

TEST(GlobMatch, ManyStarsStayCheap) {
  std::string pattern, name(4096, 'a');
  for (int i = 0; i < 64; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", name));  // exponential in a naive matcher
}

RC_GTEST_PROP(NaturalLess, IsAStrictOrderThatPutsNumbersByValue, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::element('a', 'b', '0', '1', '2', '/', '-'));
  const std::string a = *text, b = *text, c = *text;
  RC_ASSERT(!natural_less(a, a));
  RC_ASSERT((a == b) == (!natural_less(a, b) && !natural_less(b, a)));
  if (natural_less(a, b) && natural_less(b, c)) RC_ASSERT(natural_less(a, c));
  const auto x = *rc::gen::inRange(0, 2000), y = *rc::gen::inRange(0, 2000);
  RC_ASSERT(natural_less("f" + std::to_string(x), "f" + std::to_string(y)) == (x < y));
}

}  // namespace
}  // namespace headrace
