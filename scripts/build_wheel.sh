#!/usr/bin/env bash
# A wheel in wheelhouse/ that carries the libraries it needs (auditwheel copies them in), for any Linux whose C library is as
# new as this one's. Built apart from build/release, in isolation, as `pip install .` would.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=$PWD/constraints.txt
rm -rf dist wheelhouse
"$bin/python" -m pip -q wheel --no-deps -w dist .
PATH=$bin:$PATH "$bin/auditwheel" -q repair -w wheelhouse dist/headrace-*.whl
ls -l wheelhouse
