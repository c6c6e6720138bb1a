#include <fmt/format.h>
#include <headrace/bytes.h>
#include <headrace/loader.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <bit>
#include <optional>

#include "base/memory/stream_copy.h"
#include "bind/register.h"
#include "bind/without_gil.h"
#include "loader/options/rank.h"
#include "storage/version_now.h"

namespace headrace::python {
namespace {

// Copies of fewer bytes are over before another thread has got the GIL.
constexpr std::size_t kShortCopyBytes = 32 << 10;

void copy_past_caches(std::uintptr_t to, std::uintptr_t source, std::size_t bytes) {
  std::optional<WithoutGil> without;
  if (bytes >= kShortCopyBytes) without.emplace();
  copy_run(std::bit_cast<std::byte*>(to), std::bit_cast<const std::byte*>(source), bytes);
  finish_streaming();
}

/// A text that is equal as long as what lies at a path is unchanged; nullopt: neither a file nor a directory does.
std::optional<std::string> version_text(const std::string& path) {
  const auto version = version_now(path);
  if (!version) return std::nullopt;
  return fmt::format("inode {} bytes {} mtime {} ctime {} files {:016x}", version->inode, version->size_bytes,
                     version->mtime_ns, version->ctime_ns, version->entries);
}

}  // namespace

void register_base(nb::module_& m) {
  m.def(
      "version_text",
      [](const nb::bytes& path) {
        return version_text({path.c_str(), path.size()});
      },
      nb::arg("path"),
      "Return a text that is equal as long as a file, or a directory and the files in it, are unchanged; else None.",
      nb::sig("def version_text(path: bytes) -> str | None"));
  m.def("parse_bytes", &parse_bytes, nb::arg("text"),
        "Return the bytes that a text means, such as \"8GiB\", \"8G\" or \"8GB\".");
  m.def("format_bytes", &format_bytes, nb::arg("size"), "Return a size as text: \"1.50 GiB\".");
  m.def("launcher_rank", &launcher_rank, "Return the rank that the launcher's environment gives; None without one.",
        nb::sig("def launcher_rank() -> int | None"));
  m.def(
      "copy_past_caches", &copy_past_caches, nb::arg("to"), nb::arg("source"), nb::arg("bytes"),
      "Copy so many bytes from one address to another that no processor reads soon. Long copies run without the GIL.");
  m.def(
      "set_memory", [](std::uint64_t size) { return without_gil([&] { return set_memory(size); }); }, nb::arg("size"),
      "Set the limit of the whole process, in bytes.");
}

}  // namespace headrace::python
