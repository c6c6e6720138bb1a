#include "fault_points.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

namespace headrace::faults {
namespace {

std::atomic<bool> is_armed{false};
Fault chosen;
std::atomic<std::uint64_t> events{0}, failures{0};
std::atomic<std::int64_t> live{0};
std::array<void*, 40> stack{};
std::atomic<int> stack_size{0};
thread_local bool is_spared = false;  // the test's own thread, and one that looks at its stack

bool fails(Kind kind) {
  if (!is_armed.load(std::memory_order_acquire) || chosen.kind != kind || is_spared) return false;
  const std::uint64_t number = events.fetch_add(1, std::memory_order_relaxed);
  if (number < chosen.nth || (number > chosen.nth && !chosen.lasting)) return false;
  if (failures.fetch_add(1, std::memory_order_relaxed) == 0) {
    is_spared = true;
    stack_size = ::backtrace(stack.data(), static_cast<int>(stack.size()));
    is_spared = false;
  }
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (fails(Kind::kAllocation)) return nullptr;
  void* const block = alignment > alignof(std::max_align_t)
                          ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                          : std::malloc(size == 0 ? 1 : size);
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_back(void* block) noexcept {
  if (block == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

/// One frame a line, without the innermost `skipped`.
std::string text_of(void* const* frames, int size, int skipped) {
  std::string text;
  const std::unique_ptr<char*, decltype(&std::free)> names(::backtrace_symbols(frames, size), &std::free);
  for (int i = skipped; names && i < size; ++i) text += std::string("    ") + names.get()[i] + "\n";
  return text;
}

}  // namespace

void arm(const Fault& fault) {
  std::array<void*, 1> first{};
  ::backtrace(first.data(), 1);  // loads what it needs
  chosen = fault;
  events = failures = 0;
  stack_size = 0;
  is_spared = true;
  is_armed.store(true, std::memory_order_release);
}

Counted disarm() {
  is_armed.store(false, std::memory_order_release);
  return {events, failures};
}

Disturbed::Disturbed() {
  is_spared = false;
}

Disturbed::~Disturbed() {
  is_spared = true;
}

std::int64_t live_blocks() {
  return live;
}

std::string stack_of_fault() {
  return text_of(stack.data(), stack_size, 2);
}

std::string stack_here() {
  std::array<void*, 40> frames{};
  return text_of(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), 1);
}

}  // namespace headrace::faults

using headrace::faults::Kind;

void* operator new(std::size_t size) {
  return headrace::faults::allocate_or_throw(size, 1);
}
void* operator new[](std::size_t size) {
  return headrace::faults::allocate_or_throw(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return headrace::faults::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return headrace::faults::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return headrace::faults::allocate(size, 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return headrace::faults::allocate(size, 1);
}
void operator delete(void* block) noexcept {
  headrace::faults::give_back(block);
}
void operator delete[](void* block) noexcept {
  headrace::faults::give_back(block);
}
void operator delete(void* block, std::size_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  headrace::faults::give_back(block);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
  headrace::faults::give_back(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  headrace::faults::give_back(block);
}

// The linker gives these names: __wrap_X is called in place of X, __real_X is X.
extern "C" {
ssize_t __real_pread(int fd, void* out, std::size_t size, off_t offset);
int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
void* __real_mmap(void* start, std::size_t size, int protection, int flags, int fd, off_t offset);
// The state is a unique_ptr of a type that libstdc++ 13 made private. By value it is passed as the address of the
// caller's temporary (Itanium C++ ABI: a type with a destructor), which the caller destroys.
void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* self,
                                                                                                  void* state,
                                                                                                  void (*depend)());

ssize_t __wrap_pread(int fd, void* out, std::size_t size, off_t offset) {
  if (!headrace::faults::fails(Kind::kRead)) return __real_pread(fd, out, size, offset);
  errno = headrace::faults::chosen.lasting ? EIO : ENXIO;  // the first is tried again
  return -1;
}

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!headrace::faults::fails(Kind::kOpen)) return __real_open(path, flags, mode);
  errno = headrace::faults::chosen.lasting ? EMFILE : EIO;
  return -1;
}

int __wrap_openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!headrace::faults::fails(Kind::kOpen)) return __real_openat(folder, path, flags, mode);
  errno = headrace::faults::chosen.lasting ? EMFILE : EIO;
  return -1;
}

void* __wrap_mmap(void* start, std::size_t size, int protection, int flags, int fd, off_t offset) {
  if (!headrace::faults::fails(Kind::kMapping)) return __real_mmap(start, size, protection, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(std::thread* self,
                                                                                                  void* state,
                                                                                                  void (*depend)()) {
  if (headrace::faults::fails(Kind::kThreadStart))
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(self, state, depend);
}
}
