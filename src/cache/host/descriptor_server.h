// DescriptorServer: hands one descriptor to the processes of this user that ask for it at an abstract Unix socket
// (man 7 unix), and to no other process.
//
// With the descriptor goes the listening socket itself, so that every process that received it can serve as well: the
// name stays with those that hold the descriptor, whichever of them ends first, and however it ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/threads/parallel.h"
#include "cache/descriptor.h"

namespace headrace {

/// What both sides must agree on before the descriptor is handed over, and what comes with it.
struct Handshake {
  std::array<std::uint64_t, 4> agreed{};
  std::uint64_t note = 0;
};

/// A listening socket that came with a descriptor; nothing is answered on it until join(). A forked child's copy of it
/// is closed in the child.
struct ForgetReceived {
  void operator()(Descriptor* socket) const;
};
using ReceivedSocket = std::unique_ptr<Descriptor, ForgetReceived>;

/// Serves on a thread of its own, which takes no signals, until it is destroyed. A forked child serves none: its copy
/// of the socket is closed in the child, so that the name is free when this process ends.
class DescriptorServer {
 public:
  /// Serve `fd`, which must stay open as long. Null if the name is taken. Errors: kUnsupported; kOutOfBudget: the
  /// system starts no thread; the name is then free again.
  static Result<std::unique_ptr<DescriptorServer>> start(const std::string& name, const Handshake& handshake, int fd,
                                                         const ThreadStarter& starter = start_thread);
  /// Serve on the socket that came with the descriptor, beside those that do already. Errors: kUnsupported.
  static Result<std::unique_ptr<DescriptorServer>> join(const std::string& name, ReceivedSocket socket,
                                                        const Handshake& handshake, int fd);
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;
  /// Close the socket in the child after fork().
  void close_in_child() { socket_.reset(); }

 private:
  DescriptorServer(Descriptor socket, Descriptor stop, const Handshake& handshake, int fd);
  static Status launch(std::unique_ptr<DescriptorServer>& server, const std::string& name, Descriptor socket,
                       const Handshake& handshake, int fd, const ThreadStarter& starter);
  void serve() const;
  void answer(int peer) const;

  Descriptor socket_, stop_;
  const Handshake handshake_;
  const int fd_;
  const pid_t pid_;
  std::unique_ptr<std::jthread> thread_;  // null until it runs
};

struct Received {
  Descriptor descriptor;
  ReceivedSocket socket;
  std::uint64_t note = 0;
};
/// Ask the server `name` for its descriptor; nullopt if no process serves it (or the one that did just ended). Blocks
/// for two seconds at most. Errors: kInvalidArgument: `agreed` is different there; kPermission: it is another user's;
/// kTimeout: no answer.
Result<std::optional<Received>> ask_for_descriptor(const std::string& name, const Handshake& handshake);

}  // namespace headrace
