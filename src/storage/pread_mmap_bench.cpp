// pread against mmap on a page-cached file: the figures of docs/decisions/0005-pread-not-mmap.md.
// cmake -DHEADRACE_BUILD_MICROBENCH=ON; then build/…/storage_bench FILE. FILE is made (1 GiB) if absent. Every figure
// is the best of many short turns, so that other programs disturb little.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kFileBytes = std::size_t{1} << 30;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Nanoseconds a read: best turn of `turns`, each over its own part of `offsets`.
template <class Read>
double best_ns(const std::vector<std::size_t>& offsets, std::size_t reads_a_turn, Read read) {
  double best = 1e30;
  for (std::size_t at = 0; at + reads_a_turn <= offsets.size(); at += reads_a_turn) {
    const std::uint64_t start = now_ns();
    for (std::size_t i = at; i < at + reads_a_turn; ++i) read(offsets[i]);
    best = std::min(best, static_cast<double>(now_ns() - start) / static_cast<double>(reads_a_turn));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: pread_mmap_bench FILE\n"), 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  std::vector<char> buffer(std::size_t{1} << 20, 'x');
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return std::perror(argv[1]), 1;
  for (auto size = static_cast<std::size_t>(status.st_size); size < kFileBytes; size += buffer.size())
    if (pwrite(fd, buffer.data(), buffer.size(), static_cast<off_t>(size)) < 0) return std::perror("write"), 1;
  for (std::size_t at = 0; at < kFileBytes; at += buffer.size())
    if (pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(at)) < 0) return std::perror("read"), 1;

  std::printf("%-16s %22s %22s %22s\n", "random reads of", "pread", "mmap, first touch", "mmap, touched before");
  for (const std::size_t bytes : {std::size_t{2} << 10, std::size_t{64} << 10, std::size_t{1} << 20}) {
    const std::size_t places = kFileBytes / bytes,
                      reads_a_turn = std::max<std::size_t>((std::size_t{4} << 20) / bytes, 4);
    std::vector<std::size_t> offsets(places);  // each place once, in random order
    for (std::size_t i = 0; i < places; ++i) offsets[i] = i * bytes;
    std::shuffle(offsets.begin(), offsets.end(), std::mt19937_64(1));
    void* const mapped = mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) return std::perror("mmap"), 1;
    madvise(mapped, kFileBytes, MADV_RANDOM);
    const auto copy = [&](std::size_t at) {
      std::memcpy(buffer.data(), static_cast<const char*>(mapped) + at, bytes);
      asm volatile("" ::"r"(buffer.data()) : "memory");
    };
    const double by_pread = best_ns(offsets, reads_a_turn, [&](std::size_t at) {
      if (pread(fd, buffer.data(), bytes, static_cast<off_t>(at)) < 0) std::perror("pread");
    });
    const double fresh = best_ns(offsets, reads_a_turn, copy), warm = best_ns(offsets, reads_a_turn, copy);
    const auto gb = [&](double ns) { return static_cast<double>(bytes) / ns; };
    std::printf("%8zu bytes   %9.2f us %5.1f GB/s %9.2f us %5.1f GB/s %9.2f us %5.1f GB/s\n", bytes, by_pread / 1e3,
                gb(by_pread), fresh / 1e3, gb(fresh), warm / 1e3, gb(warm));
    munmap(mapped, kFileBytes);
  }
  close(fd);
}
