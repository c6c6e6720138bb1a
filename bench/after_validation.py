#!/usr/bin/env python3
"""What a validation in the middle of an epoch costs over one after it, where the two loaders share one budget.

    python bench/after_validation.py [--pairs 5] [--only jets]

One process, two loaders over the same data, and one budget of about a quarter of it for both, all of which the training
loader takes. Three things are timed: an epoch of training, back to back with others (t); a validation by itself, with
all of the memory (v); and an epoch with a validation after half of its batches (m). Prints (t + v) / m for each kind of
data: the median of the pairs, in which the three take turns, and the middle half of them. 1.0: a validation in the
middle costs its own time and nothing else; in the memory that it borrowed, training has to decode anew what it held.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import between_versions
import common

MEMORY = {"jets": "200MiB", "rows of 128 bytes": "64MiB", "events": "32MiB", "patches": "64MiB"}


def seconds_of(train: Any | None, val: Any | None) -> float:
    """Return the time of an epoch, of a validation, or of an epoch with a validation after half of its batches."""
    started = time.perf_counter()
    batches, number = (iter(()), 0) if train is None else (iter(train), len(train))
    for _ in range(number // 2):
        next(batches)
    for _ in val if val is not None else ():
        pass
    for _ in batches:
        pass
    return time.perf_counter() - started


def compare(kind: str, args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    memory = args.memory or MEMORY[kind]
    data = between_versions.open_as(kind, between_versions.files_of(kind))
    hr.set_memory(memory)
    words = {"batch_size": int(between_versions.WORKLOADS[kind]), "threads": args.threads, "cache": "none"}
    ratios, parts = [], []
    with hr.Loader(data, shuffle=True, seed=7, **words) as train, hr.Loader(data, **words) as val:
        for pair in range(args.pairs + 1):
            with common.quiet_machine():
                seconds_of(train, None)  # what follows is back to back with it, and a validation's end is paid for
                epoch = seconds_of(train, None)
                seconds_of(None, val)
                alone = seconds_of(None, val)
                seconds_of(train, None)
                middle = seconds_of(train, val)
            if pair > 0:  # in the first, memory is touched for the first time
                ratios.append((epoch + alone) / middle)
                parts.append((epoch, alone, middle))
        lends = [line.strip() for line in train.explain().splitlines() if line.startswith(("  lent", "  pauses"))]
    low, median, high = statistics.quantiles(ratios, n=4)
    seconds = dict(zip(("epoch", "validation", "both"), map(statistics.median, zip(*parts, strict=True)), strict=True))
    return {"memory": memory, "ratio": median, "middle_half": [low, high], "seconds": seconds, "told": lends}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", help="of both loaders together")
    parser.add_argument("--only", nargs="+", choices=list(between_versions.WORKLOADS))
    args = parser.parse_args()
    for kind in args.only or between_versions.WORKLOADS:
        print(json.dumps({"workload": kind, **compare(kind, args)}), flush=True)


if __name__ == "__main__":
    main()
