#!/usr/bin/env bash
# Packs what `scripts/setup.sh wheel` built as a wheel in wheelhouse/. auditwheel copies the libraries in that it needs, so it
# installs on any Linux whose C library is as new as this one's, with no system package.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
rm -rf dist wheelhouse
"$bin/python" -m pip -qq wheel --no-deps --no-build-isolation --config-settings=build-dir=build/release -w dist .
log=dist/auditwheel.log
PATH=$bin:$PATH "$bin/auditwheel" repair -w wheelhouse dist/headrace-*.whl >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
ls -l wheelhouse
