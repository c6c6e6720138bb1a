#!/usr/bin/env bash
# Everything that needs no run: style, linters, types, layers, sizes, comments. Runs all, then says what failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
bin=.venv/bin
failed=()
check() { # NAME COMMAND...
  local name=$1
  shift
  printf '== %s\n' "$name"
  "$@" || failed+=("$name")
}
mapfile -t cpp < <(git ls-files '*.h' '*.cpp' '*.c')
mapfile -t shell < <(git ls-files '*.sh' .ci/run)

check layers "$bin/python" scripts/check_layers.py
check pages "$bin/python" scripts/check_pages.py
check type-names "$bin/python" scripts/check_type_names.py
check option-names "$bin/python" scripts/check_option_names.py
check tests "$bin/python" scripts/check_tests.py
check sizes "$bin/python" scripts/check_sizes.py
check comments "$bin/python" scripts/check_comments.py
check reference "$bin/python" scripts/write_reference.py --check
check kinds "$bin/python" scripts/write_kinds.py --check
if command -v doxygen >/dev/null; then
  mkdir -p build/docs
  check cpp-reference doxygen docs/Doxyfile
else
  scripts/not_run.sh "documentation of every public C++ name: Doxygen is not installed, 'scripts/setup.sh docs' does it"
fi
check clang-format "$bin/clang-format" --dry-run --Werror "${cpp[@]}"
check shellcheck "$bin/shellcheck" "${shell[@]}"
check ruff "$bin/ruff" check .
check ruff-format "$bin/ruff" format --check .
check mypy "$bin/mypy"
tidy() { # the build in which every source is compiled by itself
  cmake --preset clang "-DPython_EXECUTABLE=$PWD/$bin/python" >/dev/null &&
    "$bin/python" scripts/check_tidy.py "$bin/clang-tidy" build/clang "$@"
}
tidy=(tidy)
[ -z "${HEADRACE_TIDY_SECONDS:-}" ] || tidy+=(--changed "$HEADRACE_TIDY_SECONDS")
[ "${HEADRACE_TIDY:-1}" = 0 ] || check clang-tidy "${tidy[@]}"

if [ ${#failed[@]} -gt 0 ]; then
  echo "make check: failed: ${failed[*]} (make format mends most of the style)"
  exit 1
fi
echo "make check: all good"
