#!/usr/bin/env bash
# Build the fuzz targets and run each for SECONDS (10): fuzz/short.sh [SECONDS]. make fuzz-short does the set-up as well.
# In .ci/run ($HEADRACE_NOT_RUN) what the machine or the time does not allow is left out with its reason; else it is a failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export CCACHE_BASEDIR=$PWD
build=build/asan # the tests of ASan and UBSan are built there too, from the same libraries
mkdir -p "$build"
not_run() { # REASON
  scripts/not_run.sh "the fuzz targets: $1"
  [ -n "${HEADRACE_NOT_RUN:-}" ]
  exit
}

empty='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, decltype(sizeof 0)) { return 0; }'
if ! { echo "$empty" | clang++ -fsanitize=fuzzer,address,undefined -x c++ -o "$build/starts" - &&
  "$build/starts" -runs=1; } >"$build/starts.log" 2>&1; then
  cat "$build/starts.log"
  not_run "a program of clang's with -fsanitize=fuzzer,address,undefined does not run on this machine"
fi
cmake --preset asan >"$build/configure.log" || { cat "$build/configure.log"; exit 1; }
targets=(cmake --build "$build" --target fuzz_targets)
[ -z "${HEADRACE_BUILD_SECONDS:-}" ] || targets=(timeout "$HEADRACE_BUILD_SECONDS" "${targets[@]}")
"${targets[@]}"
built=$?
[ $built != 124 ] || not_run "they were not built within $HEADRACE_BUILD_SECONDS s"
[ $built = 0 ] || exit 1
# The same seed each time: a change is judged by itself, not by what chance finds in older code meanwhile.
.venv/bin/python fuzz/run.py --seed 1 "${1:-10}" "$build"
