# Headrace, every common task in one word. `make demo` and `make test` do all set-up by themselves: system packages,
# a virtual environment in .venv, the C++ build in build/release, the Python package into .venv. Nothing else is touched.
SHELL := bash
VENV := .venv/bin
export CMAKE_COLOR_DIAGNOSTICS ?= ON

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-asan test-tsan fuzz-short check-clang guides bench check format docs wheel clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: ## system packages, .venv, build and install, with all that the tests need
	@scripts/setup.sh test

demo: ## set-up, then write a data set like JetClass, deliver it, and compare with h5py
	@scripts/setup.sh demo
	@$(VENV)/python scripts/demo.py $(DEMO_ARGS)

test: ## set-up, then every test: C++, Python, examples, install; skips are listed with their reasons
	@scripts/setup.sh test
	@scripts/run_tests.sh release

test-fast: ## less than a minute after a small edit: the C++ tests of the changed layers, the quick Python tests
	@scripts/setup.sh test
	@scripts/test_fast.sh

test-asan: ## the C++ tests under AddressSanitizer and UBSan (clang)
	@scripts/setup_system.sh check
	@scripts/run_tests.sh asan

test-tsan: ## the threaded C++ tests under ThreadSanitizer
	@scripts/setup_system.sh test
	@scripts/run_tests.sh tsan

fuzz-short: ## ten seconds of each fuzz target (clang); what they find is kept in build/asan
	@scripts/setup.sh check
	@fuzz/short.sh 10

check-clang: ## every source compiled with clang, without its code being written
	@scripts/setup.sh check
	@$(VENV)/python scripts/check_clang.py

guides: ## do what the guides to a new option and a new verb say, in a copy of the sources
	@scripts/setup.sh test
	@$(VENV)/python scripts/follow_guides.py

bench: ## set-up, then the benchmark table (JSON, and docs/benchmarks.md)
	@scripts/setup.sh bench
	@$(VENV)/python bench/run.py $(BENCH_ARGS)

check: ## formatting, linters, types, layers, sizes, comments: everything that needs no run
	@scripts/setup.sh check
	@scripts/check.sh

format: ## rewrite the sources in the house style
	@scripts/setup.sh check
	@git ls-files '*.h' '*.cpp' '*.c' | xargs $(VENV)/clang-format -i
	@$(VENV)/ruff format -q . && $(VENV)/ruff check -q --fix .

docs: ## the manual as a static site in build/docs, with the docstrings of the Python package and the C++ headers
	@scripts/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --clean
	@doxygen docs/Doxyfile && echo 'C++: build/docs/cpp/index.html'

wheel: ## wheels with everything inside, for Linux with glibc 2.28 or newer, in wheelhouse/; WHEEL_ARGS="--machine aarch64"
	@scripts/setup.sh wheel
	@$(VENV)/python scripts/wheel $(WHEEL_ARGS)

clean: ## remove what was built
	rm -rf build dist wheelhouse .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean ## and the virtual environment
	rm -rf .venv
