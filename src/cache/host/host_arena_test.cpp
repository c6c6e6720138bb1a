#include "cache/host/host_arena.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/machine/page_size.h"
#include "cache/host/descriptor_server.h"
#include "cache/testing/processes.h"
#include "cache/testing/rows.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using namespace testing_rows;
using namespace testing_processes;
using Lookup = RowStore::Lookup;

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

class HostArenaTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<std::shared_ptr<RowStore>> open(std::uint64_t max_bytes = kPlenty) const {
    return open_host_arena(key_, layout_, max_bytes);
  }
  /// Counts that children share.
  struct Shared {
    std::atomic<int> a, b, c, d;
  };
  Shared* const shared_ =
      static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ~HostArenaTest() override { ::munmap(shared_, sizeof(Shared)); }
  static void wait_for(const std::atomic<int>& count, int value) {
    while (count < value) std::this_thread::sleep_for(1ms);
  }
  const std::string key_ = fmt::format("test {} {}", ::getpid(), ::testing::UnitTest::GetInstance()->random_seed());
  RowLayout layout_ = layout_of(1000, 10);
};

TEST_F(HostArenaTest, TheFirstStorePays) {
  const auto first = open().value(), second = open().value();
  EXPECT_NE(first->field(0), second->field(0));
  EXPECT_GE(first->charged_bytes(), layout_.data_bytes());
  EXPECT_EQ(second->charged_bytes(), 0u);
}

TEST_F(HostArenaTest, LayoutsMustAgreeAndKeysKeepApart) {
  const auto store = open().value();
  RowLayout other = layout_;
  other.fields[0].path = "elsewhere";
  EXPECT_EQ(open_host_arena(key_, other, kPlenty).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(store->look_up(0), Lookup::kFill);
  EXPECT_EQ(open_host_arena(key_ + "2", other, kPlenty).value()->look_up(0), Lookup::kFill);
  EXPECT_EQ(open_host_arena(key_, RowLayout{}, kPlenty).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(HostArenaTest, KeepsTheFirstBlocksThatFit) {
  const std::uint64_t page = page_bytes(), room = 4 * page;  // states, 2 pages of images, 1 of labels
  const std::uint64_t last = 100 * (page / 4096) - 1;        // there are more blocks than fit, however large a page is
  layout_ = layout_of(10 * (last + 1), 10);
  const auto first = open(room).value(), second = open(kPlenty).value();  // of the first process
  EXPECT_LE(first->charged_bytes(), room);
  std::uint64_t kept = 0;
  while (first->look_up(kept) == Lookup::kFill) ++kept;
  EXPECT_EQ(kept, 2 * page / 600);
  EXPECT_EQ(second->look_up(kept), Lookup::kFull);
  EXPECT_EQ(second->look_up(last), Lookup::kFull);
  EXPECT_FALSE(second->can_fill(kept) || second->can_fill(last));
  EXPECT_FALSE(second->ready(last));
  EXPECT_FALSE(second->wait(last, 1h));
  for (std::uint64_t block = 0; block < kept; ++block) {
    EXPECT_TRUE(put_rows(*first, block).ok());
    EXPECT_FALSE(first->publish(block));
    EXPECT_TRUE(has_rows(*second, block));
  }
  EXPECT_FALSE(first->complete());
  EXPECT_EQ(second->ready_blocks(), kept);
}

TEST_F(HostArenaTest, NoRoomForABlockIsNoError) {
  const auto store = open(0).value();
  EXPECT_EQ(store->look_up(0), Lookup::kFull);
}

TEST_F(HostArenaTest, MemoryIsTakenAsBlocksAreFilled) {
  layout_ = layout_of(std::uint64_t{1} << 32, 1000);  // 272 GiB
  const auto store = open();
  if (!store.ok()) GTEST_SKIP() << "no address space for it: " << store.error().what();
  EXPECT_EQ((*store)->look_up(4'000'000), Lookup::kFill);
  EXPECT_TRUE(put_rows(**store, 4'000'000).ok());
  EXPECT_FALSE((*store)->publish(4'000'000));
  EXPECT_TRUE(has_rows(**store, 4'000'000));
}

TEST_F(HostArenaTest, ProcessesRaceForItAndFillItTogether) {
  for (int round = 0; round < 10; ++round) {
    for (std::atomic<int>* count : {&shared_->a, &shared_->b, &shared_->c, &shared_->d}) *count = 0;
    std::vector<pid_t> children;
    for (std::uint64_t child = 0; child < 6; ++child)
      children.push_back(start([&, child] {
        const auto store = open();
        if (!store.ok()) return 10;
        if ((*store)->charged_bytes() != 0) ++shared_->d;
        ++shared_->a;
        wait_for(shared_->a, 6);  // all of them are in
        for (std::uint64_t i = 0; i < 100; ++i) {
          const std::uint64_t block = (i + child * 17) % 100;
          const Lookup found = (*store)->look_up(block);
          if (found == Lookup::kFill) {
            ++shared_->b;
            if (!put_rows(**store, block).ok()) return 11;
            if ((*store)->publish(block)) ++shared_->c;
          } else if (found == Lookup::kBusy && !(*store)->wait(block, 1min)) {
            return 12;
          }
          if (!has_rows(**store, block)) return 13;
        }
        return 0;
      }));
    for (const pid_t pid : children) EXPECT_EQ(join(pid), 0);
    EXPECT_EQ(shared_->b, 100);
    EXPECT_EQ(shared_->c, 1);
    EXPECT_EQ(shared_->d, 1);  // one pays
  }
}

TEST_F(HostArenaTest, WhenTheFirstProcessDiesTheOthersKeepWhatTheyHave) {
  const pid_t creator = start([&] {
    const auto store = open().value();
    if (store->look_up(5) != Lookup::kFill || !put_rows(*store, 5).ok() || store->look_up(6) != Lookup::kFill) return 1;
    store->publish(5);
    shared_->a = 1;
    ::pause();
    return 0;
  });
  wait_for(shared_->a, 1);
  const auto store = open().value();
  EXPECT_TRUE(store->ready(5));
  EXPECT_EQ(store->look_up(6), Lookup::kBusy);
  kill_and_join(creator);
  EXPECT_TRUE(has_rows(*store, 5));
  EXPECT_EQ(store->look_up(6), Lookup::kFill);
  EXPECT_TRUE(put_rows(*store, 6).ok());
  store->publish(6);
  EXPECT_TRUE(fill_all(*store));
  // Those that come now join the others, and one of them is charged again.
  const auto late = open().value();
  EXPECT_EQ(late->ready_blocks(), 100u);
  EXPECT_EQ(store->charged_bytes(), 0u);
  EXPECT_GT(late->charged_bytes(), 0u);
}

TEST_F(HostArenaTest, WhoComesAgainJoinsThoseWhoStayed) {
  auto first = open().value();
  const auto second = open().value();
  ASSERT_EQ(first->look_up(7), Lookup::kFill);
  ASSERT_TRUE(put_rows(*first, 7).ok());
  first->publish(7);
  EXPECT_FALSE(second->take_charge());  // the first one pays
  first.reset();
  EXPECT_EQ(second->charged_bytes(), 0u);
  const auto again = open().value();
  EXPECT_TRUE(has_rows(*again, 7));
  EXPECT_EQ(again->ready_blocks(), 1u);
  EXPECT_GT(again->charged_bytes(), 0u);
  EXPECT_FALSE(second->take_charge());
  again->drop_charge();
  EXPECT_TRUE(second->take_charge());
  EXPECT_GT(second->charged_bytes(), 0u);
  EXPECT_FALSE(again->take_charge());
}

TEST_F(HostArenaTest, AForkedChildReadsOnAndHoldsNothingBack) {
  const pid_t creator = start([&] {
    std::shared_ptr<RowStore> store = open().value();
    if (!fill_all(*store)) return 1;
    const pid_t grandchild = start([&] {
      for (std::uint64_t block = 0; block < 100; ++block)
        if (!has_rows(*store, block)) return 2;
      store.reset();  // must neither hang nor end the parent's thread
      shared_->a = 1;
      wait_for(shared_->b, 1);
      return 0;
    });
    wait_for(shared_->a, 1);
    if (!open().value()->complete()) return 3;  // still served
    shared_->c = grandchild;
    return 0;
  });
  EXPECT_EQ(join(creator), 0);
  // The grandchild lives on, and the name is free all the same.
  const auto store = open().value();
  EXPECT_GT(store->charged_bytes(), 0u);
  EXPECT_EQ(store->ready_blocks(), 0u);
  shared_->b = 1;
}

/// Forked between two calls of this process: the socket has come, and no server knows it yet.
TEST_F(HostArenaTest, AForkedChildDoesNotKeepASocketThatServesNobodyYet) {
  const std::string name = "headrace-test-" + key_;
  const Descriptor memory(::memfd_create("test", MFD_CLOEXEC));
  const Handshake handshake{{1, 2, 3, 4}, 77};
  auto server = DescriptorServer::start(name, handshake, memory.get()).value();
  auto received = ask_for_descriptor(name, handshake).value();
  ASSERT_TRUE(received.has_value());
  const pid_t child = start([&] {
    shared_->a = 1;
    wait_for(shared_->b, 1);
    return 0;
  });
  wait_for(shared_->a, 1);
  server.reset();
  auto joined = DescriptorServer::join(name, std::move(received->socket), handshake, memory.get()).value();
  EXPECT_TRUE(ask_for_descriptor(name, handshake).value().has_value());  // the parent's is as it was
  joined.reset();
  received.reset();
  EXPECT_NE(DescriptorServer::start(name, handshake, memory.get()).value(), nullptr);  // the name is free
  shared_->b = 1;
  EXPECT_EQ(join(child), 0);
}

TEST_F(HostArenaTest, SilentAndRudeAskersDoNotStopTheServer) {
  const std::string name = "headrace-test-" + key_;
  Descriptor memory(::memfd_create("test", MFD_CLOEXEC));
  const Handshake handshake{{1, 2, 3, 4}, 77};
  const auto server = DescriptorServer::start(name, handshake, memory.get()).value();
  EXPECT_EQ(DescriptorServer::start(name, handshake, memory.get()).value(), nullptr);
  const auto connected = [&] {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    return socket;
  };
  const Descriptor silent = connected(), rude = connected();
  EXPECT_EQ(::send(rude.get(), "GET / HTTP/1.1", 14, MSG_NOSIGNAL), 14);
  const auto received = ask_for_descriptor(name, handshake).value();
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(received->note, 77u);
  EXPECT_NE(received->descriptor.get(), memory.get());
  EXPECT_FALSE(ask_for_descriptor(name + "2", handshake).value().has_value());
}

TEST_F(HostArenaTest, AServerWhoseThreadDoesNotStartIsAnErrorAndLeavesTheNameFree) {
  const std::string name = "headrace-test-" + key_;
  const Descriptor memory(::memfd_create("test", MFD_CLOEXEC));
  const auto refuse = [](const std::string&, const std::function<void(std::stop_token)>&) -> Result<std::jthread> {
    return Error(ErrorCode::kOutOfBudget, "no more threads");
  };
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const auto refused = DescriptorServer::start(name, {}, memory.get(), refuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfBudget);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < NSIG; ++number)
    EXPECT_EQ(::sigismember(&before, number), ::sigismember(&after, number)) << number;
  EXPECT_NE(DescriptorServer::start(name, {}, memory.get()).value(), nullptr);
}

}  // namespace
}  // namespace headrace
