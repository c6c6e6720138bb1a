// A build without libhdf5 says what it meets, and what to install.
#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"
#include "format/format_reader.h"
#include "format/library_versions.h"

namespace headrace {
namespace {

TEST(WithoutHdf5, FilesAreRecognisedAndRefused) {
  const TemporaryFolder folder;
  const std::string signature = "\x89HDF\r\n\x1a\n";
  for (const std::size_t user_block : {0, 512, 4096}) {
    const std::string path =
        folder.write_text("a.h5", std::string(user_block, ' ') + signature + std::string(100, '\0'));
    const auto file = open_file(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(file.error().file(), path);
    EXPECT_NE(file.error().message().find("an HDF5 file"), std::string::npos) << file.error().what();
    EXPECT_NE(file.error().hint().find("libhdf5-dev"), std::string::npos) << file.error().what();
  }
}

TEST(WithoutHdf5, OtherFilesAreNot) {
  const TemporaryFolder folder;
  for (const std::string& text : {std::string("a,b\n1,2\n"), std::string(5000, 'x'), std::string("\x89HD")}) {
    const auto file = open_file(folder.write_text("a", text));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().message().find("an HDF5 file, and"), std::string::npos) << file.error().what();
  }
}

TEST(WithoutHdf5, IsInNoListOfLibraries) {
  for (const auto& [name, version] : format_library_versions()) EXPECT_NE(name, "libhdf5") << version;
}

}  // namespace
}  // namespace headrace
