#!/usr/bin/env bash
# Compile the library, the command line and the C++ tests for 64-bit ARM (g++-aarch64-linux-gnu), and run the tests under qemu:
# all layers with pages of 4 KiB, those that deal with memory also with 16 and 64 KiB, as kernels for ARM have them.
#   scripts/test_aarch64.sh [LAYER...]      for example base cache; without one: all layers, and the command line
# The libraries are this Debian's packages for ARM, unpacked into build/aarch64_sysroot (scripts/wheel/sysroot.py); nothing is
# installed or changed outside build/. The last lines count the tests and say what was skipped and why. qemu knows nothing of
# ARM's memory order on a machine with a stricter one: what only shows there is for a machine with such a processor.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_BASEDIR=$PWD
results=$PWD/build/test_results
libraries=(libhdf5-dev libdeflate-dev libzstd-dev liblz4-dev libblosc-dev libhwy-dev libfmt-dev libcli11-dev libyaml-cpp-dev
           nlohmann-json3-dev zlib1g-dev libbz2-dev libaec-dev libsnappy-dev libsimdjson-dev libgtest-dev librapidcheck-dev)
memory_layers=(base codec cache assembly) # of those asked for, the ones that also run with larger pages
left_out=( # TESTS REASON
  "*.EveryByteFlipped 10,000 files opened on one thread: minutes under qemu"
  "Resume.AtEveryStepForWorldsOfOneToEight* thousands of loaders: minutes under qemu"
  "Reclaim.AtRandomMomentsChangesNoBatchOfAnyKind counts what happens in 100 examples, and fewer are run (RC_PARAMS)"
)

suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) # the cross compiler's C++ library is of this release
missing=()
for pair in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static ninja:ninja-build cmake:cmake \
  pkg-config:pkg-config python3:python3; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ ! -e /etc/debian_version ] || [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
  echo "This needs Debian 12 or newer, whose packages for ARM it compiles against. Nothing was changed." >&2
  exit 1
fi
if [ ${#missing[@]} -gt 0 ]; then
  printf 'System packages are missing, and nothing was changed. Install them with\n\n  apt-get install %s\n' "${missing[*]}" >&2
  exit 1
fi

python3 scripts/wheel/sysroot.py build/aarch64_sysroot aarch64 "$suite" "${libraries[@]}"
cmake --preset aarch64
layers=("$@")
targets=("${@/%/_test}")
if [ $# = 0 ]; then
  mapfile -t layers < <(sed -n 's/^headrace_layer(\([a-z]*\) .*/\1/p' CMakeLists.txt)
  targets=("${layers[@]/%/_test}" headrace_cli)
fi
cmake --build build/aarch64 --target "${targets[@]}"

rm -rf "$results"/aarch64*
mkdir -p "$results"
filter=-
for line in "${left_out[@]}"; do
  filter+=${line%% *}:
  echo "skipped ${line%% *}: ${line#* }" >>"$results/aarch64_left_out"
done

# run_layers PAGE_BYTES LAYER...: ctest, with an XML of each program; count_tests.py says what failed.
run_layers() {
  local folder=$results/aarch64_$(($1 / 1024))k
  mkdir "$folder"
  QEMU_PAGESIZE=$1 QEMU_CPU=max RC_PARAMS=${RC_PARAMS:-max_success=20} GTEST_OUTPUT="xml:$folder/" GTEST_FILTER=$filter \
    ctest --test-dir build/aarch64 --output-on-failure --no-tests=error -j "$(nproc)" --timeout 1200 \
    -R "^($(IFS='|'; echo "${*:2}"))\$" --output-junit "$folder/ctest.xml" || true
}
run_layers 4096 "${layers[@]}"
mapfile -t chosen < <(printf '%s\n' "${layers[@]}" | grep -xF "$(printf '%s\n' "${memory_layers[@]}")" || true)
for page_bytes in 16384 65536; do
  [ ${#chosen[@]} = 0 ] || run_layers "$page_bytes" "${chosen[@]}"
done

# That the instruction of ARMv8 for checksums is what runs, rather than the tables beside it. qemu has no processor without it.
if [[ " ${layers[*]} " == *" base "* ]]; then
  QEMU_CPU=max qemu-aarch64-static -L build/aarch64_sysroot -d in_asm -D build/aarch64/crc32c.log build/aarch64/base_test \
    --gtest_brief=1 --gtest_filter='Crc32c.*'
  grep -q crc32cx build/aarch64/crc32c.log ||
    echo "failed crc32c: its instruction was not used" >>"$results/aarch64_left_out"
fi
if [ $# = 0 ]; then # the command line starts
  qemu-aarch64-static -L build/aarch64_sysroot build/aarch64/cli/headrace --version
fi
for path in "$results"/aarch64_*k/*_test.xml; do
  printf '%-24s %5d tests, %d failed, %d skipped\n' "$(basename "${path%/*}" | cut -d_ -f2) $(basename "$path" .xml)" \
    "$(grep -c '<testcase ' "$path")" "$(grep -c '<failure ' "$path" || true)" "$(grep -c '<skipped' "$path" || true)"
done
python3 scripts/count_tests.py "$results"/aarch64_*
