// Compiles against the installed headers, links the installed library, and sees an Error cross its boundary.
#include <headrace/headrace.h>

#include <cstdio>

int main() {
  if (headrace::parse_bytes("8GiB") != headrace::gibibytes(8)) return 1;
  try {
    headrace::open("no such file.h5");
  } catch (const headrace::Error& error) {
    std::puts(error.what());
    return error.code() == headrace::ErrorCode::kNotFound ? 0 : 2;
  }
  return 3;
}
