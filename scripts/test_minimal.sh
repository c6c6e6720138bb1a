#!/usr/bin/env bash
# Build with no optional library at all (HEADRACE_WITH_...=OFF, in build/minimal) and run the C++ tests of what is left: that a user
# of one format needs no other format's libraries. Not part of .ci/run: it is a second build of everything.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR=$PWD
cmake --preset minimal
cmake --build build/minimal --target test_programs headrace_cli
ctest --test-dir build/minimal --output-on-failure --no-tests=error -j "$(nproc)" --timeout 900
if ldd build/minimal/cli/headrace | grep -E 'hdf5|blosc|bz2|libaec|snappy'; then
  echo "the command line needs a library that was left out" >&2
  exit 1
fi
