"""The check with clang notices what GCC does not, and what nothing compiles; what it had no time for it says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(shutil.which("clang++") is None, reason="needs clang: make check installs it")

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(sample CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
file(GLOB sources src/*.cpp)
add_library(sample STATIC ${sources})
target_compile_options(sample PRIVATE -Wall -Wextra -Werror)
"""
CLANG_ONLY = "class Box {\n  int unused_ = 3;\n};\nBox box() { return {}; }\n"  # -Wunused-private-field


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with so many sources that a precompiled header pays."""
    (tmp_path / "src").mkdir()
    (tmp_path / "scripts").mkdir()
    names = ("check_clang", "clang_prefix", "compile_commands", "changed_files", "own_includes")
    for name in [*(f"{name}.py" for name in names), "not_run.sh"]:
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    compiler = {"CMAKE_CXX_COMPILER": "clang++"}
    presets = [
        {"name": name, "generator": "Ninja", "binaryDir": f"${{sourceDir}}/build/{name}", "cacheVariables": compiler}
        for name in ("clang", "clang-minimal")
    ]
    (tmp_path / "CMakePresets.json").write_text(json.dumps({"version": 6, "configurePresets": presets}))
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    for number in range(12):
        (tmp_path / f"src/f{number}.cpp").write_text(f"#include <cstddef>\nstd::size_t f{number}() {{ return 0; }}\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def check(root: Path, *words: str) -> tuple[int, str]:
    subprocess.run(["git", "add", "src"], cwd=root, check=True)
    environment = {name: value for name, value in os.environ.items() if name != "HEADRACE_NOT_RUN"}
    environment["HEADRACE_NOT_RUN"] = str(root / "steps.txt")
    command = [sys.executable, root / "scripts/check_clang.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_a_warning_of_clangs_fails_until_it_is_mended(root: Path) -> None:
    """What passed is not compiled again."""
    (root / "src/box.cpp").write_text(CLANG_ONLY)
    status, text = check(root)
    assert (status, "-Wunused-private-field" in text, ": 13 sources checked, 1 with findings" in text) == (
        1,
        True,
        True,
    )
    assert (root / "build/clang/prefix_0.pch").exists()
    (root / "src/box.cpp").write_text(CLANG_ONLY.replace("unused_ = 3;", "used = 3;").replace("class", "struct"))
    status, text = check(root)
    assert (status, ": 1 sources checked, 0 with findings" in text) == (0, True)


def test_a_source_that_nothing_compiles(root: Path) -> None:
    (root / "src/deep").mkdir()
    (root / "src/deep/lost.cpp").write_text("int lost;\n")
    status, text = check(root)
    assert (status, "src/deep/lost.cpp: no build compiles this source" in text) == (1, True)


def test_no_time(root: Path) -> None:
    status, text = check(root, "--seconds", "-1")
    assert (status, "12 of 12 sources were left" in text) == (0, True)
    assert (root / "steps.txt").read_text().startswith("skipped ")
