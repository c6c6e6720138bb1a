#include "storage/index_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "base/checksum/crc32c.h"
#include "base/packed.h"
#include "storage/file_calls.h"
#include "storage/file_system.h"
#include "storage/version_now.h"

namespace headrace {
namespace {

constexpr std::string_view kMagic = "HRINDEX\n";
constexpr std::uint32_t kVersion = 4;
constexpr std::string_view kSuffix = ".index", kTemporary = ".tmp-";
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);
constexpr std::time_t kTouchSeconds = 24 * 3600;  // how old a time of last use may be
constexpr std::time_t kAbandonedSeconds = 3600;   // a temporary file of that age has no writer any more

void append(std::string& out, const auto& number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
  T number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::uint32_t checksum(std::string_view bytes) {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string to_bytes(std::span<const IndexEntry> entries) {
  PackedWriter payload;
  payload.text(HEADRACE_VERSION);
  payload.number(entries.size());
  for (const IndexEntry& e : entries) {
    payload.text(e.path);
    payload.number(e.fingerprint.device);
    payload.number(e.fingerprint.inode);
    payload.number(e.fingerprint.size_bytes);
    payload.signed_number(e.fingerprint.mtime_ns);
    payload.signed_number(e.fingerprint.ctime_ns);
    payload.number(e.fingerprint.entries);
    payload.text(e.facts);
  }
  std::string bytes(kMagic);
  append(bytes, kVersion);
  append(bytes, std::uint64_t{payload.bytes().size()});
  bytes += payload.bytes();
  append(bytes, checksum(bytes));
  return bytes;
}

enum class State { kValid, kDamaged, kOtherVersion };

State from_bytes(std::string_view bytes, std::vector<IndexEntry>& out) {
  if (bytes.size() < kHeaderBytes + kChecksumBytes || !bytes.starts_with(kMagic)) return State::kDamaged;
  const std::string_view checked = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (number_at<std::uint32_t>(bytes, checked.size()) != checksum(checked)) return State::kDamaged;
  if (number_at<std::uint32_t>(bytes, kMagic.size()) != kVersion) return State::kOtherVersion;
  const std::string_view payload = checked.substr(kHeaderBytes);
  if (number_at<std::uint64_t>(bytes, kMagic.size() + sizeof kVersion) != payload.size()) return State::kDamaged;
  PackedReader in(payload);
  if (in.text() != HEADRACE_VERSION) return State::kOtherVersion;
  std::vector<IndexEntry> entries(in.count());
  for (IndexEntry& e : entries) {
    e.path = in.text();
    e.fingerprint.device = in.number();
    e.fingerprint.inode = in.number();
    e.fingerprint.size_bytes = in.number();
    e.fingerprint.mtime_ns = in.signed_number();
    e.fingerprint.ctime_ns = in.signed_number();
    e.fingerprint.entries = in.number();
    e.facts = in.text();
  }
  if (!in.complete()) return State::kDamaged;
  out = std::move(entries);
  return State::kValid;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// Read a file that only this user can have written; nullopt for any other, and for one that is too large.
std::optional<std::string> read_own_file(const std::string& path, std::uint64_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if (facts.st_uid != ::geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size > most_bytes) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  if (std::time(nullptr) - facts.st_mtim.tv_sec > kTouchSeconds) ::futimens(file.get(), nullptr);  // used just now
  return bytes;
}

Error cannot(const char* call, int error_number, const std::string& path) {
  const bool forbidden = error_number == EACCES || error_number == EPERM || error_number == EROFS;
  return Error(forbidden ? ErrorCode::kPermission : ErrorCode::kWriteFailed,
               fmt::format("{} failed with {}", call, errno_name(error_number)))
      .with_file(path)
      .with_stage("index");
}

Status make_directory(const std::string& path) {
  std::filesystem::path made;
  for (const auto& part : std::filesystem::path(path)) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR && errno != EROFS)
      return cannot("mkdir", errno, made.string());
  }
  return {};
}

Status write_file(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return cannot("open", errno, path);
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return cannot("write", errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

struct Stored {
  std::string path;
  std::uint64_t bytes;
  std::int64_t used_ns;
};

/// Remove what was used longest ago until `limit_bytes` hold the rest, and what dead writers left. Another process may
/// do the same: what is gone already is as well.
void prune(const std::string& directory, std::uint64_t limit_bytes, const std::string& newest) {
  auto names = FileSystem::of(directory).list(directory);
  if (!names.ok()) return;
  std::vector<Stored> stored;
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    const std::string path = directory + "/" + name;
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (name.starts_with(kTemporary) && std::time(nullptr) - facts.st_mtim.tv_sec > kAbandonedSeconds)
      ::unlink(path.c_str());
    if (!name.ends_with(kSuffix)) continue;
    stored.push_back({path, static_cast<std::uint64_t>(facts.st_size), fingerprint_of(facts).mtime_ns});
    total += stored.back().bytes;
  }
  std::ranges::sort(stored, {}, &Stored::used_ns);
  for (const Stored& s : stored) {
    if (total <= limit_bytes) return;
    if (s.path == newest) continue;
    ::unlink(s.path.c_str());
    total -= s.bytes;
  }
}

}  // namespace

std::optional<IndexStore> IndexStore::of_user(const std::string& kind) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets it here
    return std::string(text == nullptr ? "" : text);
  };
  const std::string chosen = value("HEADRACE_CACHE"), xdg = value("XDG_CACHE_HOME"), home = value("HOME");
  if (chosen == "off") return std::nullopt;
  if (!chosen.empty()) return IndexStore(FileSystem::of(chosen).absolute(chosen) + "/" + kind);
  if (xdg.starts_with('/')) return IndexStore(xdg + "/headrace/" + kind);  // relative ones are invalid by its standard
  if (home.starts_with('/')) return IndexStore(home + "/.cache/headrace/" + kind);
  return std::nullopt;
}

std::string IndexStore::path_of(std::span<const std::string> paths) const {
  std::uint32_t low = 0, high = 0x9E3779B9;  // two checksums of different starts: 64 bits against accidents
  for (const std::string& path : paths) {
    const auto bytes = std::as_bytes(std::span(path.c_str(), path.size() + 1));
    low = crc32c(bytes, low);
    for (const std::byte b : bytes) high = (high ^ std::to_integer<std::uint32_t>(b)) * 0x01000193;
  }
  std::string stem = paths.empty() ? "" : std::filesystem::path(paths[0]).stem().string().substr(0, 40);
  for (char& c : stem)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  return fmt::format("{}/{}-{:08x}{:08x}{}", directory_, stem, high, low, kSuffix);
}

std::vector<IndexEntry> IndexStore::load(std::span<const std::string> paths) const {
  std::vector<IndexEntry> entries;
  const auto bytes = read_own_file(path_of(paths), limit_bytes_);
  if (!bytes || from_bytes(*bytes, entries) != State::kValid) return {};
  if (!std::ranges::equal(entries, paths, {}, &IndexEntry::path)) return {};
  return entries;
}

Status IndexStore::save(std::span<const IndexEntry> entries) const {
  std::vector<std::string> paths;
  for (const IndexEntry& e : entries) paths.push_back(e.path);
  const std::string path = path_of(paths), bytes = to_bytes(entries);
  if (bytes.size() > limit_bytes_)
    return Error(ErrorCode::kOutOfBudget,
                 fmt::format("an index of {} bytes, {} are allowed", bytes.size(), limit_bytes_))
        .with_file(path);
  HEADRACE_TRY(make_directory(directory_));
  static std::atomic<std::uint64_t> number{0};
  const std::string temporary = fmt::format("{}/{}{}-{}", directory_, kTemporary, ::getpid(), number.fetch_add(1));
  ::unlink(temporary.c_str());  // of a dead process that had our number
  Status written = write_file(temporary, bytes);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) written = cannot("rename", errno, path);
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  prune(directory_, limit_bytes_, path);
  return {};
}

Result<std::vector<IndexStore::Listed>> IndexStore::list() const {
  HEADRACE_ASSIGN(std::vector<std::string> names, FileSystem::of(directory_).list(directory_));
  std::ranges::sort(names);
  std::vector<Listed> all;
  for (const std::string& name : names) {
    if (!name.ends_with(kSuffix)) continue;
    Listed& listed = all.emplace_back();
    listed.name = name.substr(0, name.size() - kSuffix.size());
    std::vector<IndexEntry> entries;
    const auto bytes = read_own_file(directory_ + "/" + name, limit_bytes_);
    const State state = bytes ? from_bytes(*bytes, entries) : State::kDamaged;
    listed.bytes = bytes ? bytes->size() : 0;
    listed.state = state == State::kOtherVersion ? "other version" : state == State::kDamaged ? "damaged" : "valid";
    for (const IndexEntry& e : entries) {
      listed.files.push_back(e.path);
      if (version_now(e.path) != e.fingerprint) listed.state = "stale";
    }
  }
  return all;
}

Status IndexStore::remove(const std::string& name) const {
  const std::string path = directory_ + "/" + name + std::string(kSuffix);
  if (!name.empty() && name.find('/') == std::string::npos && ::unlink(path.c_str()) == 0) return {};
  const int error_number = name.empty() || name.find('/') != std::string::npos ? ENOENT : errno;
  if (error_number != ENOENT) return cannot("unlink", error_number, path);
  std::vector<std::string> names;
  if (auto all = list(); all.ok())
    for (const Listed& listed : *all) names.push_back(listed.name);
  return Error(ErrorCode::kNotFound, fmt::format("there is no index '{}'", name))
      .with_file(directory_)
      .with_hint(names.empty() ? "There is none at all." : fmt::format("It has: {}.", fmt::join(names, ", ")));
}

}  // namespace headrace
