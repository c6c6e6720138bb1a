#!/usr/bin/env bash
# The system packages that the build needs, on Debian 12, Ubuntu 24.04 and later. Says what it installs, asks on a terminal
# (not with YES=1 or CI set), and needs root only when something is missing. Elsewhere (conda) CMake looks for itself.
set -euo pipefail
group=${1:-demo}

packages=(g++ cmake ninja-build pkg-config ccache libhdf5-dev libdeflate-dev libzstd-dev liblz4-dev libblosc-dev
          libhwy-dev libfmt-dev libcli11-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev libbz2-dev libaec-dev
          libsnappy-dev libsimdjson-dev)
case $group in
  demo | docs) ;;
  wheel) packages=(cmake ninja-build make pkg-config ccache dpkg-dev xz-utils) ;; # scripts/wheel builds all else
  *) packages+=(libgtest-dev librapidcheck-dev) ;;
esac
[ "$group" != docs ] || packages+=(doxygen)
[ "$group" != check ] || packages+=(clang libclang-rt-dev libbenchmark-dev) # fuzz targets; sources that only clang is shown
python=${PYTHON:-python3}
# The venv module and Python.h: packages of the system's Python; any other Python brings its own.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then packages+=(python3-venv); fi
if ! "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null; then
  packages+=(python3-dev)
fi

# too_old MAJOR WORD...: is a compiler whose --version says these words, and whose major version this is, too old for C++20?
too_old() { case "${*:2}" in *clang*) [ "$1" -lt 14 ] ;; *) [ "$1" -lt 12 ] ;; esac; }
refuse_compiler() { # NAME VERSION
  cat >&2 <<TEXT
Headrace needs g++ 12 or newer, or clang 14 or newer; $1 is version $2. Nothing was installed or changed. Name a newer one,
for example

  apt-get install g++-12    # where the distribution has it
  CXX=g++-12 CC=gcc-12 make demo

or use conda, whose compilers are new enough (environment.yml), or a wheel made elsewhere by 'make wheel': see CONTRIBUTING.md.
TEXT
  exit 1
}
if { ldd --version 2>&1 || true; } | grep -qi musl; then
  cat >&2 <<TEXT
Headrace needs glibc, the C library of most Linux distributions; this one has musl (Alpine, Void). Nothing was installed or
changed. Use a container of Debian: packaging/Containerfile.
TEXT
  exit 1
fi
compiler=${CXX:-c++}
if [ "$group" != wheel ] && command -v "$compiler" >/dev/null; then
  version=$("$compiler" -dumpversion)
  if too_old "${version%%.*}" "$("$compiler" --version)"; then refuse_compiler "'$compiler'" "$version"; fi
fi

if [ -n "${CONDA_PREFIX:-}" ] && [ -e "$CONDA_PREFIX/include/libdeflate.h" ]; then
  exit 0 # the active conda environment has them (environment.yml)
fi
if ! command -v dpkg-query >/dev/null; then
  echo "Not a Debian or Ubuntu system: the build looks for the libraries that environment.yml names." >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

list=$(printf '%s ' "${missing[@]}" | fold -s -w 100 | sed 's/^/  /')
ask_administrator() {
  cat >&2 <<TEXT
System packages are missing, and $1. Ask the administrator for

  apt-get install ${missing[*]}

or, without root, use conda (environment.yml) or a wheel made elsewhere by 'make wheel': see CONTRIBUTING.md.
TEXT
  exit 1
}

root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || ask_administrator "you are not root and there is no sudo"
  root=(sudo)
  if ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
    ask_administrator "sudo asks for a password, but this is not a terminal"
  fi
fi

printf 'System packages to install with apt-get:\n%s\n' "$list"
if [ -t 0 ] && [ -z "${YES:-}" ] && [ -z "${CI:-}" ]; then
  read -r -p "Install them? [Y/n] " answer
  case $answer in
    "" | [Yy]*) ;;
    *) ask_administrator "you said no" ;;
  esac
fi
if [ ${#root[@]} -gt 0 ] && ! sudo -v; then ask_administrator "sudo was refused"; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >"$log" 2>&1; }
apt update || echo "apt-get update reported errors (going on with the lists that are there):" "$(tail -n 1 "$log")" >&2
if [ "$group" != wheel ] && ! command -v "$compiler" >/dev/null; then # the one that would be installed: 4:12.2.0-3
  version=$(apt-cache policy g++ 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p')
  if [ -n "$version" ] && too_old "${version%%.*}" g++; then refuse_compiler "this distribution's g++" "$version"; fi
fi
# All is fetched before anything is installed, so that a network that fails leaves the system as it was.
if ! apt install --download-only --no-install-recommends "${missing[@]}"; then
  tail -n 20 "$log" >&2
  cat >&2 <<TEXT
apt-get could not fetch the packages above; nothing was installed. Is there a network, and does /etc/apt name a mirror that
can be reached? Without either, install these packages from elsewhere, or take a wheel made elsewhere by 'make wheel':

  apt-get install ${missing[*]}
TEXT
  exit 1
fi
if ! apt install --no-install-recommends "${missing[@]}"; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install the packages above." >&2
  exit 1
fi
echo "System packages are installed."
