#!/usr/bin/env python3
"""Run every fuzz target for a while: .venv/bin/python fuzz/run.py [SECONDS each: 30] [BUILD: build/asan].

Build them first: cmake --preset asan && cmake --build build/asan --target fuzz_targets (make fuzz-short does it all).
Each target starts from its seeds, which make_seeds.py writes, and from what earlier runs kept:
  BUILD/corpus/TARGET   inputs that reached new code; `--merge` reduces them and the seeds to the few that reach as much
  BUILD/crashes/TARGET  inputs that made it fail; they are tried again first, until it is mended
Of a failure it prints the command that reproduces it, and the line that keeps a small input in regressions.txt.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from make_seeds import write_all_seeds

ROOT = Path(__file__).resolve().parent.parent
LINE_BYTES = 2048  # larger inputs are no line of a text
#: A process fuzzes so long, and the next goes on with what it kept: libhdf5 forgets memory in damaged headers, which in
#: one long process looks like an input that takes a gigabyte.
PROCESS_SECONDS = {"hdf5_open": 120}


def say(text: str) -> None:
    """Print lines that those of other targets do not fall into: with their end, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def settings(target: str) -> tuple[list[str], dict[str, str]]:
    """The options and the environment of one target. 512 MiB: no decoder may allocate by what a header says."""
    options = ["-rss_limit_mb=1024", "-malloc_limit_mb=512", "-timeout=20"]
    if target == "hdf5_open":
        # libhdf5 forgets what it meets in damaged headers (scripts/lsan.supp), and asks malloc for what they claim,
        # prepared to be refused.
        return [*options, "-max_len=32768", "-detect_leaks=0"], {
            "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0"
        }
    return [*options, f"-max_len={32768 if target == 'hdf5_metadata' else 16384}"], {"ASAN_OPTIONS": ""}


def folders(build: Path, target: str) -> tuple[Path, Path, Path]:
    """Corpus, seeds and crashes of one target."""
    found = build / "corpus" / target, build / "seeds" / target, build / "crashes" / target
    for folder in found:
        folder.mkdir(parents=True, exist_ok=True)
    return found


def call(program: Path, environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    """Run a fuzz target; what it says comes back as one text."""
    command = [str(program), *map(str, words)]
    return subprocess.run(
        command,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def reproduce(program: Path, crashes: Path, since: float) -> str:
    """What to do about the newest input that failed."""
    target = program.name.removeprefix("fuzz_")
    options, environment = settings(target)
    inputs = sorted((p for p in crashes.iterdir() if p.stat().st_mtime >= since), key=lambda p: p.stat().st_mtime)
    inputs = inputs or sorted(crashes.iterdir())  # one of an earlier run failed again
    if not inputs:
        return "  it wrote no input: see its output above"
    words = [f"{name}={value}" for name, value in environment.items() if value]
    text = f"  reproduce: {shlex.join([*words, str(program), *options, str(inputs[-1])])}"
    if inputs[-1].stat().st_size <= LINE_BYTES:
        data = inputs[-1].read_bytes().hex() or "-"
        text += f"\n  once it is mended, a line of fuzz/regressions.txt: {target} | {inputs[-1].name} | {data}"
    return text


def executed(output: str) -> int:
    """How many inputs a process says it tried."""
    return next((int(line.split()[-1]) for line in output.splitlines() if "number_of_executed_units" in line), 0)


def run(program: Path, build: Path, seconds: int, seed: int) -> bool:
    """Fuzz one target; True if it found nothing."""
    target = program.name.removeprefix("fuzz_")
    options, environment = settings(target)
    corpus, seeds, crashes = folders(build, target)
    before, start = len(list(corpus.iterdir())), time.time()
    runs, at_most = 0, PROCESS_SECONDS.get(target, seconds)
    for first in range(0, seconds, at_most):
        done = call(
            program, environment, *options, f"-max_total_time={min(at_most, seconds - first)}", f"-seed={seed}",
            "-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={crashes}/", corpus, seeds, crashes,
        )  # fmt: skip
        runs += executed(done.stdout)
        if done.returncode != 0:
            break
        seed += seed != 0
    else:
        say(f"{target}: good, {runs} inputs, {len(list(corpus.iterdir())) - before} kept beside {before}")
        return True
    tail = "\n".join(done.stdout.splitlines()[-40:])
    say(f"{tail}\n{target}: FAILED, status {done.returncode}\n{reproduce(program, crashes, start - 1)}")
    return False


def merge(program: Path, build: Path) -> bool:
    """Reduce what is kept of one target; True if that worked."""
    target = program.name.removeprefix("fuzz_")
    options, environment = settings(target)
    corpus, seeds, _ = folders(build, target)
    smaller = corpus.with_name(f"{target}.merged")
    smaller.mkdir()
    done = call(program, environment, *options, "-merge=1", smaller, seeds, corpus)
    if done.returncode != 0:
        say(f"{done.stdout}\n{target}: the merge failed; {smaller} has what it wrote")
        return False
    say(f"{target}: {len(list(corpus.iterdir()))} inputs kept before, {len(list(smaller.iterdir()))} now")
    for path in corpus.iterdir():
        path.unlink()
    corpus.rmdir()
    smaller.rename(corpus)
    return True


def main() -> int:
    """Go through all targets, as many at a time as there are processors; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=30)
    parser.add_argument("build", type=Path, nargs="?", default=ROOT / "build" / "asan")
    parser.add_argument(
        "--seed", type=int, default=0, help="of the inputs: the same seed tries the same ones; 0, the default: others"
    )
    parser.add_argument("--merge", action="store_true", help="reduce what is kept, and fuzz nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many targets at a time")
    parser.add_argument("--first", default="", help="TARGET,TARGET,…: the targets to begin with, in this order")
    words = parser.parse_args()
    programs = sorted(
        path for path in (words.build / "fuzz").glob("fuzz_*") if os.access(path, os.X_OK) and path.is_file()
    )
    if not programs:
        print(f"no fuzz targets in {words.build}/fuzz: make fuzz-short builds and runs them")
        return 1
    first = [f"fuzz_{name}" for name in words.first.split(",")]
    programs.sort(key=lambda path: first.index(path.name) if path.name in first else len(first))
    write_all_seeds(words.build / "seeds")
    with ThreadPoolExecutor(words.jobs) as pool:
        good = list(
            pool.map(
                lambda p: merge(p, words.build) if words.merge else run(p, words.build, words.seconds, words.seed),
                programs,
            )
        )
    print(f"fuzz: {len(programs)} targets, {good.count(False)} failed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
