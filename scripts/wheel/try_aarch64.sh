#!/usr/bin/env bash
# Runs a wheel for 64-bit ARM under qemu: the command line writes and verifies files; this Debian's Python for ARM delivers an
# epoch of each kind of samples and compares it with what h5py and NumPy of PyPI read (scripts/demo_kinds.py).
#   scripts/wheel/try_aarch64.sh wheelhouse
# Nothing is installed: all lies in build/aarch64_python.
set -euo pipefail
wheels=$(realpath -e "${1:-}" 2>/dev/null) || { echo "usage: scripts/wheel/try_aarch64.sh FOLDER" >&2; exit 2; }
compgen -G "$wheels/headrace-*_aarch64.whl" >/dev/null ||
  { echo "$wheels has no wheel for ARM: make wheel WHEEL_ARGS='--machine aarch64' builds them." >&2; exit 2; }
cd "$(dirname "$0")/../.."
command -v qemu-aarch64-static >/dev/null || { echo "qemu is missing: apt-get install qemu-user-static." >&2; exit 1; }
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
root=build/aarch64_python
python3 scripts/wheel/sysroot.py "$root" aarch64 "$suite" python3 libstdc++6
python=$(basename "$(readlink -f "$root/usr/bin/python3")")
minor=${python#python3.}
tag=cp312-abi3
[ "$minor" -ge 12 ] || tag=cp3$minor-cp3$minor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m zipfile -e "$wheels"/headrace-*-"$tag"-*_aarch64.whl "$work/site"
.venv/bin/python -m pip -q install --target "$work/site" --python-version "3.$minor" --only-binary :all: \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 numpy h5py
run() { qemu-aarch64-static -cpu max -L "$root" "$@"; }
chmod +x "$work/site/headrace/bin/headrace"
run "$work/site/headrace/bin/headrace" --version
run "$work/site/headrace/bin/headrace" demo --out "$work/jets" --kind jets --jets 2000 --quiet
run "$work/site/headrace/bin/headrace" verify "$work/jets/train_*.h5"
mkdir "$work/kinds"
run -E PYTHONPATH="$work/site:scripts" "$root/usr/bin/$python" - "$work/kinds" <<'TEXT'
import platform, sys
from pathlib import Path
from demo_kinds import run_all
print(platform.machine(), "Python", platform.python_version())
good = True
for epoch in run_all(Path(sys.argv[1]), 7, "256MiB"):
    print(f"{epoch.kind.name}: {epoch.samples:,} samples, {'good' if epoch.good else 'WRONG'}")
    good &= epoch.good
sys.exit(not good)
TEXT
