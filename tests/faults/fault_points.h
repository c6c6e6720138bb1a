// What the system does for a program, and its n-th time failing: allocations, thread starts, reads, opens, mappings.
//
// operator new is replaced in this program; the calls of Headrace's objects (not those inside other libraries) come
// here by the linker's --wrap, which also works under sanitizers.
#pragma once

#include <cstdint>
#include <string>

namespace headrace::faults {

enum class Kind : std::uint8_t { kAllocation, kThreadStart, kRead, kOpen, kMapping };
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

/// Which events fail.
struct Fault {
  Kind kind = Kind::kAllocation;
  std::uint64_t nth = kNever;  ///< Number of the event that fails, from 0.
  bool lasting = false;        ///< The later ones fail, too.
};

/// Count events from now on, and let some fail: those of other threads, and those of this one while there is a
/// Disturbed.
void arm(const Fault& fault);
struct Counted {
  std::uint64_t events = 0, failed = 0;
};
/// Let all succeed again. Returns what happened since arm().
Counted disarm();

/// The thread that makes it is tested as long as it lives; else it is the test's own.
class Disturbed {
 public:
  Disturbed();
  ~Disturbed();
  Disturbed(const Disturbed&) = delete;
  Disturbed& operator=(const Disturbed&) = delete;
};

/// Blocks that operator new has given and operator delete has not taken back.
std::int64_t live_blocks();
/// The stack of the first event that failed, one frame a line; empty if there was none. Not while armed.
std::string stack_of_fault();
/// The stack of the caller, in the same form. Not while armed.
std::string stack_here();

}  // namespace headrace::faults
