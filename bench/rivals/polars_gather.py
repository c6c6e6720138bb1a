#!/usr/bin/env python3
"""Shuffled ragged batches by polars and NumPy, a file at a time and without a loop over pulses. Prints one JSON object.

Usage: polars_gather.py [--set large] [--threads 1] [--batch-size 512] [--epochs 3]

Files come in a random order, events are shuffled inside their file. A batch is a gather of each column through an index
that is made for all events of the batch at once; columns are gathered into memory that the next batch does not reuse,
so that a consumer may keep them. With two threads polars has two, and the next file is read while this one is gathered.
The rate is that of the epochs after the first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import parquet_files
from parquet_files import FIELDS, TARGETS

Arrays = dict[str, np.ndarray]


def read(path: str) -> Arrays:
    import polars as pl

    frame = pl.read_parquet(path, columns=list(FIELDS))
    return {name: frame[name].to_numpy() for name in FIELDS}


def read_in_turn(paths: list[str], ahead: bool) -> Iterator[Arrays]:
    if not ahead:
        yield from map(read, paths)
        return
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(read, paths[0])
        for path in [*paths[1:], None]:
            now = coming.result()
            if path is not None:
                coming = pool.submit(read, path)
            yield now


def batches(columns: Arrays, spans: Arrays, order: np.ndarray, size: int) -> Iterator[Arrays]:
    lengths = (spans["end"] - spans["first"])[order]
    firsts = spans["first"][order]
    for at in range(0, len(order), size):
        chosen = slice(at, at + size)
        offsets = np.zeros(len(lengths[chosen]) + 1, np.int64)
        np.cumsum(lengths[chosen], out=offsets[1:])
        rows = np.arange(offsets[-1])
        rows += np.repeat(firsts[chosen] - offsets[:-1], lengths[chosen])
        batch = {name: column.take(rows) for name, column in columns.items()}
        yield batch | {"offsets": offsets} | {name: spans[name][order[chosen]] for name in TARGETS}


def epoch(files: parquet_files.Files, spans: list[Arrays], args: argparse.Namespace, random: Any) -> Iterator[Arrays]:
    turn = random.permutation(len(files.paths))
    read_files = read_in_turn([files.paths[number] for number in turn], ahead=args.threads > 1)
    for number, columns in zip(turn, read_files, strict=True):
        order = random.permutation(len(spans[number]["first"]))
        yield from batches(columns, spans[number], order, args.batch_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    for name, number in (("threads", 1), ("batch-size", 512), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    args = parser.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    files, random = parquet_files.make(args.set), np.random.default_rng(7)
    spans = parquet_files.spans_of(files.meta)
    import polars  # noqa: F401  # what importing takes is not counted

    seconds, cpu = [], []
    for _ in range(args.epochs):
        began, began_cpu = time.perf_counter(), time.process_time()
        pulses = sum(len(batch["time"]) for batch in epoch(files, spans, args, random))
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
        if pulses != files.pulses:
            raise SystemExit(f"{pulses} pulses were delivered of {files.pulses}")
    steady = statistics.mean(seconds[1:] or seconds)
    told = {"cold_rows_per_s": files.events / seconds[0], "seconds": steady}
    print(json.dumps({"rows_per_s": files.events / steady, **told, "cpu_seconds": statistics.mean(cpu[1:] or cpu)}))


if __name__ == "__main__":
    main()
