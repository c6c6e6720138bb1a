#include "cache/host/host_arena.h"

#include <headrace/bytes.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "base/machine/page_size.h"
#include "base/memory/align.h"
#include "cache/file_mapping.h"
#include "cache/filler.h"
#include "cache/host/descriptor_server.h"
#include "cache/in_place_store.h"
#include "cache/name_hash.h"
#include "storage/file_calls.h"

namespace headrace {
namespace {

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20, kVersion = 2;
constexpr std::chrono::seconds kPatience{10};

/// Which process is charged for the memory (filler.h); 0: none. Behind the states.
using Payer = std::atomic<std::uint32_t>;
static_assert(Payer::is_always_lock_free && sizeof(Payer) == 4 && sizeof(Payer) <= kPayerBytes);

/// Where the states and the fields lie in the shared memory, of which the first blocks are kept.
struct Plan {
  Plan(const RowLayout& layout, std::uint64_t kept) : kept_blocks(kept) {
    size_bytes = head_bytes(layout);
    for (const StoredColumn& field : layout.fields) {
      const std::uint64_t bytes = layout.block_starts[kept] * field.row_bytes();
      size_bytes = align_up(size_bytes, bytes >= kHugePageBytes ? kHugePageBytes : page_bytes());
      field_starts.push_back(size_bytes);
      size_bytes += bytes;
      used_bytes += align_up(bytes, page_bytes());
    }
    size_bytes = align_up(size_bytes, page_bytes());
    used_bytes += align_up(head_bytes(layout), page_bytes());
  }
  /// Return the bytes before the first field: the states and the payer.
  static std::uint64_t head_bytes(const RowLayout& layout) {
    return BlockStates::bytes_for(layout.num_blocks()) + kPayerBytes;
  }
  std::uint64_t kept_blocks, size_bytes = 0;
  std::uint64_t used_bytes = 0;  // at most: gaps between fields are never touched
  std::vector<std::uint64_t> field_starts;
};

/// The longest run of first blocks that fits.
Plan largest_plan(const RowLayout& layout, std::uint64_t max_bytes) {
  std::uint64_t low = 0, high = layout.num_blocks();
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (Plan(layout, middle).used_bytes <= max_bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return {layout, low};
}

class HostArena final : public InPlaceStore {
 public:
  HostArena(RowLayout layout, Plan plan, Descriptor memory, FileMapping map, std::unique_ptr<DescriptorServer> server)
      : InPlaceStore(std::move(layout), map.data()),
        plan_(std::move(plan)),
        memory_(std::move(memory)),
        map_(std::move(map)),
        server_(std::move(server)),
        payer_(*std::launder(reinterpret_cast<Payer*>(map_.data() + BlockStates::bytes_for(layout_.num_blocks())))),
        pid_(::getpid()) {
    take_charge();
  }
  ~HostArena() override { drop_charge(); }

  [[nodiscard]] const std::byte* field(std::size_t field) const override {
    return map_.data() + plan_.field_starts[field];
  }
  Lookup look_up(std::uint64_t block) override {
    if (block >= plan_.kept_blocks) return Lookup::kFull;
    const Lookup taken = claim(block);
    if (taken != Lookup::kFill || has_room(block)) return taken;
    abandon(block);
    return Lookup::kFull;
  }
  [[nodiscard]] bool can_fill(std::uint64_t block) const override {
    return block < plan_.kept_blocks && InPlaceStore::can_fill(block);
  }
  [[nodiscard]] std::byte* writable(std::size_t field, std::uint64_t block) override {
    return map_.data() + plan_.field_starts[field] + block_bytes(layout_, field, block).offset;
  }
  [[nodiscard]] std::uint64_t charged_bytes() const override { return pays_ ? plan_.used_bytes : 0; }
  bool take_charge() override {
    std::uint32_t seen = payer_.load(std::memory_order_acquire);
    if (pays_ || (seen != 0 && filler_is_alive(seen))) return false;
    pays_ = payer_.compare_exchange_strong(seen, filler_of_this_process(), std::memory_order_acq_rel);
    return pays_;
  }
  void drop_charge() override {
    if (!pays_ || pid_ != ::getpid()) return;  // a forked child was never charged
    pays_ = false;
    payer_.store(0, std::memory_order_release);
  }

 private:
  /// Take its pages now: to find none when they are first touched would be SIGBUS.
  [[nodiscard]] bool has_room(std::uint64_t block) const {
    for (std::size_t field = 0; field < layout_.fields.size(); ++field) {
      const ByteRange range = block_bytes(layout_, field, block);
      if (range.size == 0) continue;
      int done = 0;
      do
        done = ::fallocate(memory_.get(), 0, static_cast<off_t>(plan_.field_starts[field] + range.offset),
                           static_cast<off_t>(range.size));
      while (done != 0 && errno == EINTR);
      if (done != 0) return false;
    }
    return true;
  }

  const Plan plan_;
  const Descriptor memory_;
  const FileMapping map_;
  const std::unique_ptr<DescriptorServer> server_;  // ends before the descriptor that it hands out
  Payer& payer_;
  const pid_t pid_;
  bool pays_ = false;
};

Error failed(const char* call, int error_number) {
  const bool no_memory = error_number == ENOMEM || error_number == ENOSPC;
  return Error(no_memory ? ErrorCode::kOutOfBudget : ErrorCode::kUnsupported,
               fmt::format("memory for the processes of this host: {} failed with {}", call, errno_name(error_number)))
      .with_stage("cache");
}

/// Make anonymous memory of this size, zero, that no process can cut off.
Result<Descriptor> make_memory(const Plan& plan, const RowLayout& layout) {
  Descriptor memory(::memfd_create("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return failed("memfd_create", errno);
  if (::ftruncate(memory.get(), static_cast<off_t>(plan.size_bytes)) != 0) return failed("ftruncate", errno);
  if (::fallocate(memory.get(), 0, 0, static_cast<off_t>(Plan::head_bytes(layout))) != 0)
    return failed("fallocate", errno);
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("fcntl(F_ADD_SEALS)", errno);
  return memory;
}

Result<std::shared_ptr<RowStore>> open_memory(RowLayout layout, Plan plan, Descriptor memory,
                                              std::unique_ptr<DescriptorServer> server) {
  HEADRACE_ASSIGN(FileMapping map, FileMapping::map(memory.get(), plan.size_bytes, true));
  ::madvise(map.data(), map.size_bytes(), MADV_HUGEPAGE);  // a wish
  return std::shared_ptr<RowStore>(std::make_shared<HostArena>(std::move(layout), std::move(plan), std::move(memory),
                                                               std::move(map), std::move(server)));
}

/// What another process handed over must be what it says. From now on this process hands it out as well.
Result<std::shared_ptr<RowStore>> join(const std::string& name, Handshake handshake, RowLayout layout,
                                       Received received) {
  const auto refuse = [](std::string what) {
    return Error(ErrorCode::kInvalidArgument, "the memory that another process shares " + what).with_stage("cache");
  };
  if (received.note > layout.num_blocks()) return refuse("holds other blocks");
  Plan plan(layout, received.note);
  struct stat status {};
  const int seals = ::fcntl(received.descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return refuse("could be cut off");
  if (::fstat(received.descriptor.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) != plan.size_bytes)
    return refuse(fmt::format("has {} bytes, {} are expected", status.st_size, plan.size_bytes));
  handshake.note = received.note;
  auto server = DescriptorServer::join(name, std::move(received.socket), handshake, received.descriptor.get());
  return open_memory(std::move(layout), std::move(plan), std::move(received.descriptor),
                     server.ok() ? std::move(*server) : nullptr);  // without a thread for it, others hand it on
}

}  // namespace

Result<std::shared_ptr<RowStore>> open_host_arena(const std::string& key, RowLayout layout, std::uint64_t max_bytes) {
  HEADRACE_TRY(check_row_layout(layout));
  // Processes that cannot judge each other by their pids (containers) do not share.
  const std::string name = fmt::format("headrace-{}-{:016x}", ::geteuid(),
                                       name_hash(fmt::format("{} {} {}", pid_namespace_id(), kVersion, key)));
  Plan plan = largest_plan(layout, max_bytes);
  const Handshake handshake{{kVersion, name_hash(key), name_hash(layout_text(layout)), layout.num_blocks()},
                            plan.kept_blocks};
  Descriptor memory;
  const auto start = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::microseconds(100); std::chrono::steady_clock::now() - start < kPatience; pause *= 2) {
    HEADRACE_ASSIGN(std::optional<Received> received, ask_for_descriptor(name, handshake));
    if (received) return join(name, handshake, std::move(layout), std::move(*received));
    if (!memory) {
      HEADRACE_ASSIGN(memory, make_memory(plan, layout));
    }
    HEADRACE_ASSIGN(std::unique_ptr<DescriptorServer> server, DescriptorServer::start(name, handshake, memory.get()));
    if (server) return open_memory(std::move(layout), std::move(plan), std::move(memory), std::move(server));
    std::this_thread::sleep_for(pause);  // another process has just bound the name, or is ending
  }
  return Error(ErrorCode::kUnsupported, "the process that made the shared memory does not answer")
      .with_file("@" + name)
      .with_stage("cache");
}

}  // namespace headrace
