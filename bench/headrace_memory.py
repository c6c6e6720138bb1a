#!/usr/bin/env python3
"""Headrace's side of the memory benchmarks, one measurement a process. Prints one JSON object.

decodes   decodes a block in one epoch, and the window that it had
slots     block shuffle at budgets down to the least: same batches, decodes a block against what was predicted
preload   seconds until all is decoded into RAM, from before the loader is made
disk      epochs from a cache directory that another process has just built, page cache warm
rank      what one of several ranks decodes over its epochs

Epochs from RAM, and from the compressed tier, are `headrace_epochs.py epochs --cache ram|auto`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import common
import headrace_epochs
import numpy as np
from cache_simulation import window
from headrace_epochs import data_bytes, decoded_bytes, make_loader, open_data

import headrace as hr


def budget_of(args: argparse.Namespace, data: Any) -> int | str:
    return args.memory if args.share is None else int(args.share * data_bytes(data))


def predicted_decodes(loader: Any, report: dict[str, Any]) -> float | None:
    """Decodes a block that the loader expects: from its report, or from what explain() says."""
    for place in (report, report["memory"]):
        for key in ("predicted_amplification", "predicted_decodes"):
            if place.get(key):
                return float(place[key])
    text = loader.explain()
    if "every block once" in text:
        return 1.0
    found = re.search(r"a block about ([\d.,]+) times an epoch", text)
    return float(found.group(1).replace(",", "")) if found else None


def window_bytes(report: dict[str, Any]) -> int:
    return int(report["memory"]["slots"] * report["memory"]["slot_bytes"])


def decodes(args: argparse.Namespace) -> dict[str, Any]:
    data = open_data(args)
    loader = make_loader(args, data, memory=budget_of(args, data))
    started = time.perf_counter()
    rows = sum(len(batch["y"]) for batch in loader)
    seconds = time.perf_counter() - started
    report = loader.report().to_dict()
    return {
        "rows": rows,
        "seconds": seconds,
        "rows_per_s": rows / seconds,
        "decodes": report["read_amplification"],
        "predicted": predicted_decodes(loader, report),
        "data_bytes": data_bytes(data),
        "budget_bytes": report["memory"]["budget_bytes"],
        "window_bytes": window_bytes(report),
        "slots": report["memory"]["slots"],
        "report": report,
    }


def digests(loader: Any) -> tuple[list[int], np.ndarray]:
    """A checksum of each batch of one epoch: all fields, all bytes. And the rows that came, as (file, row)."""
    sums, rows = [], []
    for batch in loader:
        total = 0
        for values in batch.values():
            total = zlib.crc32(values.reshape(-1).view("u1"), total)
        sums.append(total)
        rows.append(batch["_rows"].copy())
    return sums, np.concatenate(rows)


def least_budget(args: argparse.Namespace, data: Any) -> int:
    """The smallest that a loader takes, which its refusal names."""
    try:
        next(iter(make_loader(args, data, memory="1MiB", provenance=True)))
    except hr.OutOfBudgetError as error:
        if error.needed_bytes is None:
            raise
        return error.needed_bytes
    raise SystemExit("1 MiB was enough: nothing to measure")


def slots(args: argparse.Namespace) -> dict[str, Any]:
    """From the least budget upwards, so many slots more at a time. Other batches than with all the memory: an error.

    `rule`: decodes a block by the window's rule alone, simulated over the order that was delivered, in all slots but
    the one whose batch this loop holds.
    """
    data = open_data(args)
    block_rows = int(next(iter(data.fields.values())).chunks[0])
    expected: list[int] = []
    budgets: list[dict[str, Any]] = []
    blocks = np.zeros(0, np.int64)
    least = least_budget(args, data)
    slot = args.batch_size * int(data.sample_bytes)
    for more in (None, *map(int, args.more_slots.split(","))):
        memory = "2GiB" if more is None else least + more * slot
        loader = make_loader(args, data, memory=memory, provenance=True)
        started = time.perf_counter()
        sums, rows = digests(loader)
        seconds = time.perf_counter() - started
        report = loader.report().to_dict()
        if more is None:
            expected = sums
            blocks = np.unique(rows // [1, block_rows], axis=0, return_inverse=True)[1].ravel()
        elif sums != expected:
            raise SystemExit(f"memory={memory}: other batches than with 2 GiB")
        budgets.append(
            {
                "budget_bytes": report["memory"]["budget_bytes"],
                "slots": report["memory"]["slots"],
                "decodes": report["read_amplification"],
                "predicted": predicted_decodes(loader, report),
                "rule": window(blocks, args.batch_size, report["memory"]["slots"] - 1) / (int(blocks.max()) + 1),
                "seconds": seconds,
            }
        )
        loader.close()
    return {"batches": len(expected), "budgets": budgets}


def preload(args: argparse.Namespace) -> dict[str, Any]:
    """The clock stops when as many bytes were decoded as there are, whether batches come only then or meanwhile."""
    data = open_data(args)
    present = not args.fresh and common.make_memory_present(int(data_bytes(data) * 1.1))
    started = time.perf_counter()
    loader = make_loader(args, data, cache="ram")
    iterator = iter(loader)
    rows, seconds, first_seconds = 0, None, None
    for batch in iterator:
        rows += len(batch["y"])
        now = time.perf_counter()
        first_seconds = first_seconds or now - started
        if seconds is None and decoded_bytes(loader.report().to_dict()) >= data_bytes(data):
            seconds = now - started
    if seconds is None:
        raise SystemExit("less was decoded than there is")
    return {
        "rows": len(data),
        "seconds": seconds,
        "rows_per_s": len(data) / seconds,
        "first_batch_seconds": first_seconds,
        "present": present,
        "report": loader.report().to_dict(),
    }


def disk(args: argparse.Namespace) -> dict[str, Any]:
    """Nobody else uses the directory, and nothing of it stays."""
    with tempfile.TemporaryDirectory(dir=common.data_dir(), prefix="cache_") as cache:
        measure = [str(common.BENCH / "headrace_epochs.py"), "epochs", *args.files, "--epochs", "1", "--cache", cache]
        settings = ["--memory", args.memory, "--threads", str(args.threads), "--batch-size", str(args.batch_size)]
        built = common.run_json([sys.executable, *measure, *settings])
        subprocess.run(["sync", "-f", cache], check=True)  # writing back is over when the clock starts
        args.cache = cache
        result = headrace_epochs.epochs(args)
        cached = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
        if cached < data_bytes(open_data(args)):
            raise SystemExit(f"the cache directory holds {cached} bytes, less than the data: it was not used")
        return {**result, "build_rows_per_s": built["cold_rows_per_s"], "cache_bytes": cached}


def rank(args: argparse.Namespace) -> dict[str, Any]:
    more = {"rank": args.rank, "world_size": args.world_size}
    if args.world_size > 1:
        more["share"] = "host"
    loader = make_loader(args, cache="ram", **more)
    rows = sum(len(batch["y"]) for _ in range(args.epochs) for batch in loader)
    report = loader.report().to_dict()
    return {"rows": rows, "decoded_bytes": decoded_bytes(report), "report": report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measures = {f.__name__: f for f in (decodes, slots, preload, disk, rank)}
    parser.add_argument("measure", choices=measures)
    headrace_epochs.add_options(parser)
    parser.add_argument("--share", type=float, help="budget as a share of the decoded data, in place of --memory")
    parser.add_argument("--more-slots", default="0,1,3,8,18,33", help="of slots: slots above the least budget's")
    parser.add_argument("--fresh", action="store_true", help="preload: into memory that nobody has touched")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=1)
    args = parser.parse_args()
    print(json.dumps(measures[args.measure](args)))


if __name__ == "__main__":
    main()
