#!/usr/bin/env bash
# Run the tests of one build: release (C++, then Python, examples and install), asan or tsan (C++ only). All run, also after a
# failure; the last lines count them and say what was skipped and why.
#   scripts/run_tests.sh release|asan|tsan [short]
# short: what .ci/run has time for: of asan the layers that read foreign bytes, of tsan those with threads, and fewer examples
# of each property. Only the test programs that run are built, for $HEADRACE_BUILD_SECONDS at most where that is set. Where
# short cannot run, it says why (not_run.sh) and is no failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
usage='usage: scripts/run_tests.sh release|asan|tsan [short]'
preset=${1:?$usage} extent=${2:-all}
results=$PWD/build/test_results/$preset
export CCACHE_BASEDIR=$PWD
rm -rf "$results"
mkdir -p "$results"

layers=()
case $preset:$extent in
  asan:short) layers=(catalog codec format cache assembly transform dataset) ;;
  tsan:short) layers=(cache assembly dataset loader) ;;
  release:all | asan:all | tsan:all) ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
programs=("${layers[@]/%/_test}")
[ ${#layers[@]} -gt 0 ] || programs=(test_programs)
chosen=()
if [ ${#layers[@]} -gt 0 ]; then
  chosen=(-R "^($(IFS='|'; echo "${layers[*]}"))\$")
  export RC_PARAMS=${RC_PARAMS:-max_success=20} # rapidcheck: 100 else
fi

not_run() { # REASON; a failure unless short
  rm -rf "$results"
  scripts/not_run.sh "the tests under $preset: $1"
  [ "$extent" = short ]
  exit
}

prefix=()
filter='*'
[ "$preset" != tsan ] || ! setarch -R true 2>/dev/null || prefix=(setarch -R) # that of GCC 12 cannot start where a kernel
                                                                            # spreads addresses wide
if [ "$preset" != release ]; then
  # Some containers and kernels forbid what a sanitizer's runtime does. Its empty program tells.
  declare -A flags=([asan]="address,undefined" [tsan]=thread) compilers=([asan]=clang++ [tsan]="${CXX:-c++}")
  if ! { echo 'int main() {}' | "${compilers[$preset]}" "-fsanitize=${flags[$preset]}" -x c++ -o "$results/starts" - &&
    "${prefix[@]}" "$results/starts"; } >"$results/starts.log" 2>&1; then
    cat "$results/starts.log"
    not_run "a program with -fsanitize=${flags[$preset]} does not run on this machine"
  fi
  cmake --preset "$preset" >"$results/configure.log" || { cat "$results/configure.log"; exit 1; }
  build=(cmake --build "build/$preset" --target "${programs[@]}")
  [ -z "${HEADRACE_BUILD_SECONDS:-}" ] || build=(timeout "$HEADRACE_BUILD_SECONDS" "${build[@]}")
  "${build[@]}"
  built=$?
  [ $built != 124 ] || not_run "they were not built within $HEADRACE_BUILD_SECONDS s"
  [ $built = 0 ] || exit 1
fi
if [ "$preset" = tsan ]; then
  filter='-*.EveryByteFlipped' # 10,000 files opened on one thread: minutes, with nothing to see here
fi

# Every GoogleTest program writes an XML of its own, from which single tests are counted; ctest notices programs that died.
GTEST_OUTPUT="xml:$results/" GTEST_FILTER=$filter \
  ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
  LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0 \
  "${prefix[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" --timeout 900 \
  "${chosen[@]}" --output-junit "$results/ctest.xml"
if [ "$preset" = release ]; then
  # Two files at a time, a file in one process: what its tests share is made once.
  .venv/bin/python -m pytest -n 2 --dist loadfile --junitxml="$results/pytest.xml"
  echo $? >"$results/pytest.status"
fi
python3 scripts/count_tests.py "$results"
