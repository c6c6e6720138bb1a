// What kind of storage a file lies on, and what that means for loading: the first question when reading is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

enum class StorageKind : std::uint8_t {
  kMemory,       ///< tmpfs, ramfs.
  kSolidState,   ///< A local disk without moving parts.
  kSpinning,     ///< A local disk with moving parts.
  kVirtualDisk,  ///< A virtual machine's disk: what is behind it is the host's matter.
  kLocal,        ///< Some local disk of which nothing more is known.
  kNfs,
  kLustre,
  kGpfs,
  kCifs,
  kCluster,    ///< Ceph, BeeGFS and their like.
  kFuse,       ///< A program of the user (sshfs, gcsfuse, s3fs).
  kOverlay,    ///< A container's layers, and what is below cannot be seen.
  kHostShare,  ///< 9p, virtiofs: a directory of the host inside a virtual machine.
  kUnknown,
};
/// Return the kind as a word for programs, for example "solid_state" or "nfs".
std::string_view to_string(StorageKind kind);

struct Storage {
  StorageKind kind = StorageKind::kUnknown;
  std::string name;  ///< For people: "local SSD (nvme0n1, ext4)", "NFS (server:/data)".
  /// Return true if other machines use it as well: reads that seem cold may come from a server's memory.
  [[nodiscard]] bool shared() const;
  /// Return one sentence: what it means for loading.
  [[nodiscard]] std::string_view meaning() const;
};

/// What the system says of a path. Tests give their own.
struct StorageFacts {
  std::uint64_t magic = 0;  ///< statfs f_type.
  unsigned major = 0, minor = 0;
  std::string path;  ///< Absolute.
};

/// Return where a file lies. Errors are answers here: kUnknown. Costs a few small files of /proc and /sys.
Storage storage_of(const std::string& path);
/// Return the storage that these facts describe. \param root  Put before /proc and /sys paths, for tests.
Storage classify_storage(const StorageFacts& facts, const std::string& root = "");

/// Return true if the disk has moving parts, from /sys/dev/block/MAJOR:MINOR, through partitions, device-mapper and md
/// to the disks below; nullopt if the system does not say.
std::optional<bool> is_rotational(unsigned major, unsigned minor, const std::string& root = "");

}  // namespace headrace
