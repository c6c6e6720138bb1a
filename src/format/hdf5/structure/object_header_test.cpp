#include "format/hdf5/structure/object_header.h"

#include <gtest/gtest.h>

#include "format/hdf5/structure/metadata_testing.h"

namespace headrace::hdf5 {
namespace {

// Names of external files that share the bytes of a long one: libhdf5 would copy it for each.
TEST(ObjectHeader, NamesOfExternalFilesThatShareBytes) {
  for (const std::uint64_t count : {1, 2, 3, 100}) {
    Disk disk;
    const std::uint64_t heap = disk.add(
        disk.block("HEAP").zeros(4).length(1001).length(1).address(disk.end() + 32).text(std::string(1000, 'x')));
    disk.add(disk.block().zeros(1));
    Block list = disk.block().number(1, 4).number(count, 2).number(count, 2).address(heap);
    for (std::uint64_t i = 0; i < count; ++i) list.length(0).length(0).length(1);
    HeaderMessage message;
    message.type = static_cast<std::uint16_t>(MessageType::kExternalFiles);
    message.bytes = list.bytes();
    // 2194 bytes of names are twice the file; then comes the next thing that is wrong with it.
    expect_damaged(check_dataset(disk.file(), disk.superblock, {message}),
                   count < 3 ? "without shape" : "names longer than the file");
  }
}

}  // namespace
}  // namespace headrace::hdf5
