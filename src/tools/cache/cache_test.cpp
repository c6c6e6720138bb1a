#include <gtest/gtest.h>
#include <headrace/error.h>
#include <headrace/tools.h>

#include <cstring>

#include "cache/directory/cache_directory.h"
#include "format/testing/hdf5_files.h"
#include "storage/fingerprint.h"
#include "tools/json.h"

namespace headrace {
namespace {

/// A cache of 100 int64 rows of a file, built up to block `blocks` of 10.
std::string make_cache(const std::string& directory, const std::string& source, std::uint64_t blocks = 10) {
  std::ofstream(source) << "rows";
  struct stat status {};
  ::stat(source.c_str(), &status);
  RowLayout layout;
  layout.fields = {{"label", "label", {DType::Kind::kInt, 8}, {}}};
  for (std::uint64_t row = 0; row <= 100; row += 10) layout.block_starts.push_back(row);
  const auto store = open_cache_directory(directory, {{{source, fingerprint_of(status), 100}}}, layout).value().store;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::vector<std::byte> rows(80, static_cast<std::byte>(block));
    const std::byte* const pointers[] = {rows.data()};
    EXPECT_EQ(store->look_up(block), RowStore::Lookup::kFill);
    EXPECT_TRUE(store->put(block, pointers).ok());
    if (store->publish(block)) {
      EXPECT_TRUE(store->finish().ok());
    }
  }
  const auto entries = list_caches(directory).value();
  const auto own = std::find_if(entries.begin(), entries.end(), [&](const CacheEntry& entry) {
    return entry.name.starts_with(std::filesystem::path(source).stem().string());
  });
  return own == entries.end() ? "" : own->name;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

class CacheTools : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path("cache");
};

TEST_F(CacheTools, AGoodCacheIsListedVerifiedAndRemoved) {
  const std::string name = make_cache(directory_, folder_.path("train.h5"));
  ToolResult result = cache_list(directory_);
  EXPECT_FALSE(result.findings || result.bad_data) << result.text;
  EXPECT_NE(result.text.find(name), std::string::npos) << result.text;
  Json entry = Json::parse(result.json)["caches"][0];
  EXPECT_EQ(entry["name"], name);
  EXPECT_EQ(entry["state"], "valid");
  EXPECT_EQ(entry["rows"], 100);
  EXPECT_EQ(entry["fields"], Json::array({"label"}));

  std::uint64_t done = 0, total = 0;
  result = cache_verify(directory_, "", [&](std::uint64_t now, std::uint64_t all) {
    done = now;
    total = all;
    return true;
  });
  EXPECT_FALSE(result.findings || result.bad_data) << result.text;
  EXPECT_NE(result.text.find("every checksum agrees"), std::string::npos);
  EXPECT_GT(done, 0U);
  EXPECT_LE(done, total);
  EXPECT_EQ(code_of([&] { cache_verify(directory_, name, [](auto, auto) { return false; }); }), ErrorCode::kCancelled);

  EXPECT_EQ(code_of([&] { cache_remove(directory_, "other"); }), ErrorCode::kNotFound);
  EXPECT_EQ(code_of([&] { cache_verify(directory_, "other", {}); }), ErrorCode::kNotFound);
  EXPECT_EQ(Json::parse(cache_remove(directory_, name).json)["removed"], name);
  EXPECT_NE(cache_list(directory_).text.find("no caches"), std::string::npos);
}

TEST_F(CacheTools, DamageIsBadDataAndTheStaleAndAbandonedAreFindings) {
  const std::string stale = make_cache(directory_, folder_.path("a.h5"));
  std::ofstream(folder_.path("a.h5")) << "other rows";
  ToolResult result = cache_list(directory_);
  EXPECT_TRUE(result.findings);
  EXPECT_FALSE(result.bad_data);
  EXPECT_EQ(Json::parse(cache_verify(directory_, stale, {}).json)["caches"][0]["state"], "stale");

  const std::string abandoned = make_cache(directory_, folder_.path("b.h5"), 3);
  EXPECT_NE(abandoned.find(".building"), std::string::npos);
  const std::string damaged = make_cache(directory_, folder_.path("c.h5"));
  headrace::testing::flip_byte(directory_ + "/" + damaged + "/label.npy", 200);
  result = cache_list(directory_);  // reads no rows
  EXPECT_FALSE(result.bad_data) << result.text;
  result = cache_verify(directory_, "", {});
  EXPECT_TRUE(result.findings && result.bad_data);
  const Json caches = Json::parse(result.json)["caches"];
  EXPECT_EQ(caches[1]["state"], "abandoned");
  EXPECT_EQ(caches[2]["state"], "damaged");
  EXPECT_NE(result.text.find("BAD     " + damaged), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("label.npy"), std::string::npos) << result.text;
}

TEST_F(CacheTools, ABuildThatFailsSaysWhyAndNotThatLoadingGoesOn) {
  testing::Hdf5Writer(folder_.path("a.h5")).write("x", {.shape = {100, 4}, .chunk = {10, 4}});
  folder_.write_text("taken", "");
  LoaderOptions options;
  options.batch = Samples{8};
  options.cache = CacheChoice{CacheChoice::kDirectory, folder_.path("taken") + "/cache"};
  Loader loader(open({folder_.path("a.h5")}), options);
  try {
    cache_build(loader, {});
    ADD_FAILURE() << "built";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kWriteFailed);
    const std::string text = error.what();
    EXPECT_NE(text.find("/taken/cache: "), std::string::npos) << text;
    EXPECT_EQ(text.find("goes on"), std::string::npos) << text;
  }
}

TEST_F(CacheTools, ADirectoryThatIsNotThereIsAnErrorAndIsNotMade) {
  EXPECT_EQ(code_of([&] { cache_list(directory_); }), ErrorCode::kNotFound);
  EXPECT_EQ(code_of([&] { cache_verify(directory_, "", {}); }), ErrorCode::kNotFound);
  EXPECT_EQ(code_of([&] { cache_remove(directory_, "x"); }), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

}  // namespace
}  // namespace headrace
