#include "storage/storage_kind.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/machine/cgroup.h"
#include "storage/mount_table.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
constexpr int kDeepest = 8;  // layers below layers

struct Magic {
  std::uint64_t number;
  StorageKind kind;
  std::string_view name;
};
/// linux/magic.h, and those of file systems that are not in the kernel (coreutils' stat.c lists them).
constexpr std::array kMagics = {
    Magic{0x01021994, StorageKind::kMemory, "tmpfs"},
    Magic{0x858458F6, StorageKind::kMemory, "ramfs"},
    Magic{0x6969, StorageKind::kNfs, "NFS"},
    Magic{0x0BD00BD0, StorageKind::kLustre, "Lustre"},
    Magic{0x47504653, StorageKind::kGpfs, "GPFS"},
    Magic{0xFF534D42, StorageKind::kCifs, "CIFS"},
    Magic{0xFE534D42, StorageKind::kCifs, "SMB2"},
    Magic{0x517B, StorageKind::kCifs, "SMB"},
    Magic{0x00C36400, StorageKind::kCluster, "CephFS"},
    Magic{0x19830326, StorageKind::kCluster, "BeeGFS"},
    Magic{0x65735546, StorageKind::kFuse, "FUSE"},
    Magic{0x794C7630, StorageKind::kOverlay, "overlay"},
    Magic{0x01021997, StorageKind::kHostShare, "9p"},
};
constexpr std::array kLocalMagics = {
    Magic{0xEF53, StorageKind::kLocal, "ext4"},      Magic{0x58465342, StorageKind::kLocal, "XFS"},
    Magic{0x9123683E, StorageKind::kLocal, "btrfs"}, Magic{0x2FC12FC1, StorageKind::kLocal, "ZFS"},
    Magic{0xF2F52010, StorageKind::kLocal, "F2FS"},  Magic{0x4D44, StorageKind::kLocal, "FAT"},
    Magic{0x2011BAB0, StorageKind::kLocal, "exFAT"}, Magic{0x5346544E, StorageKind::kLocal, "NTFS"},
};

const Magic* find_magic(std::uint64_t number) {
  for (const Magic& m : kMagics)
    if (m.number == number) return &m;
  for (const Magic& m : kLocalMagics)
    if (m.number == number) return &m;
  return nullptr;
}

std::string block_directory(unsigned major, unsigned minor, const std::string& root) {
  return fmt::format("{}/sys/dev/block/{}:{}", root, major, minor);
}

/// The kernel's name of a device ("sda2"); empty if it is not a block device.
std::string block_name(unsigned major, unsigned minor, const std::string& root) {
  std::error_code ec;
  const fs::path target = fs::canonical(block_directory(major, minor, root), ec);
  return ec ? "" : target.filename().string();
}

std::optional<bool> rotational_at(const fs::path& directory, int depth) {
  std::error_code ec;
  const fs::path own = fs::canonical(directory, ec);
  if (ec || depth > kDeepest) return std::nullopt;
  std::optional<bool> slowest;  // of the disks below: one that turns slows all down
  for (const auto& slave : fs::directory_iterator(own / "slaves", ec))
    if (const auto below = rotational_at(slave.path(), depth + 1)) slowest = slowest.value_or(false) || *below;
  if (slowest) return slowest;
  for (const fs::path& disk : {own, own.parent_path()})  // a partition's queue is its disk's
    if (const auto turns = read_number((disk / "queue/rotational").string())) return *turns != 0;
  return std::nullopt;
}

/// A number that stands for a device in mount tables: of btrfs and overlays stat() gives one that no disk has.
std::optional<std::pair<unsigned, unsigned>> device_of_source(const std::string& source, const std::string& root) {
  if (!source.starts_with("/dev/")) return std::nullopt;
  const auto text = read_first_line(root + "/sys/class/block/" + fs::path(source).filename().string() + "/dev");
  if (!text) return std::nullopt;
  std::pair<unsigned, unsigned> device;
  const char* const end = text->data() + text->size();
  const auto [colon, ec] = std::from_chars(text->data(), end, device.first);
  if (ec != std::errc() || colon == end) return std::nullopt;
  if (std::from_chars(colon + 1, end, device.second).ec != std::errc()) return std::nullopt;
  return device;
}

Storage local_disk(const StorageFacts& facts, const MountEntry& mount, const std::string& root) {
  auto device = std::pair(facts.major, facts.minor);
  if (facts.major == 0) device = device_of_source(mount.source, root).value_or(device);
  std::string name = block_name(device.first, device.second, root);
  const Magic* const magic = find_magic(facts.magic);
  const std::string file_system = !mount.type.empty() ? mount.type : magic ? std::string(magic->name) : "file system";
  const std::string where = name.empty() ? file_system : name + ", " + file_system;
  const bool is_virtual = name.starts_with("vd") || name.starts_with("xvd");
  if (is_virtual) return {StorageKind::kVirtualDisk, fmt::format("a virtual machine's disk ({})", where)};
  const auto turns = is_rotational(device.first, device.second, root);
  if (!turns) return {magic ? StorageKind::kLocal : StorageKind::kUnknown, fmt::format("a local disk ({})", where)};
  if (*turns) return {StorageKind::kSpinning, fmt::format("a spinning disk ({})", where)};
  return {StorageKind::kSolidState,
          fmt::format("a local {} ({})", name.starts_with("nvme") ? "NVMe disk" : "SSD", where)};
}

Storage overlay(const MountEntry& mount, const std::string& root, int depth);

Storage classify(const StorageFacts& facts, const std::string& root, int depth) {
  const MountEntry mount = mount_of(facts.path, root);
  const Magic* const magic = find_magic(facts.magic);
  const std::string from = mount.source.empty() || mount.source == "none" ? "" : fmt::format(" ({})", mount.source);
  if (mount.type == "virtiofs") return {StorageKind::kHostShare, "a directory of the host, by virtiofs"};
  if (!magic || magic->kind == StorageKind::kLocal) return local_disk(facts, mount, root);
  switch (magic->kind) {
    case StorageKind::kMemory:
      return {StorageKind::kMemory, fmt::format("memory ({})", magic->name)};
    case StorageKind::kOverlay:
      return overlay(mount, root, depth);
    case StorageKind::kHostShare:
      return {StorageKind::kHostShare, fmt::format("a directory of the host, by {}", magic->name)};
    case StorageKind::kFuse:  // "fuse.sshfs"
      return {StorageKind::kFuse,
              fmt::format("a program's file system ({})",
                          mount.type.starts_with("fuse.") ? mount.type.substr(5) : std::string(magic->name))};
    default:
      return {magic->kind, std::string(magic->name) + from};
  }
}

/// A container's root: what lies below shows where the layers' directories can be seen, outside containers mostly.
Storage overlay(const MountEntry& mount, const std::string& root, int depth) {
  for (const char* option : {"upperdir=", "lowerdir="}) {
    const std::string layer = mount.option(option).substr(0, mount.option(option).find(':'));
    struct statfs system {};
    struct stat facts {};
    if (layer.empty() || depth > kDeepest || ::statfs((root + layer).c_str(), &system) != 0 ||
        ::stat((root + layer).c_str(), &facts) != 0)
      continue;
    const Storage below = classify(
        {static_cast<std::uint64_t>(system.f_type) & 0xFFFFFFFF, major(facts.st_dev), minor(facts.st_dev), layer}, root,
        depth + 1);
    return {below.kind, fmt::format("a container's layers on {}", below.name)};
  }
  return {StorageKind::kOverlay, "a container overlay"};
}

}  // namespace

std::string_view to_string(StorageKind kind) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "memory", "solid_state", "spinning", "virtual_disk", "local",   "nfs",        "lustre",
      "gpfs",   "cifs",        "cluster",  "fuse",         "overlay", "host_share", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool Storage::shared() const {
  return kind == StorageKind::kNfs || kind == StorageKind::kLustre || kind == StorageKind::kGpfs ||
         kind == StorageKind::kCifs || kind == StorageKind::kCluster || kind == StorageKind::kFuse ||
         kind == StorageKind::kHostShare;
}

std::string_view Storage::meaning() const {
  switch (kind) {
    case StorageKind::kMemory:
      return "The files are in memory already: reading costs nothing, but they count as memory that is in use.";
    case StorageKind::kSolidState:
      return "Reads from anywhere are fast; decoding is the limit more often than the disk.";
    case StorageKind::kSpinning:
      return "Each jump costs 5 to 10 ms: large chunks, and a copy on an SSD or in memory, help most.";
    case StorageKind::kVirtualDisk:
      return "The host decides what is behind it; only the rate measured here is known.";
    case StorageKind::kLocal:
      return "Its kind is not known here; the rate measured is what counts.";
    case StorageKind::kNfs:
      return "Every read is a request to a server that others use too: large chunks, more threads than processors, and "
             "a local cache directory help.";
    case StorageKind::kLustre:
      return "Made for large reads by many: stripe large files (lfs setstripe -c 4), keep chunks above 1 MiB, and "
             "avoid "
             "many small files.";
    case StorageKind::kGpfs:
      return "Made for large reads by many: keep chunks above 1 MiB, and avoid many small files.";
    case StorageKind::kCifs:
      return "Small reads are slow over SMB: copy the files, or use a local cache directory.";
    case StorageKind::kCluster:
      return "A file system over the network, shared with others: large chunks and a local cache directory help.";
    case StorageKind::kFuse:
      return "Every read passes through another program, often over a network: a local copy or cache directory helps.";
    case StorageKind::kOverlay:
      return "Inside a container's image the layers below cannot be seen; mount the data as a volume to avoid a layer.";
    case StorageKind::kHostShare:
      return "Every read leaves the virtual machine: copy the files onto its own disk where there is room.";
    case StorageKind::kUnknown:
      return "The system does not say; the rate measured is what counts.";
  }
  return "";
}

std::optional<bool> is_rotational(unsigned major, unsigned minor, const std::string& root) {
  return rotational_at(block_directory(major, minor, root), 0);
}

Storage classify_storage(const StorageFacts& facts, const std::string& root) {
  return classify(facts, root, 0);
}

Storage storage_of(const std::string& path) {
  struct statfs system {};
  struct stat facts {};
  if (::statfs(path.c_str(), &system) != 0 || ::stat(path.c_str(), &facts) != 0) return {};
  std::error_code ec;
  const fs::path real = fs::canonical(path, ec);
  return classify_storage({static_cast<std::uint64_t>(system.f_type) & 0xFFFFFFFF, major(facts.st_dev),
                           minor(facts.st_dev), ec ? path : real.string()});
}

}  // namespace headrace
