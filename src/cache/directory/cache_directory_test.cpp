#include "cache/directory/cache_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "cache/directory/npy_file_names.h"
#include "cache/testing/caches.h"
#include "cache/testing/processes.h"
#include "format/npy/npy_header.h"
#include "storage/version_now.h"

namespace headrace {
namespace {

using namespace testing_rows;
using namespace testing_processes;
using State = CacheEntry::State;
using Lookup = RowStore::Lookup;
namespace fs = std::filesystem;

class CacheDirectoryTest : public ::testing::Test {
 protected:
  [[nodiscard]] static int mode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 07777) : -1;
  }
  CacheFolders c_;
};

TEST(NpyHeader, IsWhatNumpyWrites) {  // numpy.save of zeros((10, 3, 5), '<f4'), and of zeros(7, 'S6')
  const std::string image = npy_header(StoredColumn{"i", "", {DType::Kind::kFloat, 4}, {3, 5}}, 10);
  EXPECT_EQ(image.size(), 128u);
  EXPECT_EQ(image.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(image.substr(10, 67), "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 3, 5), }    ");
  EXPECT_EQ(image.back(), '\n');
  const std::string text = npy_header(StoredColumn{"t", "", {DType::Kind::kBytes, 6}, {}}, 7);
  EXPECT_NE(text.find("{'descr': '|S6', 'fortran_order': False, 'shape': (7,), } "), std::string::npos);
}

TEST(NpyFileNames, ArePlainAndUnique) {
  std::vector<StoredColumn> fields;
  for (const char* name : {"image", "../../etc/passwd", "a/b", "a.b", "A_B", "crc32c", "", "blocks"})
    fields.push_back({name, name, {}, {}});
  EXPECT_EQ(npy_file_names(fields),
            (std::vector<std::string>{"image.npy", "______etc_passwd.npy", "a_b.npy", "a_b-2.npy", "A_B-3.npy",
                                      "crc32c-2.npy", "field.npy", "blocks-2.npy"}));
}

TEST_F(CacheDirectoryTest, IsFilledCommittedAndFoundAgain) {
  {
    const CacheOpened opened = c_.open().value();
    EXPECT_TRUE(opened.notes.empty());
    RowStore& store = *opened.store;
    EXPECT_EQ(store.look_up(0), Lookup::kFill);
    EXPECT_EQ(store.look_up(0), Lookup::kBusy);
    EXPECT_EQ(store.writable(0, 0), nullptr);
    EXPECT_EQ(store.charged_bytes(), 0u);
    ASSERT_TRUE(put_rows(store, 0).ok());
    EXPECT_FALSE(store.publish(0));
    EXPECT_TRUE(has_rows(store, 0));
    EXPECT_FALSE(store.finish().ok());
    EXPECT_EQ(list_caches(c_.directory).value().at(0).state, State::kBuilding);
    EXPECT_TRUE(fill_all(store));
    EXPECT_TRUE(all_rows_are_right(store));  // the mapping outlives the rename
    EXPECT_TRUE(store.finish().ok());
  }
  EXPECT_EQ(mode_of(c_.directory), 0700);
  EXPECT_EQ(mode_of(c_.path("")), 0700);
  EXPECT_EQ(mode_of(c_.path("image.npy")), 0600);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(c_.path(""))) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"crc32c.npy", "image.npy", "label.npy", "manifest.json"}));

  const CacheOpened again = c_.open().value();
  EXPECT_TRUE(again.notes.empty());
  EXPECT_TRUE(again.store->complete());
  EXPECT_EQ(again.store->ready_blocks(), c_.layout.num_blocks());
  EXPECT_FALSE(again.store->all_checked());
  EXPECT_TRUE(all_rows_are_right(*again.store));
  EXPECT_TRUE(again.store->all_checked());
  const CacheEntry entry = verify_cache(c_.directory, c_.name(), nullptr).value();
  EXPECT_EQ(entry.state, State::kValid) << entry.note;
  EXPECT_EQ(entry.rows, 100u);
  EXPECT_EQ(entry.fields, (std::vector<std::string>{"image", "label"}));
  EXPECT_EQ(entry.sources, std::vector<std::string>{c_.origin.sources[0].path});
  EXPECT_EQ(fs::file_size(c_.path("image.npy")), 128u + 6000);
}

TEST_F(CacheDirectoryTest, AnInterruptedBuildIsContinued) {
  {
    const auto store = c_.store();
    for (std::uint64_t block = 0; block < 5; ++block) {
      ASSERT_EQ(store->look_up(block), Lookup::kFill);
      ASSERT_TRUE(put_rows(*store, block).ok());
      store->publish(block);
    }
    ASSERT_EQ(store->look_up(9), Lookup::kFill);  // never published
  }
  EXPECT_EQ(list_caches(c_.directory).value().at(0).state, State::kAbandoned);
  write_text(c_.path("image.npy"), read_text(c_.path("image.npy")).replace(128 + 3 * 480 + 7, 1, "x"));
  const auto store = c_.store();
  EXPECT_EQ(store->ready_blocks(), 0u);
  EXPECT_EQ(store->look_up(0), Lookup::kReady);
  EXPECT_EQ(store->look_up(3), Lookup::kFill);  // damaged since: to be made again
  store->abandon(3);
  EXPECT_EQ(store->look_up(9), Lookup::kFill);
  store->abandon(9);
  EXPECT_TRUE(fill_all(*store));
  EXPECT_TRUE(all_rows_are_right(*c_.store()));
  EXPECT_EQ(verify_cache(c_.directory, c_.name(), nullptr).value().state, State::kValid);
}

TEST_F(CacheDirectoryTest, ABuildThatEndedBeforeItsLastStepIsFinished) {
  {
    const auto store = c_.store();
    for (std::uint64_t block = 0; block < c_.layout.num_blocks(); ++block) {
      ASSERT_EQ(store->look_up(block), Lookup::kFill);
      ASSERT_TRUE(put_rows(*store, block).ok());
      store->publish(block);
    }
    EXPECT_EQ(c_.store()->ready_blocks(), c_.layout.num_blocks());  // joined, and finished
    EXPECT_EQ(list_caches(c_.directory).value().at(0).state, State::kValid);
  }
  EXPECT_TRUE(all_rows_are_right(*c_.store()));
}

TEST_F(CacheDirectoryTest, WhenAllBlocksAreLeftFromAKilledBuildOneIsFilledAnew) {
  {
    const auto store = c_.store();
    for (std::uint64_t block = 0; block < c_.layout.num_blocks(); ++block) {
      ASSERT_EQ(store->look_up(block), Lookup::kFill);
      ASSERT_TRUE(put_rows(*store, block).ok());
      store->publish(block);
    }
  }
  const auto store = c_.store();
  EXPECT_FALSE(store->complete());
  EXPECT_TRUE(fill_all(*store));
  EXPECT_EQ(list_caches(c_.directory).value().at(0).state, State::kValid);
}

TEST_F(CacheDirectoryTest, ProcessesFillItTogether) {
  c_.layout = layout_of(5000, 50);
  c_.origin.sources[0].rows = 5000;
  std::vector<pid_t> children;
  for (std::uint64_t child = 0; child < 3; ++child)
    children.push_back(start([&, child] {
      const auto opened = c_.open();
      if (!opened.ok()) return 10;
      RowStore& store = *opened->store;
      int filled = 0;
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t block = (i + 33 * child) % 100;
        const Lookup found = store.look_up(block);
        if (found == Lookup::kFill) {
          if (!put_rows(store, block).ok()) return 11;
          if (store.publish(block) && !store.finish().ok()) return 12;
          ++filled;
        } else if (found == Lookup::kBusy && !store.wait(block, std::chrono::minutes(1))) {
          return 13;
        }
        if (!has_rows(store, block)) return 14;
      }
      return filled > 0 ? 0 : 1;  // 1: the others were faster
    }));
  for (const pid_t pid : children) EXPECT_LE(join(pid), 1);
  EXPECT_EQ(verify_cache(c_.directory, c_.name(), nullptr).value().state, State::kValid);
  EXPECT_TRUE(all_rows_are_right(*c_.store()));
}

TEST_F(CacheDirectoryTest, BlocksOfSeveralFilesAndOfAnyLengthsAreFoundAgain) {
  c_.origin.sources = {c_.source("a.h5", "a", 20), c_.source("b.h5", "b", 0), c_.source("c.h5", "c", 13)};
  for (const std::vector<std::uint64_t>& starts :
       {std::vector<std::uint64_t>{0, 8, 16, 20, 28, 33}, std::vector<std::uint64_t>{0, 3, 17, 33}, {0}}) {
    c_.layout.block_starts = starts;
    ASSERT_EQ(fill_all(*c_.store()), true);
    const CacheOpened opened = c_.open().value();
    EXPECT_TRUE(opened.store->complete());
    EXPECT_EQ(opened.store->layout().block_starts, starts);
    EXPECT_EQ(verify_cache(c_.directory, c_.name(), nullptr).value().state, State::kValid);
    EXPECT_EQ(fs::exists(c_.path("blocks.npy")), starts.size() != 6);
    ASSERT_TRUE(remove_cache(c_.directory, c_.name()).ok());
  }
}

TEST_F(CacheDirectoryTest, RowsOfOtherFilesFieldsOrBlocksAreNotUsed) {
  ASSERT_TRUE(fill_all(*c_.store()));
  const CacheOrigin origin = c_.origin;
  const RowLayout layout = c_.layout;
  const auto note = [&] {
    const CacheOpened opened = c_.open().value();
    EXPECT_EQ(opened.store->ready_blocks(), 0u);
    c_.origin = origin;
    c_.layout = layout;
    return opened.notes.size() == 1 ? opened.notes[0] : fmt::format("{} notes", opened.notes.size());
  };
  c_.origin.sources[0].fingerprint.mtime_ns += 1;
  EXPECT_NE(note().find("another version of train.h5: it was written to"), std::string::npos);
  c_.origin.sources[0].fingerprint.size_bytes += 5;
  EXPECT_NE(note().find("grew from 3 to 8 bytes"), std::string::npos);
  c_.origin.sources.push_back(c_.source("b.h5", "b", 0));
  EXPECT_NE(note().find("made from 1 files, not 2"), std::string::npos);
  c_.layout.fields.pop_back();
  EXPECT_EQ(note(), "0 notes");  // loaders of other fields may share a directory
  c_.layout.fields[1].path = "target";
  EXPECT_EQ(note(), "0 notes");
  c_.layout.block_starts = {0, 100};
  EXPECT_NE(note().find("its blocks are other rows"), std::string::npos);
  // The same files in another folder, or mounted on another device, are the same.
  c_.origin.sources[0].fingerprint.inode += 1;
  c_.origin.sources[0].fingerprint.device += 1;
  fs::create_directory(c_.folder.path("elsewhere"));
  c_.origin.sources[0].path = c_.folder.write_text("elsewhere/train.h5", "one");
  const CacheOpened opened = c_.open().value();
  EXPECT_TRUE(opened.store->complete());
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_NE(opened.notes[0].find("used: train.h5: another file took its place"), std::string::npos) << opened.notes[0];
  EXPECT_TRUE(c_.open().value().notes.empty());  // the cache was told of it
}

/// The date of a source is put back behind a write in place: its time of change alone tells.
TEST_F(CacheDirectoryTest, ASourceThatWasTouchedIsComparedByItsBytes) {
  const std::string path = c_.origin.sources[0].path;
  const auto look = [&] { c_.origin.sources[0].fingerprint = *version_now(path); };
  const auto date = fs::last_write_time(path);
  ASSERT_TRUE(fill_all(*c_.store()));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  look();
  CacheOpened opened = c_.open().value();
  EXPECT_TRUE(opened.store->complete());
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_NE(opened.notes[0].find("its inode changed, and neither its size nor its date"), std::string::npos);
  opened.store.reset();
  write_text(path, "two");
  fs::last_write_time(path, date);
  look();
  EXPECT_EQ(find_whole_cache(c_.directory, c_.origin, c_.layout).store, nullptr);
  opened = c_.open().value();
  EXPECT_EQ(opened.store->ready_blocks(), 0u);
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_NE(opened.notes[0].find("not used: made from another version of train.h5"), std::string::npos);
  ASSERT_TRUE(fill_all(*opened.store));
  EXPECT_TRUE(c_.store()->complete());
  EXPECT_EQ(list_caches(c_.directory).value().size(), 1u);
}

/// A build that was begun before a source was touched is of neither version.
TEST_F(CacheDirectoryTest, ABuildOfASourceThatWasTouchedBeginsAnew) {
  const std::string path = c_.origin.sources[0].path;
  const auto date = fs::last_write_time(path);
  {
    const auto store = c_.store();
    ASSERT_EQ(store->look_up(0), Lookup::kFill);
    ASSERT_TRUE(put_rows(*store, 0).ok());
    store->publish(0);
  }
  EXPECT_EQ(c_.store()->look_up(0), Lookup::kReady);
  write_text(path, "two");
  fs::last_write_time(path, date);
  c_.origin.sources[0].fingerprint = *version_now(path);
  EXPECT_EQ(c_.store()->look_up(0), Lookup::kFill);
}

TEST_F(CacheDirectoryTest, SourcesThatChangeMeanwhileAreNotCommitted) {
  fs::create_directory(c_.folder.path("chunks"));
  const std::string chunk = c_.folder.write_text("chunks/0.0", "one");
  const auto long_ago = fs::last_write_time(chunk) - std::chrono::hours(1);
  fs::last_write_time(chunk, long_ago);
  const std::string directory = c_.folder.path("chunks");
  c_.origin.sources.push_back({directory, *version_now(directory), 0});
  const auto store = c_.store();
  for (std::uint64_t block = 0; block < c_.layout.num_blocks(); ++block) {
    ASSERT_EQ(store->look_up(block), Lookup::kFill);
    ASSERT_TRUE(put_rows(*store, block).ok());
    EXPECT_EQ(store->publish(block), block == c_.layout.num_blocks() - 1);
  }
  write_text(chunk, "two");  // in place, and its date put back: no time of the directory tells
  fs::last_write_time(chunk, long_ago);
  EXPECT_EQ(store->finish().error().code(), ErrorCode::kFileChanged);
  c_.folder.write_text("train.h5", "longer than before");
  EXPECT_EQ(store->finish().error().code(), ErrorCode::kFileChanged);
  EXPECT_NE(c_.name().find(".building"), std::string::npos);
}

TEST_F(CacheDirectoryTest, WhatLiesInThePlaceOfACacheIsReplacedOnlyIfItIsOne) {
  ASSERT_TRUE(fill_all(*c_.store()));
  const std::string name = c_.name();
  fs::resize_file(c_.path("image.npy"), 1000);
  {
    const CacheOpened opened = c_.open().value();
    ASSERT_EQ(opened.notes.size(), 1u);
    EXPECT_NE(opened.notes[0].find("image.npy: cache: it has 1000 bytes, 6128 are expected"), std::string::npos)
        << opened.notes[0];
    EXPECT_TRUE(fill_all(*opened.store));
  }
  EXPECT_EQ(c_.name(), name);
  EXPECT_TRUE(all_rows_are_right(*c_.store()));

  ASSERT_TRUE(remove_cache(c_.directory, name).ok());
  c_.folder.write_text("parent/cache/" + name + "/thesis.txt", "years of work");
  const CacheOpened opened = c_.open().value();
  EXPECT_FALSE(fill_all(*opened.store));
  EXPECT_TRUE(opened.store->complete());
  const Status status = opened.store->finish();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.error().what()).find("thesis.txt"), std::string::npos);
  EXPECT_EQ(read_text(c_.directory + "/" + name + "/thesis.txt"), "years of work");
}

TEST_F(CacheDirectoryTest, LeftoversAndForeignFilesDoNoHarm) {
  const std::string key = "/train-";
  { const auto store = c_.store(); }
  const std::string building = c_.name();
  fs::remove_all(c_.directory + "/" + building);
  fs::create_directories(c_.directory + "/" + building);             // killed while it was removed
  fs::create_directories(c_.directory + "/" + building + ".999-0");  // killed while it was prepared
  struct timespec old[2] = {{1000, 0}, {1000, 0}};
  ::utimensat(AT_FDCWD, (c_.directory + "/" + building + ".999-0").c_str(), old, 0);
  c_.folder.write_text("parent/cache/README", "hello");
  c_.folder.write_text("parent/cache/notes/x", "hello");
  c_.folder.write_text("parent/cache/train-0123456789abcdef", "a file with such a name");
  fs::create_directory_symlink("/", c_.directory + "/train-0123456789abcde0");
  EXPECT_TRUE(fill_all(*c_.store()));
  const auto entries = list_caches(c_.directory).value();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].state, State::kValid);
  EXPECT_FALSE(fs::exists(c_.directory + "/" + building + ".999-0"));
  EXPECT_EQ(read_text(c_.directory + "/README"), "hello");
}

TEST_F(CacheDirectoryTest, AStateThatIsNotSaneIsDiscarded) {
  const auto fill_some = [&] {
    const auto store = c_.store();
    ASSERT_EQ(store->look_up(0), Lookup::kFill);
    ASSERT_TRUE(put_rows(*store, 0).ok());
    store->publish(0);
  };
  const auto took = [&] {
    const auto store = c_.store();
    const Lookup found = store->look_up(0);
    if (found == Lookup::kFill) store->abandon(0);
    return found;
  };
  fill_some();
  EXPECT_EQ(took(), Lookup::kReady);
  fs::resize_file(c_.path("state"), 100);
  EXPECT_EQ(took(), Lookup::kFill);
  fill_some();
  write_text(c_.path("state"), "HRBUILD2");
  EXPECT_EQ(took(), Lookup::kFill);
  fill_some();
  fs::remove(c_.path("label.npy"));
  EXPECT_EQ(took(), Lookup::kFill);
  fill_some();
  write_text(c_.path("label.npy"), "\x93NUMPX");
  EXPECT_EQ(took(), Lookup::kFill);
  fill_some();
  std::string state = read_text(c_.path("state"));
  for (std::size_t i = 64; i < state.size(); ++i)
    state[i] = static_cast<char>(i * 37);  // no header, but states and sums
  write_text(c_.path("state"), state);
  EXPECT_TRUE(fill_all(*c_.store()));
  EXPECT_TRUE(all_rows_are_right(*c_.store()));
}

TEST_F(CacheDirectoryTest, ProcessesThatCannotSeeOneAnotherBuildTheirOwn) {
  const auto theirs = c_.store();
  // As if another host, or a container, had made it.
  std::string state = read_text(c_.path("state"));
  const std::string building = c_.name();
  state[40] = static_cast<char>(state[40] ^ 1);
  write_text(c_.path("state"), state);
  const CacheOpened ours = c_.open().value();
  EXPECT_EQ(list_caches(c_.directory).value().size(), 2u);
  ASSERT_EQ(ours.notes.size(), 1u);
  EXPECT_NE(ours.notes[0].find("another host or container"), std::string::npos);
  EXPECT_TRUE(fill_all(*ours.store));
  EXPECT_TRUE(fill_all(*theirs));  // second: what they made goes, what is whole stays
  EXPECT_EQ(list_caches(c_.directory).value().size(), 1u);
  EXPECT_EQ(c_.name().find(".building"), std::string::npos);
  EXPECT_TRUE(all_rows_are_right(*c_.store()));
  EXPECT_TRUE(all_rows_are_right(*theirs));
}

TEST_F(CacheDirectoryTest, FoldersThatCannotBeMadeOrTrusted) {
  EXPECT_EQ(open_cache_directory("", c_.origin, c_.layout).error().code(), ErrorCode::kInvalidArgument);
  c_.folder.write_text("file", "x");
  EXPECT_FALSE(open_cache_directory(c_.folder.path("file"), c_.origin, c_.layout).ok());
  EXPECT_FALSE(open_cache_directory(c_.folder.path("file/below"), c_.origin, c_.layout).ok());
  EXPECT_FALSE(open_cache_directory("/proc/nothing/here", c_.origin, c_.layout).ok());
  c_.layout.fields[0].shape.assign(40, 1);
  EXPECT_EQ(c_.open().error().code(), ErrorCode::kUnsupported);
  c_.layout = layout_of(100, 8);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  fs::create_directories(c_.directory);
  ASSERT_EQ(::chown(c_.directory.c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(c_.directory.c_str(), 0777), 0);
  EXPECT_EQ(c_.open().error().code(), ErrorCode::kPermission);
  ASSERT_EQ(::chmod(c_.directory.c_str(), 0755), 0);
  ASSERT_TRUE(fill_all(*c_.store()));
  ASSERT_EQ(::chown(c_.path("").c_str(), 54321, 54321), 0);  // neither ours nor the directory's owner's
  const CacheOpened opened = c_.open().value();
  EXPECT_FALSE(opened.store->complete());
  ASSERT_EQ(opened.notes.size(), 1u);
  EXPECT_NE(opened.notes[0].find("it belongs to user 54321"), std::string::npos);
}

TEST_F(CacheDirectoryTest, AFolderThatThisUserMayNotWriteToIsReadOrRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user in a child";
  ASSERT_TRUE(fill_all(*c_.store()));
  for (fs::path path = c_.path(""); path != fs::temp_directory_path(); path = path.parent_path())
    fs::permissions(path, fs::perms(0755));
  for (const char* file : {"manifest.json", "crc32c.npy", "image.npy", "label.npy"})
    fs::permissions(c_.path(file), fs::perms(0644));
  const pid_t pid = start([&] {
    if (::setuid(12345) != 0) return 9;
    if (!c_.open().ok() || !all_rows_are_right(*c_.store())) return 1;
    c_.layout.fields.pop_back();
    const auto other = c_.open();
    return !other.ok() && other.error().code() == ErrorCode::kPermission ? 0 : 2;
  });
  EXPECT_EQ(join(pid), 0);
}

TEST_F(CacheDirectoryTest, AFullDiskIsAnErrorAndNoSignal) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto limit_to = [&](std::uint64_t bytes) {
    struct rlimit limit {
      bytes, old_limit.rlim_max
    };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  };
  limit_to(4096);
  const Error at_once = c_.open().error();
  limit_to(old_limit.rlim_cur);
  EXPECT_EQ(at_once.code(), ErrorCode::kWriteFailed);
  EXPECT_NE(std::string(at_once.what()).find("this process may write 4.00 KiB"), std::string::npos) << at_once.what();
  EXPECT_TRUE(list_caches(c_.directory).value().empty());

  const auto store = c_.store();
  ASSERT_EQ(store->look_up(9), Lookup::kFill);  // bytes 128 + 9 * 480 and on
  limit_to(4096);
  const Status status = put_rows(*store, 9);
  limit_to(old_limit.rlim_cur);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kWriteFailed);
  EXPECT_EQ(status.error().field(), "image");
  EXPECT_EQ(status.error().bytes(), (ByteRange{128 + 9 * 480, 480}));
  store->abandon(9);
  EXPECT_TRUE(fill_all(*store));
}

TEST_F(CacheDirectoryTest, AFullFileSystemIsFoundAtTheStart) {
  fs::create_directories(c_.directory);
  if (::mount("none", c_.directory.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "a tmpfs of 1 MiB cannot be mounted here (errno " << errno << ")";
  c_.layout = layout_of(20000, 8);
  const auto big = c_.open();
  c_.layout = layout_of(100, 8);
  const auto small = c_.open();
  const bool filled = small.ok() && fill_all(*small->store);
  const bool listed = list_caches(c_.directory).value().size() == 1;
  ::umount2(c_.directory.c_str(), MNT_DETACH);
  ASSERT_FALSE(big.ok());
  EXPECT_EQ(big.error().code(), ErrorCode::kWriteFailed);
  EXPECT_NE(big.error().message().find("are free on this file system"), std::string::npos);
  EXPECT_TRUE(filled);
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace headrace
