#!/bin/sh
# Run every fuzz target for a while from seeds: fuzz/run.sh [SECONDS each, default 30] [BUILD, default build/fuzz]
# First: cmake --preset fuzz && cmake --build build/fuzz. The seeds are written with .venv's h5py (make setup).
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-30} build=${2:-build/fuzz}
seeds=$build/seeds
.venv/bin/python fuzz/make_seeds.py "$seeds"
failed=0
for program in "$build"/fuzz/fuzz_*; do
  name=$(basename "$program" | sed s/fuzz_//)
  mkdir -p "$build/corpus/$name"
  echo "== $name"
  leaks=1 most_bytes=16384 options=
  if [ "$name" = hdf5_open ]; then
    leaks=0 most_bytes=32768 # libhdf5 forgets what it meets in damaged headers: scripts/lsan.supp
    options=allocator_may_return_null=1:detect_leaks=0 # and asks malloc for what they claim, prepared to be refused
  fi
  # 512 MiB: no decoder may allocate by what a header says.
  ASAN_OPTIONS=$options "$program" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=512 -timeout=10 \
    -max_len="$most_bytes" -detect_leaks="$leaks" -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$build/corpus/" "$build/corpus/$name" "$seeds/$name" || failed=1
done
exit $failed
