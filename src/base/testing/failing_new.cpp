#include "base/testing/failing_new.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace headrace::testing {
namespace {

std::atomic<bool> armed{false};
std::mutex mutex;              // of all but `armed`: what an allocation finds and what it leaves belong together
std::int64_t left_before = 0;  // allocations until one fails, that one counted; 0: none does
std::int64_t left_after = 0;
std::uint64_t num_failed = 0;
std::array<char, 16> threads_begin{};
pthread_t only{};

/// Under the lock.
bool is_chosen() {
  if (threads_begin[0] == 0) return ::pthread_equal(::pthread_self(), only) != 0;
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  return std::strncmp(name.data(), threads_begin.data(), std::strlen(threads_begin.data())) == 0;
}

bool fails_now() {
  if (!armed.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex);
  if (left_before == 0 || !is_chosen()) return false;
  --left_before;
  if (left_before > 0) return false;
  if (left_after-- > 0) left_before = 1;
  ++num_failed;
  return true;
}

}  // namespace

FailingNew::FailingNew(const std::string& threads, std::int64_t first, std::int64_t others) {
  const std::lock_guard lock(mutex);
  threads_begin = {};
  threads.copy(threads_begin.data(), threads_begin.size() - 1);
  only = ::pthread_self();
  left_before = first;
  left_after = others;
  num_failed = 0;
  armed.store(true, std::memory_order_release);
}

FailingNew::~FailingNew() {
  const std::lock_guard lock(mutex);
  armed = false;
  left_before = 0;
}

std::uint64_t FailingNew::failed() const {
  const std::lock_guard lock(mutex);
  return num_failed;
}

}  // namespace headrace::testing

void* operator new(std::size_t bytes) {
  if (headrace::testing::fails_now()) throw std::bad_alloc();
  if (void* const made = std::malloc(bytes > 0 ? bytes : 1)) return made;
  throw std::bad_alloc();
}
// For std::stable_sort, which does with less: a library's own would not go with the deletes below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (headrace::testing::fails_now()) return nullptr;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (headrace::testing::fails_now()) throw std::bad_alloc();
  const auto step = static_cast<std::size_t>(alignment);
  if (void* const made = std::aligned_alloc(step, (bytes + step - 1) / step * step)) return made;
  throw std::bad_alloc();
}
void operator delete(void* made) noexcept {
  std::free(made);
}
void operator delete(void* made, std::size_t) noexcept {
  std::free(made);
}
void operator delete(void* made, const std::nothrow_t&) noexcept {
  std::free(made);
}
void operator delete(void* made, std::align_val_t) noexcept {
  std::free(made);
}
void operator delete(void* made, std::size_t, std::align_val_t) noexcept {
  std::free(made);
}
