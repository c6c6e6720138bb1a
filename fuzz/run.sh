#!/bin/sh
# Run every codec fuzz target for a while from seeds: fuzz/run.sh [SECONDS each, default 30] [BUILD, default build/fuzz]
# First: cmake --preset fuzz -DHEADRACE_BUILD_CLI=OFF -DHEADRACE_BUILD_TESTS=OFF && cmake --build build/fuzz
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-30} build=${2:-build/fuzz}
seeds=$build/seeds
python3 fuzz/make_seeds.py "$seeds"
for program in "$build"/fuzz/fuzz_*; do
  name=$(basename "$program" | sed s/fuzz_//)
  mkdir -p "$build/corpus/$name"
  echo "== $name"
  # 512 MiB: no decoder may allocate by what a header says.
  "$program" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=512 -timeout=10 -max_len=16384 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$build/corpus/" "$build/corpus/$name" "$seeds/$name"
done
