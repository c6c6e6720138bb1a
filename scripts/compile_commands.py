"""What the checks that compile share: our sources in a compile_commands.json, and which of them have passed."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from changed_files import changed_files
from own_includes import includes, resolve

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Unit:
    """One source of ours and how a build compiles it."""

    source: Path
    folder: Path
    words: tuple[str, ...]


def units(build: Path, folders: Iterable[str]) -> list[Unit]:
    """The sources below these folders of the repository that a build compiles, each once."""
    own = tuple(f"{ROOT / folder}{os.sep}" for folder in folders)
    found: dict[Path, Unit] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if str(source).startswith(own):
            found.setdefault(source, Unit(source, Path(entry["directory"]), tuple(shlex.split(entry["command"]))))
    return list(found.values())


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


def mark(folder: Path, unit: Unit, *also: str) -> Path:
    """The file that remembers that a unit passed; its name changes with the command, our text in it, and `also`."""
    digest = hashlib.sha256("\0".join([*also, *unit.words]).encode())
    for path in sorted(with_own_headers(unit.source)):
        digest.update(path.read_bytes())
    return folder / digest.hexdigest()


def changed_first(sources: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Those that this work touches (changed, the newest first, then with a changed header), and the others."""
    rank = {ROOT / path: number for number, path in enumerate(changed_files(ROOT))}
    ranked, others = [], []
    for source in sources:
        touched = [rank[path] for path in with_own_headers(source) if path in rank]
        if touched:
            ranked.append((source not in rank, rank.get(source, min(touched)), source))
        else:
            others.append(source)
    return [source for _, _, source in sorted(ranked)], others


def check_each(
    name: str, sources: list[Path], marks: dict[Path, Path], seconds: float, command: Callable[[Path], list[str]]
) -> bool:
    """Run a command over each source, as many at a time as CMake would; True if nothing was found.

    What passes is marked. None is begun after so many seconds; the last lines say how many were left.
    """
    end = time.monotonic() + seconds

    def check(source: Path) -> str:
        if time.monotonic() > end:
            return "left"
        run = subprocess.run(command(source), capture_output=True, text=True)
        if run.returncode == 0:
            marks[source].touch()
            return "good"
        print(f"{run.stdout}{'' if run.stdout else run.stderr}", flush=True)
        return "bad"

    with ThreadPoolExecutor(int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count() or 1)) as pool:
        verdicts = list(pool.map(check, sources))
    left = verdicts.count("left")
    print(f"{name}: {len(sources) - left} sources checked, {verdicts.count('bad')} with findings", flush=True)
    if left:
        what = f"{name}: {left} of {len(sources)} sources were left when {seconds:.0f} s were over"
        subprocess.run([ROOT / "scripts/not_run.sh", what], check=True)
    return "bad" not in verdicts
