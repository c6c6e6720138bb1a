#!/usr/bin/env python3
"""Headrace's side of the benchmarks, one measurement a process. Prints one JSON object.

epochs    rows per second over epochs back to back, after one that is told apart (cold)
first     seconds from `open` to the first batch
memory    peak resident memory above what the process held before `open`
consumer  CPU of the consumer's thread for one batch that is ready
quality   Deff of the order: by the plan, and from the rows that were delivered
index     seconds to open a file and read its first row, which needs the whole chunk index
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr
from headrace import transforms

FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
MEL_FIELDS = {"mel": "segments_mel", "y": "labels"}
READY_BATCHES = 4
MOST_TO_FILL = 20  # epochs, until a cache that holds everything does so
SEED = 7


def open_data(args: argparse.Namespace) -> Any:
    if args.fields:
        return hr.open(args.files, fields=args.fields.split(","))
    data = hr.open(args.files, fields=MEL_FIELDS if args.mel else FIELDS)
    return data.map(transforms.SymmetricPairs("adj", sentinel=-999.0)) if args.dense else data


def windowed_order(rows: int, chunk_rows: int, chunks: int) -> np.ndarray:
    """Row numbers that stay inside so many chunks at a time: the chunks shuffled, cut into groups, each shuffled."""
    random = np.random.default_rng(SEED)
    starts = random.permutation(np.arange(0, rows, chunk_rows))
    groups = [starts[at : at + chunks] for at in range(0, len(starts), chunks)]
    runs = [np.concatenate([np.arange(s, min(s + chunk_rows, rows)) for s in group]) for group in groups]
    return np.concatenate([random.permutation(run) for run in runs])


def make_loader(args: argparse.Namespace, data: Any = None, **more: Any) -> Any:
    """The loader that the options describe; `more` are further arguments of it, and win."""
    data = open_data(args) if data is None else data
    settings: dict[str, Any] = {
        "seed": SEED,
        "memory": args.memory,
        "threads": args.threads,
        "framework": args.framework,
        "cache": args.cache,  # "none" unless a figure is about a cache: what is measured elsewhere is the decoding
    }
    if args.shuffle == "windowed":
        settings["sampler"] = windowed_order(len(data), args.chunk_rows, args.chunks).tolist()
    else:
        settings["shuffle"] = {"none": False, "block": True, "exact": "exact"}[args.shuffle]
        if args.shuffle_buffer:
            settings["shuffle_buffer"] = args.shuffle_buffer
    return hr.Loader(data, args.batch_size, **{**settings, **more})


def add_options(parser: argparse.ArgumentParser) -> None:
    """What the loaders of all measures are told."""
    parser.add_argument("files", nargs="+")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sequential", dest="shuffle", action="store_const", const="none", default="block")
    parser.add_argument("--shuffle", choices=["none", "block", "exact", "windowed"], default="block")
    parser.add_argument("--shuffle-buffer", help="of --shuffle block")
    parser.add_argument("--chunk-rows", type=int, default=1024, help="of --shuffle windowed")
    parser.add_argument("--chunks", type=int, default=10, help="of --shuffle windowed: in a group")
    parser.add_argument("--cache", default="none", help="auto, none, ram, or a directory")
    parser.add_argument("--fill", action="store_true", help="epochs: time those from a cache that holds every block")
    parser.add_argument("--fields", help="names with commas between, in place of those of jets")
    parser.add_argument("--mel", action="store_true", help="the fields of the mel segments, not of the jets")
    parser.add_argument("--dense", action="store_true", help="adjacency as dense matrices, padding as 0")
    parser.add_argument("--framework", default="numpy")


def drain(batches: Iterable[Any]) -> None:
    """Take all of them, and keep none: a loop variable would hold the last one."""
    deque(batches, maxlen=0)


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_bytes(key: str) -> int:
    """VmRSS or VmHWM of this process; ru_maxrss would remember the parent's, from before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {key} in /proc/self/status")


def data_bytes(data: Any) -> int:
    """Decoded, of all rows."""
    return len(data) * int(data.sample_bytes)


def decoded_bytes(report: dict[str, Any]) -> int:
    """What came out of decoders: of files without filters that is what was read."""
    stages = report["stages"]
    return int(max(stages.get(name, {"bytes": 0})["bytes"] for name in ("decode", "read")))


def kept_share(report: dict[str, Any]) -> float:
    """The share of all blocks that the cache holds."""
    cache = report["cache"]
    return 1.0 if cache["complete"] else cache["blocks"] / max(cache["all_blocks"], 1)


def fill_cache(loader: Any) -> int:
    """Run epochs until the cache holds every block; returns how many more that took."""
    for epoch in range(MOST_TO_FILL):
        if kept_share(loader.report().to_dict()) == 1:
            return epoch
        drain(loader)
    raise SystemExit(f"the cache does not hold every block after {MOST_TO_FILL} more epochs")


def epochs(args: argparse.Namespace) -> dict[str, Any]:
    data = open_data(args)
    loader = make_loader(args, data)
    cold_started = time.perf_counter()
    cold_rows = sum(len(batch["y"]) for batch in loader)  # the window's memory is touched for the first time
    cold_seconds = time.perf_counter() - cold_started
    filling = fill_cache(loader) if args.fill else 0
    rows, marks = 0, []
    cpu = cpu_seconds()
    started = time.perf_counter()
    for _ in range(args.epochs):
        for batch in loader:
            rows += len(batch["y"])
        marks.append(time.perf_counter())
    seconds = marks[-1] - started
    cpu = cpu_seconds() - cpu
    each = [b - a for a, b in zip([started, *marks], marks, strict=False)]
    report = loader.report().to_dict()
    if args.cache == "ram" and decoded_bytes(report) > 1.5 * data_bytes(data):
        raise SystemExit("later epochs were decoded again: they did not come from RAM")
    return {
        "rows": rows,
        "seconds": seconds,
        "rows_per_s": rows / seconds,
        "cold_rows_per_s": cold_rows / cold_seconds,
        "epoch_seconds": each,
        "epochs_to_fill": filling,
        "cpu_seconds": cpu,
        "report": report,
    }


def first(args: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    loader = make_loader(args)
    opened = time.perf_counter()
    batch = next(iter(loader))
    ready = time.perf_counter()
    return {"seconds": ready - started, "open_seconds": opened - started, "rows": len(batch["y"])}


def memory(args: argparse.Namespace) -> dict[str, Any]:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts from here
    before = resident_bytes("VmRSS")
    loader = make_loader(args)
    rows = 0
    for _ in range(args.epochs):
        for batch in loader:
            rows += len(batch["y"])
    above = resident_bytes("VmHWM") - before
    return {"rows": rows, "before_bytes": before, "above_bytes": above, "report": loader.report().to_dict()}


def consumer(args: argparse.Namespace) -> dict[str, Any]:
    """Take four batches that are ready, one after another.

    The first finds this processor's caches full of other work, as any Python code would after a pause, and is told
    apart; the rest are what the loader itself costs.
    """
    loader = make_loader(args)
    cold_us, warm_us = [], []
    iterator = iter(loader)
    batch = next(iterator)
    for _ in range(min(args.batches, (len(loader) - 1) // READY_BATCHES)):
        until = time.perf_counter() + args.pause  # the next batches get ready meanwhile
        while time.perf_counter() < until:
            pass
        for nth in range(READY_BATCHES):
            before = time.thread_time_ns()
            batch = next(iterator)  # also lets go of the one before
            (warm_us if nth else cold_us).append((time.thread_time_ns() - before) / 1000.0)
    assert len(batch) == len(FIELDS)
    return {
        "batches": len(cold_us) + len(warm_us),
        "median_us": statistics.median(warm_us),
        "mean_us": statistics.fmean(warm_us),
        "cold_median_us": statistics.median(cold_us),
    }


def design_effect(groups: list[int], total: int, batches: list[np.ndarray]) -> float:
    """The design effect: mean over batches of B·sum (s_b - w_b)²/(1 - sum w_b²), s_b the share of group b.

    Args:
        groups: Rows of each group, as sizes.
        total: Rows of all.
        batches: Group of each sample, batch by batch.
    """
    shares = np.asarray(groups, dtype=np.float64) / total
    scale = 1 - float((shares**2).sum())
    effects = []
    for batch in batches:
        got = np.bincount(batch, minlength=len(shares)) / len(batch)
        effects.append(len(batch) * float(((got - shares) ** 2).sum()) / scale)
    return statistics.fmean(effects)


def quality(args: argparse.Namespace) -> dict[str, Any]:
    """Deff of the order by the plan, and again from the rows that were delivered."""
    jets = hr.open(args.files, fields={"y": "labels"})
    whole = hr.open(args.files, fields=FIELDS)
    loader = hr.Loader(
        whole, args.batch_size, shuffle=True, seed=7, memory=args.memory, provenance=True, drop_last=True
    )
    planned = loader.order_report().to_dict()["global"]
    sizes = [info.rows for info in jets.files]
    block_rows = int(next(iter(whole.fields.values())).chunks[0])
    first_block = np.concatenate([[0], np.cumsum([-(-rows // block_rows) for rows in sizes])])
    files, blocks = [], []
    for batch in loader:
        file, row = batch["_rows"].T
        files.append(file.copy())
        blocks.append(first_block[file] + row // block_rows)
    block_sizes = [min(block_rows, rows - first) for rows in sizes for first in range(0, rows, block_rows)]
    return {
        "file_effect": planned["file_effect"],
        "block_effect": planned["block_effect"],
        "delivered_file_effect": design_effect(sizes, sum(sizes), files),
        "delivered_block_effect": design_effect(block_sizes, sum(sizes), blocks),
    }


def index(args: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    data = hr.open(args.files)
    row = data[len(data) - 1]
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "rows": len(data), "last": float(np.asarray(next(iter(row.values()))).ravel()[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measures = {f.__name__: f for f in (epochs, first, memory, consumer, index, quality)}
    parser.add_argument("measure", choices=measures)
    add_options(parser)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.1)
    args = parser.parse_args()
    print(json.dumps(measures[args.measure](args)))


if __name__ == "__main__":
    main()
