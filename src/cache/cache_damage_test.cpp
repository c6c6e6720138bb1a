// Damage to a whole cache is found when it is opened or checked, or it changes nothing: no wrong row is ever handed
// out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "base/checksum/crc32c.h"
#include "cache/directory/cache_manifest.h"
#include "cache/testing/caches.h"

namespace headrace {
namespace {

using namespace testing_rows;
using State = CacheEntry::State;
using Lookup = RowStore::Lookup;
namespace fs = std::filesystem;

class CacheDamageTest : public ::testing::Test {
 protected:
  CacheDamageTest() {
    EXPECT_TRUE(fill_all(*c_.store()));
    name_ = c_.name();
    for (const char* file : {"manifest.json", "crc32c.npy", "image.npy", "label.npy"})
      good_[file] = read_text(path(file));
  }
  [[nodiscard]] std::string path(const std::string& file) const { return c_.directory + "/" + name_ + "/" + file; }
  void restore(const std::string& file) const {
    fs::remove_all(path(file));
    c_.folder.write_text("parent/cache/" + name_ + "/" + file, good_.at(file));
  }

  enum class Outcome : std::uint8_t { kHarmless, kRefused, kLocated, kWrong };
  /// What a reader gets of the cache as it is now.
  [[nodiscard]] Outcome outcome() const {
    const auto opened = c_.open();
    if (!opened.ok()) return Outcome::kWrong;
    RowStore& store = *opened->store;
    if (store.look_up(0) == Lookup::kFill) return opened->notes.size() == 1 ? Outcome::kRefused : Outcome::kWrong;
    Outcome outcome = Outcome::kHarmless;
    for (std::uint64_t block = 0; block < c_.layout.num_blocks(); ++block) {
      const Status status = store.check(block);
      if (status.ok() != has_rows(store, block)) return Outcome::kWrong;
      if (status.ok()) continue;
      const Error& error = status.error();
      if (error.code() != ErrorCode::kCorruptData || error.field().empty() || error.bytes().size == 0 ||
          error.file().find(".npy") == std::string::npos || error.chunk() != fmt::format("({})", block))
        return Outcome::kWrong;
      if (store.ready(block) || store.complete() || store.can_fill(block) || store.look_up(block) != Lookup::kFull ||
          !store.check(block).ok())
        return Outcome::kWrong;
      outcome = Outcome::kLocated;
    }
    return store.all_checked() ? outcome : Outcome::kWrong;
  }
  /// Builds that refused caches gave rise to.
  void clean() const {
    for (const CacheEntry& entry : list_caches(c_.directory).value()) {
      const bool removed = entry.name == name_ || remove_cache(c_.directory, entry.name).ok();
      EXPECT_TRUE(removed) << entry.name;
    }
  }

  CacheFolders c_;
  std::string name_;
  std::map<std::string, std::string> good_;
};

TEST_F(CacheDamageTest, AnyFlippedBitIsRefusedOrLocated) {
  std::mt19937 random(2);
  int located = 0, refused = 0;
  for (const auto& [file, text] : good_) {
    const bool data = file == "image.npy" || file == "label.npy";
    const std::size_t step = data ? 61 : 1;
    for (std::size_t at = 0; at < text.size(); at += data && at < 128 ? 1 : step) {
      std::string bad = text;
      bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
      write_text(path(file), bad);
      const Outcome now = outcome();
      ASSERT_TRUE(now == Outcome::kRefused || now == Outcome::kLocated) << file << " byte " << at;
      ASSERT_EQ(now == Outcome::kLocated, data && at >= 128) << file << " byte " << at;
      ASSERT_EQ(verify_cache(c_.directory, name_, nullptr).value().state, State::kDamaged);
      ++(now == Outcome::kLocated ? located : refused);
    }
    write_text(path(file), text);
    ASSERT_EQ(outcome(), Outcome::kHarmless);
  }
  std::printf("%d flips: %d refused, %d located\n", located + refused, refused, located);
}

TEST_F(CacheDamageTest, FilesOfOtherSizesAndKindsAreRefused) {
  for (const auto& [file, text] : good_) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 1, text.size() + 1}) {
      fs::resize_file(path(file), size);
      ASSERT_EQ(outcome(), Outcome::kRefused) << file << " of " << size;
      ASSERT_EQ(verify_cache(c_.directory, name_, nullptr).value().state, State::kDamaged);
      restore(file);
      ASSERT_EQ(outcome(), Outcome::kHarmless);
    }
    fs::remove(path(file));
    ASSERT_EQ(outcome(), Outcome::kRefused) << file;
    ASSERT_EQ(::mkfifo(path(file).c_str(), 0600), 0);
    ASSERT_EQ(outcome(), Outcome::kRefused) << file;
    fs::remove(path(file));
    fs::create_directory(path(file));
    ASSERT_EQ(outcome(), Outcome::kRefused) << file;
    fs::remove(path(file));
    c_.folder.write_text("elsewhere", text);
    fs::create_symlink(c_.folder.path("elsewhere"), path(file));
    ASSERT_EQ(outcome(), Outcome::kRefused) << file;
    restore(file);
  }
}

/// Manifests whose last line is right: written by an enemy, or by a bug.
TEST_F(CacheDamageTest, ManifestsThatSayWhatCannotBeAreRefused) {
  const auto resealed = [&](const std::string& from, const std::string& to) {
    std::string text = good_.at("manifest.json");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const std::string key = "\"crc32c_of_the_above\": ";
    text.resize(text.rfind(key) + key.size());
    text += fmt::format("\"{:08x}\"\n}}\n", crc32c(std::as_bytes(std::span(text))));
    fs::remove(path("manifest.json"));
    c_.folder.write_text("parent/cache/" + name_ + "/manifest.json", text);
  };
  const auto refuses = [&](const std::string& from, const std::string& to) {
    resealed(from, to);
    EXPECT_EQ(outcome(), Outcome::kRefused) << from << " -> " << to;
    EXPECT_EQ(list_caches(c_.directory).value().at(0).state, State::kDamaged) << to;
  };
  resealed("\"created\"", "\"created\"");
  EXPECT_EQ(outcome(), Outcome::kHarmless);
  refuses("\"headrace-cache\"", "\"something\"");
  refuses("\"format_version\": 1", "\"format_version\": 2");
  refuses("\"image.npy\"", "\"../image.npy\"");
  refuses("\"image.npy\"", "\"/etc/passwd\"");
  refuses("\"image.npy\"", "\"label.npy\"");
  refuses("\"image.npy\"", "\"\"");
  refuses("\"image.npy\"", "\"\\u0000\"");
  refuses("\"<f4\"", "\"<f8\"");
  refuses("\"<f4\"", "\"<i4\"");
  refuses("\"<f4\"", "\"O\"");
  refuses("\"<f4\"", "\"|O8\"");
  refuses("\"<f4\"", "\"<f99999999999\"");
  refuses("\"rows\": 100", "\"rows\": 101");
  refuses("\"rows\": 100", "\"rows\": -1");
  refuses("\"rows\": 100", "\"rows\": 1e2");
  refuses("\"rows\": 100", "\"rows\": 18446744073709551615");
  refuses("\"count\": 13", "\"count\": 12");
  refuses("\"count\": 13", "\"count\": 4611686018427387904");
  refuses("\"rows\": 8", "\"rows\": 0");
  refuses("\"rows\": 8", "\"rows\": 7");
  refuses("\"bytes\": 6128", "\"bytes\": 6129");
  refuses("\"bytes\": 6128", "\"bytes\": \"6128\"");
  refuses("\"fields\": [", "\"fields\": [1,");
  refuses("\"sources\": [", "\"sources\": [{},");
  refuses("\"created\": \"", "\"deep\": " + std::string(100000, '[') + std::string(100000, ']') + ", \"created\": \"");
  refuses("\"fields\"", "\"felder\"");
  refuses("\"blocks\"", "\"stocks\"");
  refuses("\"checksums\"", "\"sums\"");
  refuses("\"created\": \"", "\"created\": \"" + std::string(17 << 20, 'x'));
}

TEST_F(CacheDamageTest, ADamagedCacheIsMadeAgain) {
  fs::resize_file(path("label.npy"), 500);
  EXPECT_TRUE(fill_all(*c_.store()));
  EXPECT_EQ(outcome(), Outcome::kHarmless);
  clean();
  EXPECT_EQ(verify_cache(c_.directory, name_, nullptr).value().state, State::kValid);
}

TEST_F(CacheDamageTest, VerifyingNamesTheFirstDamage) {
  std::string bad = good_.at("image.npy");
  bad[128 + 3 * 480] = static_cast<char>(bad[128 + 3 * 480] ^ 4);
  bad[128 + 7 * 480] = static_cast<char>(bad[128 + 7 * 480] ^ 4);
  write_text(path("image.npy"), bad);
  const CacheEntry entry = verify_cache(c_.directory, name_, nullptr).value();
  EXPECT_EQ(entry.state, State::kDamaged);
  EXPECT_NE(entry.note.find("2 blocks"), std::string::npos) << entry.note;
  EXPECT_NE(entry.note.find("image.npy › image › chunk (3) › bytes 1568+480"), std::string::npos) << entry.note;
  EXPECT_NE(entry.note.find("rows [24, 32)"), std::string::npos) << entry.note;
}

}  // namespace
}  // namespace headrace
