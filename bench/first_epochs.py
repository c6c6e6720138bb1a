#!/usr/bin/env python3
"""Measure a fresh loader from its first epoch on, with an idle consumer. Prints one JSON object.

Usage: first_epochs.py [--epochs 10] [--cache auto] [--memory 1GiB] [--touch-gib 1] [--keep-at-once] FILE...

rows_per_s       of the first epoch, from iter() to its end
total_seconds    by number of epochs: from before the loader is made until so many epochs are over
kept_share       by epoch: blocks that the cache holds at its end

--touch-gib touches and frees so much memory first: a virtual machine has it then. --keep-at-once tells the engine to
keep every block in the first epoch, whatever that costs it (see keep_at_once()).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from typing import Any

import common
from headrace_epochs import add_options, data_bytes, kept_share, make_loader, open_data

#: Keeps every block as soon as it is decoded, whatever that costs the first epoch.
KEEP_AT_ONCE = {"HEADRACE_KEEP_SHARE": "inf"}


def keep_at_once() -> None:
    os.environ.update(KEEP_AT_ONCE)


def touch(gib: float) -> bool:
    """Make memory present; True if nothing was asked for, or it is there."""
    return gib == 0 or common.make_memory_present(int(gib * 2**30))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    if args.keep_at_once:
        keep_at_once()
    data = open_data(args)
    present = touch(args.touch_gib)
    marks, kept, totals, rows = [], [], {}, 0
    began = time.perf_counter()
    loader = make_loader(args, data)
    marks.append(time.perf_counter())
    for epoch in range(1, args.epochs + 1):
        for batch in loader:
            rows += len(batch["y"])
        marks.append(time.perf_counter())
        totals[str(epoch)] = marks[-1] - began
        kept.append(kept_share(loader.report().to_dict()))
    seconds = [b - a for a, b in itertools.pairwise(marks)]
    report = loader.report().to_dict()
    return {
        "rows": rows,
        "rows_per_s": len(data) / seconds[0],
        "later_rows_per_s": len(data) * (len(seconds) - 1) / sum(seconds[1:]) if len(seconds) > 1 else None,
        "seconds": marks[-1] - began,
        "total_seconds": totals,
        "epoch_seconds": seconds,
        "first_batch_seconds": report["first_batch_seconds"],
        "kept_share": kept,
        "tier": report["cache"]["kind"],
        "coding": report["cache"]["coding"],
        "present": present,
        "data_bytes": data_bytes(data),
        "report": report,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(epochs=10, cache="auto")
    parser.add_argument("--touch-gib", type=float, default=0.0)
    parser.add_argument("--keep-at-once", action="store_true")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
