#include "cache/host/descriptor_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "base/threads/fork_safe_mutex.h"
#include "storage/file_calls.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMagic = 0x3152455652455348;  // "HSERVER1"
constexpr int kBacklog = 128, kPatienceSeconds = 2;

struct Hello {
  std::uint64_t magic;
  std::array<std::uint64_t, 4> agreed;
};
struct Reply {
  std::uint64_t magic, agrees, note;
};

Error failed(const char* call, int error_number, const std::string& name, ErrorCode code = ErrorCode::kUnsupported) {
  return Error(code, fmt::format("{} failed with {}", call, errno_name(error_number)))
      .with_file("@" + name)
      .with_stage("cache");
}

/// A name that begins with a zero byte is no file: it goes away with the socket.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size)};
}

void limit_waiting(int socket, int seconds) {
  const timeval time{seconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

std::optional<uid_t> user_behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

/// All servers of the process, and the sockets of those to come, for the child after fork().
struct Servers {
  ForkSafeMutex mutex;
  std::set<DescriptorServer*> all;
  std::set<Descriptor*> received;

  static Servers& process() {
    static Servers& servers = *[] {
      auto* made = new Servers;  // never destroyed: a fork may come at any time
      ::pthread_atfork(nullptr, nullptr, [] {
        for (DescriptorServer* server : process().all) server->close_in_child();
        for (Descriptor* socket : process().received) socket->reset();
        process().all.clear();
        process().received.clear();
      });
      return made;
    }();
    return servers;
  }
};

}  // namespace

void ForgetReceived::operator()(Descriptor* socket) const {
  const std::unique_ptr<Descriptor> closed(socket);
  Servers& servers = Servers::process();
  const std::lock_guard guard(servers.mutex);
  servers.received.erase(socket);
}

Result<std::unique_ptr<DescriptorServer>> DescriptorServer::start(const std::string& name, const Handshake& handshake,
                                                                  int fd, const ThreadStarter& starter) {
  std::unique_ptr<DescriptorServer> server;  // goes, where it must, after the lock, which it takes itself
  Servers& servers = Servers::process();
  const std::lock_guard guard(servers.mutex);  // no fork between bind() and the list
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("socket", errno, name);
  const auto [address, size] = address_of(name);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno == EADDRINUSE) return std::unique_ptr<DescriptorServer>();
    return failed("bind", errno, name);
  }
  if (::listen(socket.get(), kBacklog) != 0) return failed("listen", errno, name);
  HEADRACE_TRY(launch(server, name, std::move(socket), handshake, fd, starter));
  return server;
}

Result<std::unique_ptr<DescriptorServer>> DescriptorServer::join(const std::string& name, ReceivedSocket socket,
                                                                 const Handshake& handshake, int fd) {
  std::unique_ptr<DescriptorServer> server;
  const std::lock_guard guard(Servers::process().mutex);
  HEADRACE_TRY(launch(server, name, std::move(*socket), handshake, fd, start_thread));
  return server;
}

/// Start the thread. With the lock of the servers, so that no fork comes between.
/// \param server  Outlives the lock, which it takes when it goes.
Status DescriptorServer::launch(std::unique_ptr<DescriptorServer>& server, const std::string& name, Descriptor socket,
                                const Handshake& handshake, int fd, const ThreadStarter& starter) {
  Descriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return failed("eventfd", errno, name);
  server.reset(new DescriptorServer(std::move(socket), std::move(stop), handshake, fd));
  Servers::process().all.insert(server.get());
  auto thread = std::make_unique<std::jthread>();
  HEADRACE_ASSIGN(*thread, starter("hr-share", [raw = server.get()](const std::stop_token&) { raw->serve(); }));
  server->thread_ = std::move(thread);
  return {};
}

DescriptorServer::DescriptorServer(Descriptor socket, Descriptor stop, const Handshake& handshake, int fd)
    : socket_(std::move(socket)), stop_(std::move(stop)), handshake_(handshake), fd_(fd), pid_(::getpid()) {}

DescriptorServer::~DescriptorServer() {
  if (pid_ != ::getpid()) {                                               // a forked child has no such thread
    [[maybe_unused]] const std::jthread* const lost = thread_.release();  // and can neither join nor detach it
    return;
  }
  {
    Servers& servers = Servers::process();
    const std::lock_guard guard(servers.mutex);
    servers.all.erase(this);
  }
  if (!thread_) return;
  const std::uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_->join();
}

void DescriptorServer::serve() const {
  for (;;) {
    std::array<pollfd, 2> wanted{{{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return;
    if (wanted[1].revents != 0) return;
    if (wanted[0].revents == 0) continue;
    const Descriptor peer(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer)
      answer(peer.get());
    else if (errno != EAGAIN && errno != EINTR)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // out of descriptors
  }
}

void DescriptorServer::answer(int peer) const {
  if (user_behind(peer) != ::geteuid()) return;
  limit_waiting(peer, 1);
  Hello hello{};
  if (::recv(peer, &hello, sizeof hello, 0) != sizeof hello || hello.magic != kMagic) return;
  Reply reply{kMagic, hello.agreed == handshake_.agreed ? 1u : 0u, handshake_.note};
  iovec part{&reply, sizeof reply};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const std::array<int, 2> handed{fd_, socket_.get()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof handed)> control{};
  if (reply.agrees != 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof handed);
    std::memcpy(CMSG_DATA(header), handed.data(), sizeof handed);
  }
  ::sendmsg(peer, &message, MSG_NOSIGNAL);
}

Result<std::optional<Received>> ask_for_descriptor(const std::string& name, const Handshake& handshake) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return failed("socket", errno, name);
  limit_waiting(socket.get(), kPatienceSeconds);
  const auto [address, size] = address_of(name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno == ECONNREFUSED || errno == ENOENT || errno == EINTR) return std::optional<Received>();
    return failed("connect", errno, name, errno == EAGAIN ? ErrorCode::kTimeout : ErrorCode::kUnsupported);
  }
  if (const auto user = user_behind(socket.get()); user != ::geteuid())
    return Error(ErrorCode::kPermission, fmt::format("user {} already uses this name", user.value_or(0)))
        .with_file("@" + name)
        .with_stage("cache");
  const Hello hello{kMagic, handshake.agreed};
  if (::send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return std::optional<Received>();

  Reply reply{};
  iovec part{&reply, sizeof reply};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const auto await_reply = [&] {
    pollfd wanted{socket.get(), POLLIN, 0};
    int ready = 0;
    do ready = ::poll(&wanted, 1, kPatienceSeconds * 1000);
    while (ready < 0 && errno == EINTR);
  };
  await_reply();  // or see below that it did not come
  Received received;
  received.socket.reset(new Descriptor());
  Servers& servers = Servers::process();
  std::unique_lock guard(servers.mutex);  // no fork between the socket's coming and the list
  ssize_t got = 0;
  do got = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  const int recv_error = errno;
  for (cmsghdr* header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (Descriptor* const to : {&received.descriptor, received.socket.get()}) {
      const std::size_t at = to == &received.descriptor ? 0 : sizeof(int);
      if (header->cmsg_len < CMSG_LEN(at + sizeof(int))) break;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      *to = Descriptor(fd);
    }
  }
  servers.received.insert(received.socket.get());
  guard.unlock();  // before anything of it goes
  if (got < 0 && (recv_error == EAGAIN || recv_error == EWOULDBLOCK))
    return failed("recvmsg", recv_error, name, ErrorCode::kTimeout);
  if (got != sizeof reply || reply.magic != kMagic)
    return std::optional<Received>();  // it ended, or is another program
  if (reply.agrees == 0)
    return Error(ErrorCode::kInvalidArgument, "another process of this host shares other rows under this name")
        .with_file("@" + name)
        .with_stage("cache")
        .with_hint(
            "Processes that share memory open the same files, fields and blocks; end the others, or do not share.");
  if (!received.descriptor || !*received.socket) return std::optional<Received>();
  received.note = reply.note;
  return std::optional<Received>(std::move(received));
}

}  // namespace headrace
