"""Runs clang-tidy over our own sources, two or more at a time, and only over those that changed since they last passed.

usage: check_tidy.py CLANG_TIDY BUILD_DIR [--changed SECONDS]

A source has changed when its own text, a header of ours that it includes, .clang-tidy or its compile command has. What
passed is remembered in BUILD_DIR/tidy, one empty file each. Tests are left to the compiler's warnings.

--changed looks only at what this work changed (changed_files.py), which a clone with an empty BUILD_DIR needs: first at
changed sources, the newest first, then at those that include a changed header. None is begun after so many SECONDS; the
last line says how many were left.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from changed_files import changed_files
from own_includes import FOLDERS, includes, resolve

ROOT = Path(__file__).resolve().parent.parent


def with_own_headers(source: Path) -> set[Path]:
    """A source and every header of ours that it reaches."""
    reached: set[Path] = set()
    todo = [source]
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += [own for _, name, quoted in includes(path) if (own := resolve(ROOT, path, name, quoted))]
    return reached


def key(source: Path, command: str, version: str) -> str:
    """Changes whenever clang-tidy could say something else about this source."""
    digest = hashlib.sha256(f"{version}\0{command}\0{(ROOT / '.clang-tidy').read_text()}".encode())
    for path in sorted(with_own_headers(source)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def to_check(tidy: str, build: Path) -> dict[Path, Path]:
    """The sources of the build that have not passed as they are, with the file that remembers it."""
    version = subprocess.run([tidy, "--version"], check=True, capture_output=True, text=True).stdout
    passed = build / "tidy"
    passed.mkdir(exist_ok=True)
    own = tuple(f"{ROOT / folder}{os.sep}" for folder in FOLDERS)
    todo: dict[Path, Path] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if str(source).startswith(own) and not source.stem.endswith(("_test", "_bench")):
            mark = passed / key(source, entry.get("command", ""), version)
            if not mark.exists():
                todo[source] = mark
    return todo


def of_this_work(sources: Iterable[Path]) -> list[Path]:
    """Those that changed, the newest first, then those that include a changed header."""
    rank = {ROOT / path: number for number, path in enumerate(changed_files(ROOT))}
    ranked = []
    for source in sources:
        touched = [rank[path] for path in with_own_headers(source) if path in rank]
        if touched:
            ranked.append((source not in rank, rank.get(source, min(touched)), source))
    return [source for _, _, source in sorted(ranked)]


def main() -> int:
    """Checks what changed; the exit status says whether anything was found."""
    tidy, build = sys.argv[1], Path(sys.argv[2])
    marks = to_check(tidy, build)
    capped = sys.argv[3:4] == ["--changed"]
    sources = of_this_work(marks) if capped else list(marks)
    end = time.monotonic() + float(sys.argv[4]) if capped else float("inf")

    def check(source: Path) -> str:
        if time.monotonic() > end:
            return "left"
        run = subprocess.run([tidy, "-p", build, "--quiet", source], capture_output=True, text=True)
        if run.returncode == 0:
            marks[source].touch()
            return "good"
        print(run.stdout or run.stderr, flush=True)
        return "bad"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(check, sources))
    left = verdicts.count("left")
    print(
        f"clang-tidy: {len(sources) - left} sources checked, {verdicts.count('bad')} with findings"
        + (f"; {left} were left when time was up" if left else "")
    )
    return 1 if "bad" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
