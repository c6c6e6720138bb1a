#include "demo/write_jets.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/temporary_folder.h"
#include "demo/hdf5_handle.h"
#include "demo/marker.h"

namespace headrace::demo {
namespace {

namespace fs = std::filesystem;

class WriteJets : public testing::Test {
 protected:
  JetOptions options(const std::string& below = "") const {
    JetOptions options;
    options.out_dir = (dir_ / below).string();
    options.num_jets = 301;
    options.files = 2;
    options.chunk_rows = 64;
    options.threads = 2;
    return options;
  }
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  const fs::path dir_ = folder_.path();
};

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <class T>
std::vector<T> read_array(const std::string& path, const char* name, hid_t type) {
  const FileHandle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const DatasetHandle dataset(H5Dopen2(file.get(), name, H5P_DEFAULT));
  const SpaceHandle space(H5Dget_space(dataset.get()));
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  EXPECT_GE(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  return values;
}

TEST_F(WriteJets, LibraryReadsBackWhatTheGeneratorMade) {
  for (const char* storage : {"gzip-4", "gzip-4+shuffle", "none", "contiguous"}) {
    JetOptions asked = options();
    asked.storage = *parse_storage(storage);
    asked.num_jets = 150;
    const auto summary = write_jets(asked);
    ASSERT_TRUE(summary.ok()) << summary.error().what();
    ASSERT_EQ(summary->paths.size(), 2U);
    std::uint64_t index = 0;
    for (const std::string& path : summary->paths) {
      const auto features = read_array<float>(path, "feature_matrix", H5T_NATIVE_FLOAT);
      const auto pairs = read_array<float>(path, "adjacency_matrix", H5T_NATIVE_FLOAT);
      const auto labels = read_array<std::int64_t>(path, "labels", H5T_NATIVE_INT64);
      ASSERT_EQ(labels.size(), 75U);
      ASSERT_EQ(features.size(), labels.size() * kMaxParticles * kFeatures);
      ASSERT_EQ(pairs.size(), labels.size() * kPairs);
      for (std::size_t row = 0; row < labels.size(); ++row, ++index) {
        Jet jet;
        make_jet(asked.seed, index, jet);
        std::array<float, kMaxParticles * kFeatures> expected;
        std::array<float, kPairs> expected_pairs;
        write_features(jet, expected);
        write_pairs(jet, PairLayout::kTriuMax, expected_pairs);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), features.data() + row * expected.size())) << storage;
        ASSERT_TRUE(std::equal(expected_pairs.begin(), expected_pairs.end(), pairs.data() + row * kPairs)) << storage;
        ASSERT_EQ(labels[row], static_cast<std::int64_t>(index * 10 / 150));  // ten equal runs
      }
    }
  }
}

TEST_F(WriteJets, BytesDoNotDependOnThreads) {
  std::vector<std::string> contents;
  for (const int threads : {1, 2, 5}) {
    JetOptions asked = options(std::to_string(threads));
    asked.threads = threads;
    const auto summary = write_jets(asked);
    ASSERT_TRUE(summary.ok()) << summary.error().what();
    contents.push_back(content(summary->paths[0]) + content(summary->paths[1]));
  }
  EXPECT_TRUE(contents[0] == contents[1]);
  EXPECT_TRUE(contents[0] == contents[2]);
}

TEST_F(WriteJets, EqualOptionsReuseOtherOptionsReplace) {
  JetOptions asked = options();
  ASSERT_TRUE(write_jets(asked).ok());
  const auto again = write_jets(asked);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->reused);
  EXPECT_EQ(again->paths.size(), 2U);

  asked.files = 1;
  const auto other = write_jets(asked);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->reused);
  EXPECT_FALSE(fs::exists(dir_ / "train_01.h5")) << "the glob of the new set would catch a file of the old one";

  fs::resize_file(other->paths[0], 100);
  const auto repaired = write_jets(asked);
  ASSERT_TRUE(repaired.ok());
  EXPECT_FALSE(repaired->reused);
}

TEST_F(WriteJets, ForeignFilesAreNeverOverwritten) {
  std::ofstream(dir_ / "train_01.h5") << "precious";
  const auto summary = write_jets(options());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(content((dir_ / "train_01.h5").string()), "precious");
}

TEST_F(WriteJets, AMarkerFromElsewhereRemovesNothingOutside) {
  const fs::path outside = dir_ / "outside.h5";
  std::ofstream(outside) << "precious";
  fs::create_directory(dir_ / "set");
  std::ofstream(dir_ / "set" / kMarkerName) << R"({"options": {}, "files": [{"name": "../outside.h5", "bytes": 8}]})";
  ASSERT_TRUE(write_jets(options("set")).ok());
  EXPECT_TRUE(fs::exists(outside));
}

TEST_F(WriteJets, StoppingLeavesNothing) {
  JetOptions asked = options();
  asked.progress = [](const WriteProgress& progress) { return progress.done_jets < 200; };  // in the second file
  const auto summary = write_jets(asked);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(left_over(), std::vector<std::string>{});
}

TEST_F(WriteJets, ProgressReachesTheTotal) {
  JetOptions asked = options();
  WriteProgress last;
  asked.progress = [&](const WriteProgress& progress) {
    EXPECT_GT(progress.done_jets, last.done_jets);
    last = progress;
    return true;
  };
  ASSERT_TRUE(write_jets(asked).ok());
  EXPECT_EQ(last.done_jets, 301U);
  EXPECT_EQ(last.total_jets, 301U);
}

/// Files may not grow past a limit: what a full disk is to a program, errno apart.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    former_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{bytes, former_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_handler_);
  }

 private:
  rlimit former_{};
  void (*former_handler_)(int);
};

TEST_F(WriteJets, AFullDiskIsALocatedErrorAndLeavesNothing) {
  for (const rlim_t limit : {0U, 1000U, 3000U, 100'000U, 300'000U, 700'000U}) {
    for (const char* storage : {"gzip-4", "contiguous"}) {
      JetOptions asked = options();
      asked.storage = *parse_storage(storage);
      const FileSizeLimit full(limit);
      const auto summary = write_jets(asked);
      ASSERT_FALSE(summary.ok()) << limit;
      EXPECT_EQ(summary.error().code(), ErrorCode::kWriteFailed) << summary.error().what();
      EXPECT_NE(summary.error().file().find("train_0"), std::string::npos) << summary.error().what();
      EXPECT_EQ(left_over(), std::vector<std::string>{}) << summary.error().what();
    }
  }
  EXPECT_TRUE(write_jets(options()).ok()) << "and libhdf5 works afterwards";
  EXPECT_EXIT((H5close(), std::exit(0)), testing::ExitedWithCode(0), "^$") << "and lets the program end in silence";
}

TEST_F(WriteJets, ADirectoryThatCannotBeIsALocatedError) {
  std::ofstream(dir_ / "file") << "not a directory";
  const auto summary = write_jets(options("file/below"));
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code(), ErrorCode::kWriteFailed);
  EXPECT_NE(std::string(summary.error().what()).find("file/below"), std::string::npos);
}

TEST_F(WriteJets, ADirectoryWithoutPermissionIsALocatedError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(dir_, fs::perms::owner_read | fs::perms::owner_exec);
  const auto summary = write_jets(options());
  fs::permissions(dir_, fs::perms::owner_all);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code(), ErrorCode::kPermission) << summary.error().what();
}

TEST(JetOptions, NonsenseIsRefusedByName) {
  const auto message = [](auto change) {
    JetOptions options;
    options.out_dir = "somewhere";
    change(options);
    const auto summary = write_jets(options);
    return summary.ok() ? std::string() : std::string(summary.error().what());
  };
  EXPECT_NE(message([](JetOptions& o) { o.num_jets = 0; }).find("jets must be"), std::string::npos);
  EXPECT_NE(message([](JetOptions& o) { o.files = 0; }).find("files must be"), std::string::npos);
  EXPECT_NE(message([](JetOptions& o) { o.num_jets = 3; }).find("cannot fill 4 files"), std::string::npos);
  EXPECT_NE(message([](JetOptions& o) { o.chunk_rows = 0; }).find("chunk rows must be"), std::string::npos);
  EXPECT_NE(message([](JetOptions& o) { o.threads = -1; }).find("threads must be"), std::string::npos);
  EXPECT_NE(message([](JetOptions& o) { o.out_dir = ""; }).find("no name"), std::string::npos);
}

TEST(JetOptions, StorageNamesComeBack) {
  for (const char* name :
       {"gzip-0", "gzip-4", "gzip-9+shuffle", "lzf", "lzf+shuffle", "blosc-zstd", "none", "contiguous"}) {
    const auto storage = parse_storage(name);
    ASSERT_TRUE(storage.ok()) << name;
    EXPECT_EQ(to_string(*storage), name);
  }
  for (const char* name : {"", "gzip-", "gzip-10", "none+shuffle", "contiguous+shuffle", "zstd", "+shuffle"}) {
    EXPECT_FALSE(parse_storage(name).ok()) << name;
  }
}

}  // namespace
}  // namespace headrace::demo
