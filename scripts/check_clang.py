"""Compiles every C++ source of ours with clang, warnings being errors. Writes no code, which GCC's build has.

usage: check_clang.py [--seconds SECONDS]

All of them: layers, faces, tests, benchmarks, fuzz targets, examples, and what stands in for a library that is left
out. A source that no build compiles is an error. What this work changed (changed_files.py) comes first. None is begun
after so many SECONDS; the last line says how many were left. What passed is remembered in build/clang/passed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from clang_prefix import prefixes, split
from compile_commands import ROOT, Unit, changed_first, check_each, mark, units

BUILDS = {"clang": [f"-DPython_EXECUTABLE={ROOT / '.venv/bin/python'}"], "clang-minimal": []}
FOLDERS = ["src", "cli", "python/bind", "bench", "examples", "fuzz", "tests"]
ELSEWHERE = {
    "bench/late_mirror.c": "a file system of its own, which bench/late_samples.py builds where there is FUSE",
    "tests/install/consumer/main.cpp": "a project of its own, which tests/install builds",
}


def configured() -> dict[Path, Unit]:
    """Every source of ours, as the first build that has it compiles it."""
    found: dict[Path, Unit] = {}
    for preset, options in BUILDS.items():
        done = subprocess.run(["cmake", "--preset", preset, *options], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cmake --preset {preset} failed:\n{done.stdout}{done.stderr}")
        for unit in units(ROOT / "build" / preset, FOLDERS):
            found.setdefault(unit.source, unit)
    return found


def compiled_by_none(found: Iterable[Path]) -> list[str]:
    """The sources under version control that are in no build."""
    git = subprocess.run(["git", "ls-files", "*.cpp", "*.c"], cwd=ROOT, capture_output=True, text=True)
    compiled = {*found, *(ROOT / name for name in ELSEWHERE)}
    return [name for name in git.stdout.split() if (ROOT / name).is_file() and ROOT / name not in compiled]


def main() -> int:
    """Compiles what has not passed as it is; the exit status says whether anything was found."""
    found = configured()
    missed = compiled_by_none(found)
    for name in missed:
        print(f"{name}: no build compiles this source")
    passed = ROOT / "build/clang/passed"
    passed.mkdir(exist_ok=True)
    clang = next(iter(found.values())).words[0]
    version = subprocess.run([clang, "--version"], check=True, capture_output=True, text=True).stdout
    marks = {source: mark(passed, unit, version) for source, unit in found.items()}
    todo = [source for source in found if not marks[source].exists()]
    prefix = prefixes([found[source] for source in todo], ROOT / "build/clang")

    def command(source: Path) -> list[str]:
        fixed, free = split(found[source])
        return [found[source].words[0], *fixed, *free, *prefix.get(source, []), "-fsyntax-only", str(source)]

    first, others = changed_first(todo)
    seconds = float(sys.argv[2]) if sys.argv[1:2] == ["--seconds"] else float("inf")
    good = check_each(version.splitlines()[0], first + others, marks, seconds, command)
    return 0 if good and not missed else 1


if __name__ == "__main__":
    sys.exit(main())
