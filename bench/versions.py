#!/usr/bin/env python3
"""Compares two builds of Headrace, figure by figure: the headrace side of each, in alternating pairs.

    python bench/versions.py --before ../old --only shuffled_vs_decode,mel_gather_limit

`--before` and `--after` are repositories whose build/release holds the Python module and the benchmarks' programs;
`--after` is this one unless told otherwise. Rivals and limits are not run. Prints after over before: the median of the
pairs, and the lowest and the highest. More is better for rates, less for times and bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common
import run as bench
from figure import Figure

#: Runs a script with the package of one build, whatever is installed.
RUN = (
    "import runpy, sys; sys.meta_path = [f for f in sys.meta_path if 'ditable' not in type(f).__name__]; "
    "sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]; "
    "sys.path.insert(1, sys.argv[0].rpartition('/')[0]); runpy.run_path(sys.argv[0], run_name='__main__')"
)


def package_of(repository: Path, folder: Path) -> Path:
    """Puts the Python package and its module of one build together; returns the folder to import from."""
    shutil.copytree(repository / "python" / "headrace", folder / "headrace")
    modules = list((repository / "build" / "release" / "python").glob("_headrace*.so"))
    if len(modules) != 1:
        raise SystemExit(
            f"{repository}: build/release/python holds {len(modules)} modules: run scripts/setup.sh bench there"
        )
    shutil.copy(modules[0], folder / "headrace")
    return folder


def command_of(figure: Figure, repository: Path, package: Path, args: argparse.Namespace) -> list[str] | None:
    """The headrace side of a figure, run by a build and its own scripts; None where it has none."""
    contestant = next(iter(figure.contestants.values()))
    program = contestant.program.split()[0]
    command = bench.command_of(contestant, args)
    if program in ("order", "maps"):
        name = Path(command[0]).name
        places = [repository / "build" / build / "bench" / name for build in ("release", "bench")]
        return [str(next(place for place in places if place.exists())), *command[1:]]
    if program not in bench.ENGINE:
        return None
    return [command[0], "-c", RUN, str(package), str(repository / "bench" / Path(command[1]).name), *command[2:]]


def measures_of(figure: Figure, run: dict[str, Any]) -> dict[str, float]:
    """What a run is judged by: its rates, or the value of a figure that has one contestant."""
    rates = {key: float(run[key]) for key in ("rows_per_s", "cold_rows_per_s") if key in run}
    return rates or {figure.unit or "value": figure.value({next(iter(figure.contestants)): [run]})[0]}


Pair = tuple[dict[str, Any], dict[str, Any]]


def run_pairs(figure: Figure, commands: list[list[str]], repetitions: int) -> list[Pair]:
    for command in commands:
        bench.run_once(command, figure.timeout)  # page cache warm, code paged in
    pairs = []
    for repetition in range(repetitions):
        order = (0, 1) if repetition % 2 == 0 else (1, 0)
        runs: dict[int, dict[str, Any]] = {}
        with common.quiet_machine():
            for side in order:
                runs[side] = bench.run_once(commands[side], figure.timeout)
        pairs.append((runs[0], runs[1]))
    return pairs


def compare(figure: Figure, pairs: list[Pair]) -> dict[str, Any]:
    result: dict[str, Any] = {"figure": figure.key, "what": figure.what}
    befores, afters = ([measures_of(figure, pair[side]) for pair in pairs] for side in (0, 1))
    for key in befores[0]:
        ratios = [after[key] / before[key] for before, after in zip(befores, afters, strict=True) if before[key]]
        if not ratios:
            continue
        result[key] = {
            "before": statistics.median(run[key] for run in befores),
            "after": statistics.median(run[key] for run in afters),
            "ratio": statistics.median(ratios),
            "lowest": min(ratios),
            "highest": max(ratios),
        }
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, default=common.ROOT)
    parser.add_argument("--only", default="", help="figures, with commas; default: all that both sides have")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="results are added to this file")
    parser.set_defaults(trial=False)
    args = parser.parse_args()
    chosen = {key for key in args.only.split(",") if key}
    declared = [figure for section in bench.SECTIONS for figure in section.figures]
    figures = [figure for figure in declared if not chosen or figure.key in chosen]
    known: dict[str, list[Pair]] = {}
    os.environ["HEADRACE_BENCH_DATA"] = str(common.data_dir())  # the same files for both
    with tempfile.TemporaryDirectory() as folder:
        sides = [args.before.resolve(), args.after.resolve()]
        packages = [
            package_of(side, Path(folder) / name) for side, name in zip(sides, ("before", "after"), strict=True)
        ]
        for figure in figures:
            commands = [command_of(figure, *side, args) for side in zip(sides, packages, strict=True)]
            both = [command for command in commands if command]
            if len(both) < len(commands):
                continue
            try:
                if repr(both) not in known:
                    known[repr(both)] = run_pairs(figure, both, args.repetitions)
                result = compare(figure, known[repr(both)])
            except (
                RuntimeError,
                KeyError,
                StopIteration,
                subprocess.TimeoutExpired,
            ) as error:  # does not cost the others
                print(f"{figure.key}: failed: {error}", file=sys.stderr)
                continue
            for key, value in result.items():
                if isinstance(value, dict):
                    print(
                        f"{figure.key:24} {key:16} {value['before']:14.6g} -> {value['after']:14.6g}   "
                        f"{value['ratio']:.3f} ({value['lowest']:.3f} to {value['highest']:.3f})",
                        flush=True,
                    )
            if args.json:
                with args.json.open("a") as out:
                    out.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
