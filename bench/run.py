#!/usr/bin/env python3
"""Measures every figure and writes bench/results/*.json and docs/benchmarks.md.

Contestants of a figure take turns within one run, first this one, then that one first; what counts is the median of
the ratios of neighbours. A lock keeps other timed runs off the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import common
import table
import workload
from figures import FIGURES, Contestant, Figure, Runs
from memory_figures import MEMORY_FIGURES

SECTIONS = [(common.RESULTS, FIGURES), (common.MEMORY_RESULTS, MEMORY_FIGURES)]
ENGINE = {"headrace": "headrace_epochs.py", "memory": "headrace_memory.py"}


def command_of(contestant: Contestant, args: argparse.Namespace) -> list[str]:
    options = list(contestant.options)
    files = workload.make(contestant.variant)[: contestant.files] if contestant.variant else []
    if contestant.program == "limit":
        limit = str(common.program("bench_decode_alone"))
        passes = [] if "--passes" in options else ["--passes", str(args.epochs)]
        return [limit, "--threads", str(args.threads), *passes, *options, *files]
    if contestant.program in ("order", "gather", "maps"):
        return [
            str(
                common.program(
                    {"order": "bench_order", "gather": "bench_gather_alone", "maps": "bench_maps"}[contestant.program]
                )
            ),
            *options,
        ]
    if (program := contestant.program.split())[0] in ENGINE:
        settings = ["--threads", str(args.threads), "--epochs", str(args.epochs)]
        return [sys.executable, str(common.BENCH / ENGINE[program[0]]), program[1], *files, *settings, *options]
    scripts = (folder / f"{contestant.program}.py" for folder in (common.BENCH, common.BENCH / "rivals"))
    return [sys.executable, str(next(script for script in scripts if script.exists())), *files, *options]


def run_once(command: list[str], timeout: float) -> dict[str, Any]:
    """With an empty index store, so that every run opens the files itself."""
    with tempfile.TemporaryDirectory() as cache:
        return common.run_json(command, {"HEADRACE_CACHE": cache}, timeout)


def measure(figure: Figure, args: argparse.Namespace) -> Runs:
    commands = {name: command_of(contestant, args) for name, contestant in figure.contestants.items()}
    runs: Runs = {name: [] for name in commands}
    for command in commands.values() if len(commands) > 1 and figure.warm_up else ():
        run_once(command, figure.timeout)  # page cache warm, code paged in
    for repetition in range(min(figure.repetitions or args.repetitions, args.repetitions)):
        names = list(commands) if repetition % 2 == 0 else list(commands)[::-1]
        with common.quiet_machine():
            for name in names:
                runs[name].append(run_once(commands[name], figure.timeout))
        print(".", end="", file=sys.stderr, flush=True)
    return runs


def summary(figure: Figure, runs: Runs) -> dict[str, Any]:
    values = figure.value(runs)
    median = statistics.median(values)
    contestants = {
        name: {
            key: statistics.median(run[key] for run in all_runs)
            for key in (
                "rows_per_s",
                "cold_rows_per_s",
                "seconds",
                "cpu_seconds",
                "median_us",
                "mean_us",
                "cold_median_us",
                "above_bytes",
                "before_bytes",
            )
            if key in all_runs[0]
        }
        for name, all_runs in runs.items()
    }
    return {
        "what": figure.what,
        "reach": figure.reach,
        "at_least": figure.at_least,
        "unit": figure.unit,
        "rows": figure.rows,
        "detail": figure.detail(runs) if figure.detail else "",
        "median": median,
        "values": values,
        "met": figure.met(median),
        "contestants": contestants,
        "measured_at": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": f"python bench/run.py --only {figure.key}",
    }


def measure_section(
    path: Path, figures: list[Figure], known: dict[str, Runs], args: argparse.Namespace
) -> tuple[list[str], bool]:
    """Measures figures that stand in one file of results; runs of the same contestants serve all of them.

    Returns:
        Keys of the figures that could not be measured, and whether there are any results.
    """
    results: dict[str, Any] = {"figures": {}}
    if path.exists():
        results = json.loads(path.read_text())
    results["machine"] = common.machine_card()
    results["settings"] = {"threads": args.threads, "epochs": args.epochs, "repetitions": args.repetitions}
    failed = []
    for figure in figures:
        print(f"{figure.key} ", end="", file=sys.stderr, flush=True)
        same = repr((figure.contestants, figure.repetitions))
        try:
            if same not in known:
                known[same] = measure(figure, args)
            results["figures"][figure.key] = entry = summary(figure, known[same])
        except (RuntimeError, KeyError, subprocess.TimeoutExpired) as error:  # does not cost the others
            print(f" failed: {error}", file=sys.stderr)
            failed.append(figure.key)
            continue
        verdict = "met" if entry["met"] else "MISSED"
        print(f" {entry['median']:.4g} {figure.unit} (reach {figure.reach:g}): {verdict}", file=sys.stderr)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
    return failed, bool(results["figures"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    keys = [figure.key for _, figures in SECTIONS for figure in figures]
    groups = "`memory` stands for all of " + ", ".join(figure.key for figure in MEMORY_FIGURES)
    parser.add_argument("--only", default="", help=f"figures to measure, with commas: {', '.join(keys)}; {groups}")
    parser.add_argument("--repetitions", type=int, default=5, help="some figures have fewer")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    chosen = [key for key in args.only.split(",") if key] or keys
    if "memory" in chosen:
        chosen = [key for key in chosen if key != "memory"] + [figure.key for figure in MEMORY_FIGURES]
    for unknown in set(chosen) - set(keys):
        parser.error(f"no figure is called {unknown!r}; there are memory (a group), {', '.join(keys)}")

    failed: list[str] = []
    known: dict[str, Runs] = {}
    for path, figures in SECTIONS:
        wanted = [figure for figure in figures if figure.key in chosen]
        if wanted:
            could_not, any_results = measure_section(path, wanted, known, args)
            failed += could_not
            if any_results:
                table.write()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
