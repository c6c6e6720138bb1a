#!/usr/bin/env bash
# What is worth a minute after a small edit: the C++ tests of the floors that this work changed (changed_files.py), with few
# examples of each property and without the slowest, and the Python tests that are marked `fast`. make test runs all.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
status=0
mapfile -t floors < <(python3 scripts/changed_files.py | sed -n 's|^\(src\|include/headrace\)/\([a-z]*\)/.*|\2|p' | sort -u)
echo "floors that changed: ${floors[*]:-none}"
for floor in "${floors[@]}"; do
  program=build/release/${floor}_test
  [ ! -x "$program" ] || RC_PARAMS=${RC_PARAMS:-max_success=10} "$program" --gtest_brief=1 --gtest_filter="-*Slow*" || status=1
done
.venv/bin/python -m pytest -q -m fast python/tests tests/scripts || status=1
exit $status
