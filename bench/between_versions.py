#!/usr/bin/env python3
"""What a version costs over another where nothing else differs: epochs over jets, and over 128-byte rows.

    python bench/between_versions.py --before ../old/.venv/bin/python --after .venv/bin/python

Two interpreters, each with its own build of Headrace. Pairs of short runs take turns, this one first, then that one;
each run is a process of its own, five epochs without a cache after one that does not count. Prints after over before,
the median of the pairs and the middle half of them, for the time on the clock and for the processor's time in user
code: the second hardly notices what else the machine does. (versions.py compares the figures of two repositories.)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import common
import workload

WORKLOADS = {"jets": "512", "rows of 128 bytes": "5632"}  # and the batch size


def measure(files: list[str], batch_size: int, epochs: int, threads: int) -> dict[str, float]:
    import headrace as hr

    data = hr.open(files)
    loader = hr.Loader(data, batch_size, shuffle=True, seed=7, memory="1GiB", threads=threads, cache="none")
    for _ in loader:  # the window's memory is touched for the first time
        pass
    user, started = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    for _ in range(epochs):
        for _ in loader:
            pass
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "user_seconds": resource.getrusage(resource.RUSAGE_SELF).ru_utime - user}


def run(python: str, files: list[str], batch_size: str, args: argparse.Namespace) -> dict[str, Any]:
    command = [python, str(Path(__file__).resolve()), "--measure", *files, "--batch-size", batch_size]
    return common.run_json([*command, "--epochs", str(args.epochs), "--threads", str(args.threads)])


def compare(python: tuple[str, str], files: list[str], batch_size: str, args: argparse.Namespace) -> dict[str, Any]:
    ratios: dict[str, list[float]] = {"seconds": [], "user_seconds": []}
    for side in python:
        run(side, files, batch_size, args)  # page cache warm, code paged in
    for pair in range(args.pairs):
        order = (0, 1) if pair % 2 == 0 else (1, 0)
        with common.quiet_machine():
            got = {side: run(python[side], files, batch_size, args) for side in order}
        for key, values in ratios.items():
            values.append(got[1][key] / got[0][key])
    result: dict[str, Any] = {"pairs": args.pairs}
    for key, values in ratios.items():
        low, median, high = statistics.quantiles(values, n=4)
        result[key] = {"ratio": median, "middle_half": [low, high]}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="PYTHON")
    parser.add_argument("--after", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--jets", metavar="FOLDER", help="files to take for jets, in place of the workload's")
    parser.add_argument("--rows", metavar="FOLDER", help="the same for 128-byte rows")
    parser.add_argument("--measure", nargs="+", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--batch-size", type=int, default=512, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.batch_size, args.epochs, args.threads)))
        return
    if not args.before:
        parser.error("--before names the interpreter that has the other build")
    files = {
        name: sorted(map(str, Path(folder).glob("*.h5"))) if folder else workload.make(variant)
        for name, folder, variant in zip(WORKLOADS, (args.jets, args.rows), ("gzip", "mel"), strict=True)
    }
    os.environ["HEADRACE_CACHE"] = "off"
    for name, batch_size in WORKLOADS.items():
        load = round(os.getloadavg()[0], 1)
        print(
            json.dumps(
                {"workload": name, "load": load, **compare((args.before, args.after), files[name], batch_size, args)}
            )
        )


if __name__ == "__main__":
    main()
