#include "storage/local_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/testing/temporary_folder.h"
#include "storage/testing/memory_file.h"

namespace headrace {
namespace {

using Bytes = std::vector<std::byte>;

/// Real calls, of which the n-th pread or open (from 0) fails or stops short as the test says.
class FaultyCalls final : public FileCalls {
 public:
  std::map<int, int> pread_errno, open_errno;  // number of the call -> errno
  std::size_t longest_read = ~std::size_t{0};
  std::function<void(int)> before_pread = [](int) {};
  mutable int preads = 0, opens = 0, closes = 0;
  mutable std::vector<int> pauses_ms;

  int open(const char* path) const override {
    if (const auto it = open_errno.find(opens++); it != open_errno.end()) return errno = it->second, -1;
    return FileCalls::open(path);
  }
  int close(int fd) const override { return ++closes, FileCalls::close(fd); }
  ssize_t pread(int fd, void* out, std::size_t size, off_t offset) const override {
    before_pread(preads);
    if (const auto it = pread_errno.find(preads++); it != pread_errno.end()) return errno = it->second, -1;
    return FileCalls::pread(fd, out, std::min(size, longest_read), offset);
  }
  void pause_ms(int milliseconds) const override { pauses_ms.push_back(milliseconds); }
};

class LocalFileTest : public ::testing::Test {
 protected:
  std::shared_ptr<LocalFile> open(const std::string& path) { return LocalFile::open(path, calls_, pool_).value(); }
  std::string pattern_file(const char* name, std::uint64_t size = 1000) {
    return folder_.write(name, MemoryFile::pattern(size)->bytes());
  }
  static bool reads_pattern(const LocalFile& file, std::uint64_t offset, std::size_t size) {
    Bytes out(size);
    if (!file.read_at(offset, out).ok()) return false;
    for (std::size_t i = 0; i < size; ++i)
      if (out[i] != MemoryFile::pattern_byte(offset + i)) return false;
    return true;
  }
  Error read_error(const LocalFile& file) {
    Bytes out(100);
    Status status = file.read_at(10, out);
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error(ErrorCode::kInternal, "no error") : status.error();
  }
  TemporaryFolder folder_;
  FaultyCalls calls_;
  FdPool pool_{8};
};

TEST_F(LocalFileTest, SurvivesInterruptsAndShortReads) {
  const auto file = open(pattern_file("a"));
  calls_.longest_read = 7;
  for (int n = 0; n < 400; n += 3) calls_.pread_errno[n] = EINTR;
  EXPECT_TRUE(reads_pattern(*file, 3, 900));
  EXPECT_GT(calls_.preads, 900 / 7);
  EXPECT_TRUE(calls_.pauses_ms.empty());
}

TEST_F(LocalFileTest, RetriesTransientErrorsTwiceThenNamesTheErrno) {
  for (const int error_number : {EIO, EAGAIN}) {
    const auto file = open(pattern_file("a"));
    calls_.preads = 0;
    calls_.pauses_ms.clear();
    calls_.pread_errno = {{0, error_number}, {1, error_number}};
    EXPECT_TRUE(reads_pattern(*file, 10, 100));
    EXPECT_EQ(calls_.pauses_ms, (std::vector<int>{1, 10}));
    calls_.preads = 0;
    calls_.pread_errno[2] = error_number;
    const Error error = read_error(*file);
    EXPECT_EQ(error.code(), ErrorCode::kReadFailed);
    EXPECT_NE(std::string(error.what()).find(error_number == EIO ? "EIO" : "EAGAIN"), std::string::npos);
    EXPECT_EQ(error.file(), file->name());
    EXPECT_EQ(error.bytes(), (ByteRange{10, 100}));
  }
}

TEST_F(LocalFileTest, EveryNthReadErrorEndsInTheRightBytesOrATypedError) {
  const auto file = open(pattern_file("a", 5000));
  calls_.longest_read = 512;
  for (const int error_number : {EINTR, EIO, EAGAIN, ESTALE, EBADF, EINVAL, ENOTCONN})
    for (int n = 0; n < 10; ++n) {
      calls_.preads = 0;
      calls_.pread_errno = {{n, error_number}};
      Bytes out(5000);
      const Status status = file->read_at(0, out);
      const bool fatal = error_number == EBADF || error_number == EINVAL || error_number == ENOTCONN;
      ASSERT_EQ(status.ok(), !fatal) << error_number << " at " << n;
      if (fatal) {
        EXPECT_EQ(status.error().code(), ErrorCode::kReadFailed);
      } else {
        EXPECT_TRUE(std::ranges::equal(out, MemoryFile::pattern(5000)->bytes()));
      }
    }
}

TEST_F(LocalFileTest, StaleHandleIsOpenedAgainIfItIsTheSameFile) {
  const std::string path = pattern_file("a");
  const auto file = open(path);
  calls_.pread_errno = {{0, ESTALE}};
  EXPECT_TRUE(reads_pattern(*file, 10, 100));
  EXPECT_EQ(calls_.opens, 2);
  EXPECT_EQ(calls_.closes, 1);

  calls_.preads = 0;
  calls_.pread_errno = {{0, ESTALE}};
  folder_.write("b", MemoryFile::pattern(900)->bytes());
  std::filesystem::rename(folder_.path("b"), path);
  EXPECT_EQ(read_error(*file).code(), ErrorCode::kFileChanged);

  calls_.preads = 0;
  calls_.pread_errno = {{0, ESTALE}};
  std::filesystem::remove(path);
  const Error error = read_error(*file);
  EXPECT_EQ(error.code(), ErrorCode::kFileChanged);
  EXPECT_NE(std::string(error.what()).find("removed"), std::string::npos);
}

TEST_F(LocalFileTest, FileThatShrinksWhileItIsReadIsNamedWithBothSizes) {
  const std::string path = pattern_file("a");
  const auto file = open(path);
  calls_.longest_read = 50;
  calls_.before_pread = [&](int n) {
    if (n == 1) std::filesystem::resize_file(path, 40);
  };
  const Error error = read_error(*file);
  EXPECT_EQ(error.code(), ErrorCode::kFileChanged);
  EXPECT_NE(std::string(error.what()).find("shrank from 1000 to 40 bytes"), std::string::npos) << error.what();
  EXPECT_FALSE(error.hint().empty());
}

TEST_F(LocalFileTest, ChangesOnDiskAreNoticedAndNamed) {
  const auto said = [](const Status& status) -> std::string {
    EXPECT_FALSE(status.ok());
    if (status.ok()) return "";
    EXPECT_EQ(status.error().code(), ErrorCode::kFileChanged);
    return status.error().what();
  };
  {
    const std::string path = pattern_file("appended");
    const auto file = open(path);
    EXPECT_TRUE(file->check_unchanged().ok());
    std::ofstream(path, std::ios::app) << "more";
    EXPECT_NE(said(file->check_unchanged()).find("grew from 1000 to 1004 bytes"), std::string::npos);
  }
  {
    const std::string path = pattern_file("replaced");
    const auto file = open(path);
    folder_.write("other", MemoryFile::pattern(1000)->bytes());
    std::filesystem::rename(folder_.path("other"), path);
    const std::string text = said(file->check_unchanged());
    EXPECT_NE(text.find("another file took its place"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(file->fingerprint().inode)), std::string::npos) << text;
  }
  {
    const std::string path = pattern_file("rewritten");
    const auto file = open(path);
    pattern_file("rewritten");  // in place, equal size
    const timespec times[2]{{0, UTIME_OMIT}, {1'700'000'000, 5}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    const std::string text = said(file->check_unchanged());
    EXPECT_NE(text.find("it was written to (modified 2023-11-14 22:13:20.000000005 UTC, before 20"), std::string::npos)
        << text;
  }
  {
    const std::string path = pattern_file("removed");
    const auto file = open(path);
    std::filesystem::remove(path);
    EXPECT_NE(said(file->check_unchanged()).find("removed"), std::string::npos);
    EXPECT_TRUE(reads_pattern(*file, 0, 1000)) << "the descriptor still has it";
  }
}

TEST_F(LocalFileTest, RefusesWhatIsNoFileWithoutHanging) {
  const auto refused = [&](const std::string& path) {
    auto file = LocalFile::open(path, calls_, pool_);
    EXPECT_FALSE(file.ok()) << path;
    return file.ok() ? Error(ErrorCode::kInternal, "opened") : file.error();
  };
  EXPECT_EQ(refused(folder_.path("absent")).code(), ErrorCode::kNotFound);
  EXPECT_EQ(refused(pattern_file("a") + "/b").code(), ErrorCode::kNotFound);
  EXPECT_EQ(refused(folder_.path(".")).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(std::string("a\0b", 3)).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused("/dev/null").code(), ErrorCode::kInvalidArgument);
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(refused(fifo).code(), ErrorCode::kInvalidArgument);
  for (const auto& [error_number, code] : std::map<int, ErrorCode>{{EACCES, ErrorCode::kPermission},
                                                                   {EPERM, ErrorCode::kPermission},
                                                                   {EIO, ErrorCode::kReadFailed},
                                                                   {EMFILE, ErrorCode::kReadFailed},
                                                                   {ELOOP, ErrorCode::kReadFailed}}) {
    calls_.open_errno = {{calls_.opens, error_number}};
    const Error error = refused(pattern_file("a"));
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.stage(), "open");
  }
  calls_.open_errno = {{calls_.opens, EINTR}};
  EXPECT_TRUE(reads_pattern(*open(pattern_file("a")), 0, 10));
  EXPECT_EQ(pool_.num_open(), 0u);
  EXPECT_EQ(calls_.closes, calls_.opens - 2 /* ENOENT, ENOTDIR */ - 5 - 1) << "no descriptor leaks";
}

TEST_F(LocalFileTest, ManyFilesShareFewDescriptors) {
  std::vector<std::shared_ptr<LocalFile>> files;
  for (int i = 0; i < 40; ++i) files.push_back(open(pattern_file(("f" + std::to_string(i)).c_str())));
  EXPECT_LE(pool_.num_open(), 8u);
  for (int round = 0; round < 3; ++round)
    for (const auto& file : files) {
      ASSERT_TRUE(reads_pattern(*file, 5, 900));
      ASSERT_LE(pool_.num_open(), 8u);
    }
  EXPECT_EQ(calls_.opens - calls_.closes, static_cast<int>(pool_.num_open()));
  // A file in steady use keeps its descriptor while others come and go.
  const int opens = calls_.opens;
  for (const auto& file : files) {
    ASSERT_TRUE(reads_pattern(*files[0], 0, 10));
    ASSERT_TRUE(reads_pattern(*file, 0, 10));
  }
  EXPECT_LE(calls_.opens - opens, 45);
  files.clear();
  EXPECT_EQ(pool_.num_open(), 0u);
  EXPECT_EQ(calls_.opens, calls_.closes);
}

TEST_F(LocalFileTest, FileReplacedWhileItsDescriptorWasClosedIsNoticedWhenItIsReadAgain) {
  const std::string path = pattern_file("a");
  const auto file = open(path);
  ASSERT_TRUE(pool_.close_one());
  EXPECT_TRUE(reads_pattern(*file, 0, 100));
  ASSERT_TRUE(pool_.close_one());
  folder_.write("b", MemoryFile::pattern(1000)->bytes());
  std::filesystem::rename(folder_.path("b"), path);
  EXPECT_EQ(read_error(*file).code(), ErrorCode::kFileChanged);
}

TEST_F(LocalFileTest, RunningOutOfDescriptorsClosesOthersFirst) {
  const auto a = open(pattern_file("a")), b = open(pattern_file("b"));
  ASSERT_TRUE(pool_.close_one() && pool_.close_one());
  ASSERT_TRUE(reads_pattern(*a, 0, 10));
  calls_.open_errno = {{calls_.opens, EMFILE}};
  EXPECT_TRUE(reads_pattern(*b, 0, 10));
  EXPECT_EQ(pool_.num_open(), 1u) << "a's was given up";
  ASSERT_TRUE(pool_.close_one());
  calls_.open_errno = {{calls_.opens, EMFILE}};
  const Error error = read_error(*b);
  EXPECT_EQ(error.code(), ErrorCode::kReadFailed);
  EXPECT_NE(std::string(error.what()).find("ulimit -n"), std::string::npos);
  EXPECT_TRUE(reads_pattern(*b, 0, 10)) << "not for ever";
}

TEST(LocalFileThreads, ReadWhileDescriptorsComeAndGo) {
  const TemporaryFolder folder;
  FdPool pool(3);
  std::vector<std::shared_ptr<LocalFile>> files;
  for (int i = 0; i < 12; ++i)
    files.push_back(LocalFile::open(folder.write(std::to_string(i), MemoryFile::pattern(1000 + i)->bytes()),
                                    FileCalls::system(), pool)
                        .value());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Bytes out(500);
      for (unsigned i = 0; i < 500; ++i) {
        const LocalFile& file = *files[(i * 7 + t) % files.size()];
        wrong += !file.read_at(i, out).ok() || out[0] != MemoryFile::pattern_byte(i) ||
                 out[499] != MemoryFile::pattern_byte(i + 499);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pool.num_open(), 3u + 4);
}

void read_660_files_under_64_descriptors() {
  {
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    FdPool pool(FdPool::default_limit());
    const TemporaryFolder folder;
    std::vector<std::shared_ptr<LocalFile>> files;
    int good = 0;
    for (int i = 0; i < 660; ++i)
      files.push_back(
          LocalFile::open(folder.write(std::to_string(i), MemoryFile::pattern(100)->bytes()), FileCalls::system(), pool)
              .value());
    for (int round = 0; round < 2; ++round)
      for (const auto& file : files) {
        Bytes out(100);
        good += file->read_at(0, out).ok() && out[99] == MemoryFile::pattern_byte(99);
      }
    std::fprintf(stderr, "%d reads, %zu of %zu open", good, pool.num_open(), pool.limit());
  }
  std::_Exit(0);
}

TEST(LocalFileLimit, TheSettingCountsAndNonsenseIsRefused) {
  EXPECT_EQ(FdPool::limit_of(nullptr).value(), FdPool::default_limit());
  EXPECT_EQ(FdPool::limit_of("").value(), FdPool::default_limit());
  EXPECT_EQ(FdPool::limit_of("7").value(), 7u);
  EXPECT_LE(FdPool::default_limit(), 1024u);
  for (const char* wrong : {"0", "-1", "many", "7 files", "1e3", "99999999999999999999999"}) {
    const auto limit = FdPool::limit_of(wrong);
    ASSERT_FALSE(limit.ok()) << wrong;
    EXPECT_EQ(limit.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(limit.error().message().find(wrong), std::string::npos);
    EXPECT_NE(limit.error().hint().find("ulimit -n"), std::string::npos);
  }
}

TEST(LocalFileLimit, SixHundredSixtyFilesUnderSixtyFourDescriptors) {
  // In a child, whose limit may be lowered.
  EXPECT_EXIT(read_660_files_under_64_descriptors(), testing::ExitedWithCode(0), "1320 reads, 16 of 16 open");
}

}  // namespace
}  // namespace headrace
