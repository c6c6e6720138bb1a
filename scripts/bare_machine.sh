#!/usr/bin/env bash
# Runs a command over a clone of this repository on a bare Debian, as a newcomer would: does the set-up really suffice?
#   scripts/bare_machine.sh 'make demo'               (as root; only what is committed is cloned)
#   SUITE=trixie scripts/bare_machine.sh 'make test'  (Debian 13; bookworm, Debian 12, is the default)
# Run both commands on both before each release. The root starts with git, make, sudo, python3 and python3-venv; it lies in
# $BARE_ROOT (default: below the temporary folder) and is made once, FRESH=1 makes it anew. Mirrors are those that this machine's
# apt and pip are set up for. SHARED=DIR: a folder that lies beside the clone as ../shared.
set -euo pipefail
case ${1:--} in -*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
checkout=$(cd "$(dirname "$0")/.." && pwd)
suite=${SUITE:-bookworm}
root=${BARE_ROOT:-${TMPDIR:-/tmp}/bare_$suite}
refuse() { echo "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "A bare Debian is entered with chroot, which needs root: sudo scripts/bare_machine.sh ..." >&2; exit 1; }
# What is run there is run by root, and what is made anew is deleted first: the root has to be one that this script made.
case $root in /*) ;; *) refuse "BARE_ROOT has to begin with /, not $root" ;; esac
if [ -e "$root" ] || [ -L "$root" ]; then
  { [ -d "$root" ] && [ ! -L "$root" ] && [ -O "$root" ]; } || refuse "$root is not a folder of root's own: name another by BARE_ROOT."
  [ -e "$root/.bare" ] || [ -e "$root/.ready" ] || [ -z "$(ls -A "$root")" ] ||
    refuse "$root is not empty, and no root that this script made: name another by BARE_ROOT."
fi
[ -z "${SHARED:-}" ] || [ -d "$SHARED" ] || refuse "SHARED names $SHARED, which is no folder."
git -C "$checkout" rev-parse -q --verify HEAD >/dev/null ||
  refuse "git does not read $checkout: if it belongs to another user, tell it so, as its words above say."

# Folders on this machine that pip is told to look for packages in.
package_folders() {
  { python3 -m pip config list 2>/dev/null || true; printf '%s\n' "${PIP_FIND_LINKS:-}"; } | tr " '\"=," '\n' |
    sed -n 's#^file://##; s#/simple/*$##; \#^/#p' | sort -u | while read -r path; do [ ! -d "$path" ] || printf '%s\n' "$path"; done
}
unmount() {
  for path in $(package_folders) /dev/shm /dev /proc; do umount -l "$root$path" 2>/dev/null || true; done
}
make_root() {
  local mirror
  mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
  [ -n "$mirror" ] || mirror=$(awk '/^deb /{print $2; exit}' /etc/apt/sources.list)
  command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null ||
    { echo "debootstrap is missing, which makes a bare Debian: apt-get install debootstrap." >&2; exit 1; }
  unmount
  if grep -q " $root/" /proc/mounts; then echo "Something is still mounted below $root." >&2; exit 1; fi
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  touch "$root/.bare"
  local how=() # a release that is newer than debootstrap is made as the newest that it knows
  [ -e "/usr/share/debootstrap/scripts/$suite" ] || how=(/usr/share/debootstrap/scripts/sid)
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" "${how[@]}" >"$root.log" 2>&1 ||
    { tail -n 3 "$root.log" >&2; exit 1; }
  printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
  cp -r /etc/apt/apt.conf.d /etc/apt/auth.conf.d "$root/etc/apt/" 2>/dev/null || true
  rm -f "$root"/etc/apt/apt.conf.d/docker-*
  cp -r /etc/ssl "$root/etc/" 2>/dev/null || true
  cp /etc/hosts /etc/resolv.conf /etc/pip.conf "$root/etc/" 2>/dev/null || true
  mkdir -p "$root$HOME/.config"
  cp -r "$HOME/.config/pip" "$root$HOME/.config/" 2>/dev/null || true
  chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends git make python3 python3-venv sudo' >>"$root.log" 2>&1 || { tail -n 3 "$root.log" >&2; exit 1; }
  touch "$root/.ready"
}

if [ -n "${FRESH:-}" ] || [ ! -e "$root/.ready" ]; then make_root; fi
trap unmount EXIT
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
# A slave: what is unmounted below it stays where it came from, also where mounts are shared (systemd's default).
mountpoint -q "$root/dev" || { mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"; }
for path in $(package_folders); do
  mkdir -p "$root$path"
  mountpoint -q "$root$path" || mount --bind -o ro "$path" "$root$path"
done
rm -rf "$root/srv/headrace" "$root/srv/shared"
git clone -q "$checkout" "$root/srv/headrace"
[ -z "${SHARED:-}" ] || cp -r "$SHARED" "$root/srv/shared"
mapfile -t settings < <(env | grep -iE '^(ci|pip_[a-z_]*|ssl_[a-z_]*|requests_[a-z_]*|https?_proxy|no_proxy)=' || true)
env -i HOME="$HOME" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive "${settings[@]}" chroot "$root" bash -c "cd /srv/headrace && $*"
