"""clang-tidy sees what this work changed, the newest change first, and once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
TIDY = """#!/bin/sh
[ "$1" != --version ] || exit 0
for source; do :; done
basename "$source" >>{log}
! grep 'bugprone' "$source"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A branch on which a header and a source changed; nobody includes the other source's header."""
    for folder in ("src/base", "scripts", "build"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("check_tidy.py", "compile_commands.py", "changed_files.py", "own_includes.py", "not_run.sh"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
    (tmp_path / ".clang-tidy").write_text("Checks: bugprone-*\n")
    (tmp_path / "src/base/a.h").write_text("int a();\n")
    for name, text in {"a": '#include "base/a.h"\n', "b": "int b;\n", "c": "int c;\n", "a_test": "int t;\n"}.items():
        (tmp_path / f"src/base/{name}.cpp").write_text(text)
    tidy = tmp_path / "tidy"
    tidy.write_text(TIDY.format(log=tmp_path / "log"))
    tidy.chmod(0o755)
    sources = sorted((tmp_path / "src/base").glob("*.cpp"))
    entries = [{"directory": str(tmp_path), "file": str(path), "command": f"c++ -c {path}"} for path in sources]
    (tmp_path / "build/compile_commands.json").write_text(json.dumps(entries))
    git(tmp_path, "init")
    git(tmp_path, "add", "src")
    git(tmp_path, "commit", "-m", "all")
    git(tmp_path, "checkout", "-b", "work")
    (tmp_path / "src/base/a.h").write_text("int a(int);\n")
    (tmp_path / "src/base/c.cpp").write_text("int c = 1;\n")
    git(tmp_path, "commit", "-a", "-m", "some")
    return tmp_path


def git(root: Path, *words: str) -> None:
    own = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, "-C", str(root), *words], check=True, capture_output=True)


def tidy(root: Path, *words: str) -> tuple[int, str, list[str]]:
    """Exit status, what was printed, and the sources that clang-tidy saw."""
    log = root / "log"
    log.write_text("")
    environment = {
        name: value for name, value in os.environ.items() if name not in {"HEADRACE_BASE", "HEADRACE_NOT_RUN"}
    }
    environment["CMAKE_BUILD_PARALLEL_LEVEL"] = "1"
    command = [sys.executable, root / "scripts/check_tidy.py", root / "tidy", root / "build", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout, log.read_text().split()


def test_what_changed_comes_first(root: Path) -> None:
    """A changed source before one that includes a changed header; tests are not looked at."""
    assert tidy(root, "--changed", "100")[2] == ["c.cpp", "a.cpp"]
    assert tidy(root)[2] == ["b.cpp"]  # the others have passed
    assert tidy(root)[2] == []


def test_a_finding_fails_until_it_is_mended(root: Path) -> None:
    (root / "src/base/c.cpp").write_text("int c = 2;  // bugprone\n")
    for _ in range(2):
        status, text, seen = tidy(root, "--changed", "100")
        assert (status, "1 with findings" in text, seen[0]) == (1, True, "c.cpp")
    (root / "src/base/c.cpp").write_text("int c = 2;\n")
    assert tidy(root, "--changed", "100")[0] == 0


def test_no_time(root: Path) -> None:
    status, text, seen = tidy(root, "--changed", "-1")
    assert (status, seen) == (0, [])
    assert "SKIPPED clang-tidy: 2 of 2 sources were left" in text
