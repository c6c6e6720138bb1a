#!/usr/bin/env python3
"""What a version costs over another where nothing else differs: epochs of jets, 128-byte rows, events and patches.

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
import event_samples
import patch_samples
import workload

WORKLOADS = {"jets": "512", "rows of 128 bytes": "5632", "events": "512", "patches": "4"}  # and the batch size
EVENT_ROWS, PATCH_SIDE, PATCHES = 6_000_000, 320, 300


def files_of(kind: str) -> list[str]:
    """Return the files of a workload, made once."""
    if kind == "events":
        return event_samples.make(EVENT_ROWS)
    if kind == "patches":
        return patch_samples.make("gzip", PATCH_SIDE)
    return workload.make("gzip" if kind == "jets" else "mel")


def open_as(kind: str, files: list[str]) -> Any:
    import headrace as hr

    if kind == "events":
        return hr.open(files, list(event_samples.FIELDS), sample_by="event_id")
    if kind == "patches":
        volumes = hr.open_volume(files, list(patch_samples.ARRAYS))
        return volumes.patches((patch_samples.PATCH,) * 3, samples_per_epoch=PATCHES)
    return hr.open(files)


def measure(kind: str, files: list[str], epochs: int, threads: int) -> dict[str, float]:
    import headrace as hr

    batch_size = int(WORKLOADS[kind])
    data = open_as(kind, files)
    loader = hr.Loader(data, batch_size, shuffle=True, seed=7, memory="1GiB", threads=threads, cache="none")
    for _ in loader:  # the window's memory is touched for the first time
        pass
    user, started = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    for _ in range(epochs):
        for _ in loader:
            pass
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "user_seconds": resource.getrusage(resource.RUSAGE_SELF).ru_utime - user}


def run(python: str, kind: str, files: list[str], args: argparse.Namespace) -> dict[str, Any]:
    command = [python, str(Path(__file__).resolve()), "--measure", kind, *files]
    return common.run_json([*command, "--epochs", str(args.epochs), "--threads", str(args.threads)])


def compare(python: tuple[str, str], kind: str, files: list[str], args: argparse.Namespace) -> dict[str, Any]:
    ratios: dict[str, list[float]] = {"seconds": [], "user_seconds": []}
    for side in python:
        run(side, kind, files, args)  # page cache warm, code paged in
    for pair in range(args.pairs):
        order = (0, 1) if pair % 2 == 0 else (1, 0)
        with common.quiet_machine():
            got = {side: run(python[side], kind, files, args) for side in order}
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
    parser.add_argument("--only", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--measure", nargs="+", metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        kind, *files = args.measure
        print(json.dumps(measure(kind, files, args.epochs, args.threads)))
        return
    if not args.before:
        parser.error("--before names the interpreter that has the other build")
    folders = {"jets": args.jets, "rows of 128 bytes": args.rows}
    files = {
        kind: sorted(map(str, Path(folder).glob("*.h5"))) if (folder := folders.get(kind)) else files_of(kind)
        for kind in args.only
    }
    os.environ["HEADRACE_CACHE"] = "off"
    for kind, paths in files.items():
        load = round(os.getloadavg()[0], 1)
        ratios = compare((args.before, args.after), kind, paths, args)
        print(json.dumps({"workload": kind, "load": load, **ratios}), flush=True)


if __name__ == "__main__":
    main()
