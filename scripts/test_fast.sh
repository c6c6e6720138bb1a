#!/usr/bin/env bash
# What is worth a minute after a small edit: the C++ tests of the layers that this work changed (changed_files.py), with few
# examples of each property and without the slowest, and the Python tests that are marked `fast`. make test runs all.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
status=0
mapfile -t layers < <(python3 scripts/changed_files.py | python3 scripts/changed_layers.py)
echo "layers that changed: ${layers[*]:-none}"
for layer in "${layers[@]}"; do
  program=build/release/${layer}_test
  [ ! -x "$program" ] || RC_PARAMS=${RC_PARAMS:-max_success=10} "$program" --gtest_brief=1 --gtest_filter="-*Slow*" || status=1
done
.venv/bin/python -m pytest -q -m fast python/tests tests/scripts || status=1
exit $status
