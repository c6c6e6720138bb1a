#!/usr/bin/env python3
"""What a validation in the middle of an epoch costs the rest of it, which runs on the memory that it gave back.

    python bench/after_validation.py [--pairs 5] [--memory 200MiB] [--only jets]

One process, two loaders and one budget for both: a training loader that takes all of it, and a validation loader over
the same data. Epochs with and without a validation after half of their batches take turns. Prints, for each kind of
data, the time of the second half without a validation over that with one (1.0: it costs nothing), the median of the
pairs and the middle half of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import between_versions
import common


def second_half_seconds(train: Any, val: Any | None) -> float:
    """Return the time of the second half of an epoch, after a validation or not."""
    batches = iter(train)
    number = len(train)
    for _ in range(number // 2):
        next(batches)
    if val is not None:
        for _ in val:
            pass
    started = time.perf_counter()
    for _ in range(number - number // 2):
        next(batches)
    return time.perf_counter() - started


def compare(kind: str, args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    hr.set_memory(args.memory)
    data = between_versions.open_as(kind, between_versions.files_of(kind))
    words = {"batch_size": int(between_versions.WORKLOADS[kind]), "threads": args.threads, "cache": "none"}
    ratios, lent = [], False
    with hr.Loader(data, shuffle=True, seed=7, **words) as train, hr.Loader(data, **words) as val:
        for _ in train:  # the window's memory is touched for the first time
            pass
        for pair in range(args.pairs):
            seconds = {}
            for validates in (False, True) if pair % 2 == 0 else (True, False):
                with common.quiet_machine():
                    seconds[validates] = second_half_seconds(train, val if validates else None)
                lent = lent or "  lent" in train.explain()
            ratios.append(seconds[False] / seconds[True])
        pauses = "  pauses" in train.explain()
        amplification = train.report().read_amplification
    low, median, high = statistics.quantiles(ratios, n=4)
    told = {"lent": lent, "pauses": pauses, "read_amplification": round(amplification, 2)}
    return {"ratio": median, "middle_half": [low, high], **told}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="200MiB", help="of both loaders together")
    parser.add_argument("--only", nargs="+", choices=list(between_versions.WORKLOADS))
    args = parser.parse_args()
    for kind in args.only or between_versions.WORKLOADS:
        print(json.dumps({"workload": kind, "memory": args.memory, **compare(kind, args)}), flush=True)


if __name__ == "__main__":
    main()
