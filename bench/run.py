#!/usr/bin/env python3
"""Measures every figure and writes bench/results/first_light.json and docs/benchmarks.md.

Contestants of a figure take turns within one run, first this one, then that one first; what counts is the median of
the ratios of neighbours. A lock keeps other timed runs off the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from datetime import datetime, timezone
from typing import Any

import common
import table
import workload
from figures import FIGURES, Contestant, Figure, Runs


def command_of(contestant: Contestant, args: argparse.Namespace) -> list[str]:
    options = list(contestant.options)
    files = workload.make(contestant.variant) if contestant.program != "order" else []
    if contestant.program == "limit":
        limit = str(common.program("bench_decode_alone"))
        return [limit, "--threads", str(args.threads), "--passes", str(args.epochs), *options, *files]
    if contestant.program == "order":
        return [str(common.program("bench_order")), *options]
    if contestant.program.startswith("headrace"):
        measure = contestant.program.split()[1]
        settings = ["--threads", str(args.threads)]
        if "--epochs" not in options:
            settings += ["--epochs", str(args.epochs)]
        return [sys.executable, str(common.BENCH / "headrace_epochs.py"), measure, *files, *settings, *options]
    return [sys.executable, str(common.BENCH / "rivals" / f"{contestant.program}.py"), *files, *options]


def run_once(command: list[str]) -> dict[str, Any]:
    """With an empty sidecar cache, so that every run reads the chunk indexes itself."""
    with tempfile.TemporaryDirectory() as cache:
        return common.run_json(command, {"HEADRACE_CACHE": cache})


def measure(figure: Figure, args: argparse.Namespace) -> Runs:
    commands = {name: command_of(contestant, args) for name, contestant in figure.contestants.items()}
    runs: Runs = {name: [] for name in commands}
    for command in commands.values() if len(commands) > 1 else ():
        run_once(command)  # page cache warm, code paged in
    for repetition in range(args.repetitions):
        names = list(commands) if repetition % 2 == 0 else list(commands)[::-1]
        with common.quiet_machine():
            for name in names:
                runs[name].append(run_once(commands[name]))
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
        "median": median,
        "values": values,
        "met": figure.met(median),
        "contestants": contestants,
        "measured_at": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": f"python bench/run.py --only {figure.key}",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    keys = [figure.key for figure in FIGURES]
    parser.add_argument("--only", default="", help="figures to measure, with commas: " + ", ".join(keys))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()
    chosen = [key for key in args.only.split(",") if key] or keys
    for unknown in set(chosen) - set(keys):
        parser.error(f"no figure is called {unknown!r}; there are {', '.join(keys)}")

    results: dict[str, Any] = {"figures": {}}
    if common.RESULTS.exists():
        results = json.loads(common.RESULTS.read_text())
    results["machine"] = common.machine_card()
    results["settings"] = {"threads": args.threads, "epochs": args.epochs, "repetitions": args.repetitions}
    failed = []
    for figure in FIGURES:
        if figure.key not in chosen:
            continue
        print(f"{figure.key} ", end="", file=sys.stderr, flush=True)
        try:
            results["figures"][figure.key] = entry = summary(figure, measure(figure, args))
        except (RuntimeError, KeyError) as error:  # one figure that cannot be measured does not cost the others
            print(f" failed: {error}", file=sys.stderr)
            failed.append(figure.key)
            continue
        verdict = "met" if entry["met"] else "MISSED"
        print(f" {entry['median']:.4g} {figure.unit} (reach {figure.reach:g}): {verdict}", file=sys.stderr)
        common.RESULTS.parent.mkdir(exist_ok=True)
        common.RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if results["figures"]:
        table.write(results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
