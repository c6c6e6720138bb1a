#include "storage/storage_kind.h"

#include <gtest/gtest.h>

#include "base/testing/fake_system.h"
#include "storage/mount_table.h"

namespace headrace {
namespace {

constexpr std::uint64_t kExt = 0xEF53, kOverlay = 0x794C7630, kFuse = 0x65735546, kBtrfs = 0x9123683E;

/// A machine with a spinning sda (partition sda2), an NVMe disk, a crypt volume dm-0 on sda2, and dm-1 on both disks.
class StorageTest : public testing::FakeSystem {
 protected:
  StorageTest() {
    write("/sys/devices/pci0/block/sda/queue/rotational", "1\n");
    write("/sys/devices/pci0/block/sda/sda2/partition", "2\n");
    write("/sys/devices/pci0/block/nvme0n1/queue/rotational", "0\n");
    write("/sys/devices/pci0/block/nvme0n1/nvme0n1p1/partition", "1\n");
    write("/sys/devices/pci0/block/nvme0n1/nvme0n1p1/dev", "259:1\n");
    write("/sys/devices/virtual/block/dm-0/queue/rotational", "0\n");  // device-mapper may say anything
    write("/sys/devices/virtual/block/dm-1/queue/rotational", "0\n");
    write("/sys/devices/pci0/block/vda/queue/rotational", "1\n");
    link("/sys/devices/virtual/block/dm-0/slaves/sda2", "/sys/devices/pci0/block/sda/sda2");
    link("/sys/devices/virtual/block/dm-1/slaves/nvme0n1p1", "/sys/devices/pci0/block/nvme0n1/nvme0n1p1");
    link("/sys/devices/virtual/block/dm-1/slaves/dm-0", "/sys/devices/virtual/block/dm-0");
    link("/sys/dev/block/8:2", "/sys/devices/pci0/block/sda/sda2");
    link("/sys/dev/block/259:1", "/sys/devices/pci0/block/nvme0n1/nvme0n1p1");
    link("/sys/class/block/nvme0n1p1", "/sys/devices/pci0/block/nvme0n1/nvme0n1p1");
    link("/sys/dev/block/253:0", "/sys/devices/virtual/block/dm-0");
    link("/sys/dev/block/253:1", "/sys/devices/virtual/block/dm-1");
    link("/sys/dev/block/254:0", "/sys/devices/pci0/block/vda");
  }
  Storage of(std::uint64_t magic, unsigned major, unsigned minor, const std::string& path = "/data/a.h5") {
    return classify_storage({magic, major, minor, path}, root_);
  }
};

TEST_F(StorageTest, DisksThroughPartitionsAndLayers) {
  EXPECT_EQ(of(kExt, 8, 2).kind, StorageKind::kSpinning);
  EXPECT_EQ(of(kExt, 259, 1).kind, StorageKind::kSolidState);
  EXPECT_EQ(of(kExt, 253, 0).kind, StorageKind::kSpinning) << "what dm-0 stands on";
  EXPECT_EQ(of(kExt, 253, 1).kind, StorageKind::kSpinning) << "the slower of two";
  EXPECT_EQ(of(kExt, 254, 0).kind, StorageKind::kVirtualDisk);
  EXPECT_EQ(of(kExt, 77, 7).kind, StorageKind::kLocal);
  EXPECT_EQ(of(0x12345, 77, 7).kind, StorageKind::kUnknown);
  EXPECT_NE(of(kExt, 259, 1).name.find("nvme0n1p1"), std::string::npos);
}

TEST_F(StorageTest, FileSystemsByTheirNumbers) {
  const std::pair<std::uint64_t, StorageKind> expected[] = {
      {0x01021994, StorageKind::kMemory},   {0x6969, StorageKind::kNfs},      {0x0BD00BD0, StorageKind::kLustre},
      {0x47504653, StorageKind::kGpfs},     {0xFF534D42, StorageKind::kCifs}, {0xFE534D42, StorageKind::kCifs},
      {0x01021997, StorageKind::kHostShare}};
  for (const auto& [magic, kind] : expected) {
    const Storage found = of(magic, 0, 40);
    EXPECT_EQ(found.kind, kind) << found.name;
    EXPECT_FALSE(found.name.empty());
    EXPECT_FALSE(found.meaning().empty());
  }
  EXPECT_TRUE(of(0x6969, 0, 40).shared());
  EXPECT_FALSE(of(kExt, 8, 2).shared());
}

TEST_F(StorageTest, TheMountTableNamesServersAndPrograms) {
  write("/proc/self/mountinfo",
        "27 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
        "60 27 0:50 / /data rw shared:7 - nfs4 server:/export rw\n"
        "61 27 0:51 / /cloud rw - fuse.gcsfuse bucket rw\n"
        "62 27 0:52 / /host rw - virtiofs share rw\n"
        "63 27 0:53 /sub /fast\\040disk rw - btrfs /dev/nvme0n1p1 rw,compress=zstd\n");
  EXPECT_EQ(of(0x6969, 0, 50).name, "NFS (server:/export)");
  EXPECT_NE(of(kFuse, 0, 51, "/cloud/a.h5").name.find("gcsfuse"), std::string::npos);
  EXPECT_EQ(of(kFuse, 0, 52, "/host/a.h5").kind, StorageKind::kHostShare);
  EXPECT_EQ(of(kBtrfs, 0, 99, "/fast disk/a.h5").kind, StorageKind::kSolidState) << "found by the mount's device";
  EXPECT_EQ(mount_of("/fast disk/a.h5", root_).option("compress="), "zstd");
  EXPECT_EQ(mount_of("/database/x", root_).point, "/") << "/data is no prefix of it";
}

TEST_F(StorageTest, OverlaysSayWhatIsBelowWhereItCanBeSeen) {
  write("/proc/self/mountinfo", "27 1 0:60 / / rw - overlay overlay rw,lowerdir=/gone:/gone2,upperdir=/gone3\n");
  EXPECT_EQ(of(kOverlay, 0, 60).kind, StorageKind::kOverlay);
  EXPECT_EQ(of(kOverlay, 0, 60).name, "a container overlay");
  write("/layers/upper/x", "");
  write("/proc/self/mountinfo", "27 1 0:60 / / rw - overlay overlay rw,lowerdir=/gone,upperdir=/layers/upper\n");
  EXPECT_TRUE(of(kOverlay, 0, 60).name.starts_with("a container's layers on ")) << of(kOverlay, 0, 60).name;
}

TEST_F(StorageTest, DamagedTablesAreSurvived) {
  write("/proc/self/mountinfo", "\nx\n1 2 3 4 5 - \n- - - - - - -\n27 1 8:2 / / rw - ext4\n");
  EXPECT_EQ(of(kExt, 8, 2).kind, StorageKind::kSpinning);
}

TEST(StorageKind, ThisMachineHasSome) {
  EXPECT_FALSE(storage_of("/").name.empty());
  EXPECT_EQ(storage_of("/no/such/file").kind, StorageKind::kUnknown);
  EXPECT_EQ(to_string(StorageKind::kUnknown), "unknown");
  EXPECT_EQ(to_string(StorageKind::kSolidState), "solid_state");
}

}  // namespace
}  // namespace headrace
