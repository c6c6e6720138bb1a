"""Runs clang-tidy over our own sources, two or more at a time, and only over those that changed since they last passed.

usage: check_tidy.py CLANG_TIDY BUILD_DIR

A source has changed when its own text, a header of ours that it includes, .clang-tidy or its compile command has. What
passed is remembered in BUILD_DIR/tidy, one empty file each. Tests are left to the compiler's warnings.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


def main() -> int:
    """Checks what changed; the exit status says whether anything was found."""
    tidy, build = sys.argv[1], Path(sys.argv[2])
    version = subprocess.run([tidy, "--version"], check=True, capture_output=True, text=True).stdout
    passed = build / "tidy"
    passed.mkdir(exist_ok=True)
    own = tuple(f"{ROOT / folder}{os.sep}" for folder in FOLDERS)
    todo: dict[Path, Path] = {}
    total = 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if not str(source).startswith(own) or source.stem.endswith(("_test", "_bench")):
            continue
        total += 1
        mark = passed / key(source, entry.get("command", ""), version)
        if not mark.exists():
            todo[source] = mark

    def check(source: Path) -> bool:
        run = subprocess.run([tidy, "-p", build, "--quiet", source], capture_output=True, text=True)
        if run.returncode == 0:
            todo[source].touch()
        else:
            print(run.stdout or run.stderr, flush=True)
        return run.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = sum(pool.map(check, todo))
    print(f"clang-tidy: {total} sources, {len(todo)} checked, {len(todo) - good} with findings")
    return 0 if good == len(todo) else 1


if __name__ == "__main__":
    sys.exit(main())
