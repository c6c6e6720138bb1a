#include "tools/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <headrace/bytes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/machine/cpu_count.h"
#include "base/machine/page_size.h"

namespace headrace {
namespace {

constexpr std::size_t kMostMappedFiles = 64;
constexpr std::uint64_t kMappedWindowBytes = 1U << 30;  // mapped at once: addresses are limited too (ulimit -v)

/// Return the processor's name; of an ARM processor, which says numbers only, the kind.
std::string cpu_name(const char* kind) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (const std::size_t colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return kind;
}

/// Adds what is known of one open file. \return False if the system does not tell.
bool count_pages(int descriptor, std::uint64_t size, PageCache& cache) {
  for (std::uint64_t at = 0; at < size; at += kMappedWindowBytes) {
    const std::uint64_t length = std::min(kMappedWindowBytes, size - at);
    void* const mapped = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(at));
    if (mapped == MAP_FAILED) return false;  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the system's macro
    std::vector<unsigned char> pages((length + page_bytes() - 1) / page_bytes());
    const bool told = ::mincore(mapped, length, pages.data()) == 0;
    ::munmap(mapped, length);
    if (!told) return false;
    const auto resident = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; });
    cache.looked_at_bytes += length;
    cache.resident_bytes += std::min(static_cast<std::uint64_t>(resident) * page_bytes(), length);
  }
  return true;
}

}  // namespace

Json machine_json() {
  utsname system{};
  ::uname(&system);
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return {{"cpu", cpu_name(system.machine)},
          {"cores", usable_cpu_count()},
          {"memory_bytes", pages * page_bytes()},
          {"system", fmt::format("{} {}", system.sysname, system.release)}};
}

std::string machine_text(const Json& machine) {
  return fmt::format("{}, {} cores, {}, {}", machine.value("cpu", "?"), machine.value("cores", 0),
                     format_bytes(machine.value("memory_bytes", std::uint64_t{0})), machine.value("system", "?"));
}

PageCache look_into_page_cache(const std::vector<std::string>& paths) {
  PageCache cache;
  cache.known = true;
  const std::size_t step = std::max<std::size_t>(1, (paths.size() + kMostMappedFiles - 1) / kMostMappedFiles);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    struct stat status {};
    if (::stat(paths[i].c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    ++cache.files, cache.bytes += size;
    if (i % step != 0) continue;
    const int descriptor = ::open(paths[i].c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    cache.known = count_pages(descriptor, size, cache) && cache.known;
    ::close(descriptor);
  }
  cache.known = cache.known && cache.looked_at_bytes > 0;
  return cache;
}

Json page_cache_json(const PageCache& cache) {
  return {{"files", cache.files},
          {"bytes", cache.bytes},
          {"resident_share", cache.known ? Json(cache.share()) : Json(nullptr)}};
}

}  // namespace headrace
