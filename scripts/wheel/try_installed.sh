#!/usr/bin/env bash
# Installs the wheels of a folder as users do, with the oldest and the newest NumPy that each Python can have, and runs the
# blocks of the five users' first pages with what is installed; nothing of this tree's build is used.
#   scripts/wheel/try_installed.sh wheelhouse                              (this machine's python3)
#   PYTHONS='python3.10 python3.13' TORCH='oldest newest' scripts/wheel/try_installed.sh wheelhouse
#   SUITE=trixie SHARED=wheelhouse scripts/bare_machine.sh 'scripts/wheel/try_installed.sh ../shared'
# TORCH adds torch, which is large. The last lines are a table, and the exit status says whether all went well.
set -euo pipefail
usage() { echo "$1" >&2; sed -n '2,6p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }
wheels=$(realpath -e -- "${1:-}" 2>/dev/null) || usage "Name the folder of the wheels."
compgen -G "$wheels/headrace-*.whl" >/dev/null || usage "$wheels has no wheels of headrace: make wheel builds them."
pythons=()
for python in ${PYTHONS:-python3}; do
  found=$(command -v "$python") || usage "PYTHONS names $python, which is not there."
  pythons+=("$(cd "$(dirname "$found")" && pwd)/${found##*/}")
done
for torch in ${TORCH:-}; do
  case $torch in oldest | newest) ;; *) usage "TORCH is oldest, newest or both, not $torch." ;; esac
done
unset PYTHONPATH PYTHONHOME # they would show another headrace than the wheel's
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0 table=""
export PIP_DISABLE_PIP_VERSION_CHECK=1
oldest_numpy() { # MINOR: the first release with wheels for it, of those that Headrace supports
  case $1 in 10 | 11) echo 1.25.0 ;; 12) echo 1.26.0 ;; 13) echo 2.1.0 ;; *) echo 2.3.2 ;; esac
}
oldest_torch() { case $1 in 10 | 11 | 12) echo 2.4.0 ;; 13) echo 2.5.0 ;; *) echo 2.9.0 ;; esac; }

try() { # PYTHON NUMPY TORCH
  local venv=$work/venv minor packages=(h5py pyarrow 'zarr>=3; python_version >= "3.11"' pytest pytest-timeout)
  minor=$("$1" -c 'import sys; print(sys.version_info.minor)')
  if [ "$2" = newest ]; then packages+=(numpy); else
    packages+=("numpy==$(oldest_numpy "$minor")")
    [ "$minor" -ge 13 ] || packages+=('pyarrow<20') # later ones want NumPy 2, and do not say so to pip
  fi
  case $3 in oldest) packages+=("torch==$(oldest_torch "$minor")") ;; newest) packages+=(torch) ;; esac
  rm -rf "$venv"
  if [ "$minor" -lt 10 ]; then # no wheel is for it, but the command line in one is for its system
    "$1" -m zipfile -e "$(printf '%s\n' "$wheels"/*abi3*"$(uname -m)".whl | tail -n 1)" "$venv"
    chmod +x "$venv/headrace/bin/headrace"
    "$venv/headrace/bin/headrace" demo --out "$venv/jets" --kind jets --jets 2000 --quiet >/dev/null
    "$venv/headrace/bin/headrace" verify "$venv/jets/train_*.h5"
    return
  fi
  "$1" -m venv "$venv"
  "$venv/bin/python" -m pip -q install --no-index --no-deps --find-links "$wheels" headrace
  "$venv/bin/python" -m pip -q install --only-binary :all: --prefer-binary "${packages[@]}"
  "$venv/bin/python" -c 'import headrace, sys; sys.exit(not headrace.__file__.startswith(sys.argv[1]))' "$venv/"
  "$venv/bin/headrace" --version >/dev/null
  "$venv/bin/python" -m pytest -q -p no:cacheprovider python/tests/tools/test_docs.py \
    -k 'block_runs and (start-jetclass or start-mel or start-events or start-parquet or start-volumes or start-text)'
}

for python in "${pythons[@]}"; do
  for torch in ${TORCH:-none}; do
    for numpy in oldest newest; do
      [ "$torch" = none ] || [ "$numpy" = "$torch" ] || continue
      [ "$numpy" = oldest ] || "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || continue # no NumPy there
      log=$work/log
      try "$python" "$numpy" "$torch" >"$log" 2>&1 &
      if wait $!; then said=$(tail -n 1 "$log"); else # in a condition, `set -e` would not end it
        status=1 said=FAILED
        tail -n 40 "$log"
      fi
      reader=$work/venv/bin/python
      [ -x "$reader" ] || reader=$python
      have=$("$reader" - <<'TEXT' || true
import importlib.metadata as m, platform
found = []
for name in ("headrace", "numpy", "torch", "h5py", "pyarrow", "zarr"):
    try:
        found.append(f"{name} {m.version(name)}")
    except m.PackageNotFoundError:
        pass
print(f"Python {platform.python_version()}, glibc {platform.libc_ver()[1]}:", ", ".join(found) or "the command line alone")
TEXT
      )
      table+="$have: ${said#: }"$'\n'
    done
  done
done
printf '%s' "$table"
exit $status
