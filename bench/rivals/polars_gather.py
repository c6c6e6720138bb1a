#!/usr/bin/env python3
"""Shuffled ragged batches by polars and NumPy, a file at a time and without a loop over pulses. Prints one JSON object.

Usage: polars_gather.py [--set large] [--threads 1] [--batch-size 512] [--epochs 3]
                        [--joined [--features batch|file] [--padded N] [--sums]]

Files come in a random order, events are shuffled inside their file. A batch is a gather of each column through an index
that is made for all events of the batch at once; columns are gathered into memory that the next batch does not reuse,
so that a consumer may keep them. With two threads polars has two, and the next file is read while this one is gathered.
With --joined a batch has six float32 features a pulse (`parquet_features.py`), of four columns. They are made of the
pulses of a batch, whose columns are then in the processor's cache; with --features file they are made of a whole file
when it is read, by the reading thread where there are two, and a batch is a concatenation of slices. With --padded N
pulses behind the first N of an event are not gathered, and a batch is an array of zeros, filled by one assignment.

The rate is that of the epochs after the first: reading, features, gathering and filling are counted, imports and the
table of spans are not. Before joined epochs are timed, a few events are compared with NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import parquet_features
import parquet_files
from parquet_files import FIELDS, JOINED, TARGETS

Arrays = dict[str, np.ndarray]


class Gather:
    """What becomes of columns: themselves, or features that are made of a file or of a batch."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.columns = list(JOINED if args.joined else FIELDS)
        self.sensors = parquet_features.table_of_sensors() if args.joined else None
        self.of_file = args.joined and args.features == "file"
        self.most, self.size = args.padded, args.batch_size

    def read(self, path: str) -> Arrays:
        import polars as pl

        frame = pl.read_parquet(path, columns=self.columns)
        columns = {name: frame[name].to_numpy() for name in self.columns}
        return {"pulses": parquet_features.features_of(columns, self.sensors)} if self.of_file else columns

    def batches(self, columns: Arrays, spans: Arrays, order: np.ndarray) -> Iterator[Arrays]:
        lengths = parquet_features.kept(spans["end"] - spans["first"], self.most)[order]
        firsts = spans["first"][order]
        for at in range(0, len(order), self.size):
            chosen = slice(at, at + self.size)
            batch = self.batch(columns, firsts[chosen], lengths[chosen])
            yield batch | {name: spans[name][order[chosen]] for name in TARGETS}

    def batch(self, columns: Arrays, firsts: np.ndarray, lengths: np.ndarray) -> Arrays:
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if self.of_file:
            pulses, ends = columns["pulses"], (firsts + lengths).tolist()
            batch = {"pulses": np.concatenate([pulses[a:b] for a, b in zip(firsts.tolist(), ends, strict=True)])}
        else:
            rows = np.arange(offsets[-1])
            rows += np.repeat(firsts - offsets[:-1], lengths)
            batch = {name: column.take(rows) for name, column in columns.items()}
            if self.sensors is not None:
                batch = {"pulses": parquet_features.features_of(batch, self.sensors)}
        if self.most:
            return parquet_features.padded(batch["pulses"], lengths)
        return batch | {"offsets": offsets}


def read_in_turn(read: Callable[[str], Arrays], paths: list[str], ahead: bool) -> Iterator[Arrays]:
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


def epoch(
    files: parquet_files.Files, spans: list[Arrays], gather: Gather, ahead: bool, random: Any
) -> Iterator[Arrays]:
    turn = random.permutation(len(files.paths))
    read_files = read_in_turn(gather.read, [files.paths[number] for number in turn], ahead)
    for number, columns in zip(turn, read_files, strict=True):
        order = random.permutation(len(spans[number]["first"]))
        yield from gather.batches(columns, spans[number], order)


def check(files: parquet_files.Files, spans: list[Arrays], gather: Gather) -> None:
    """Compare a few events of the first file with NumPy."""
    few = [event for event in parquet_features.some_events(files) if event < files.events // len(files.paths)]
    batch = next(gather.batches(gather.read(files.paths[0]), spans[0], np.array(few)))
    parquet_features.check(batch, files, few, gather.most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    for name, number in (("threads", 1), ("batch-size", 512), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--features", choices=("batch", "file"), default="batch", help="of what they are made at once")
    parquet_features.add_options(parser)
    args = parquet_features.parsed(parser)
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    files, random = parquet_files.make(args.set), np.random.default_rng(7)
    spans = parquet_files.spans_of(files.meta)
    import polars  # noqa: F401  # what importing takes is not counted

    gather = Gather(args)
    if args.joined:
        check(files, spans, gather)
    right = parquet_features.pulses_left(files.meta, args.padded)
    next_epoch = partial(epoch, files, spans, gather, args.threads > 1, random)
    seconds, cpu = [], []
    for _ in range(args.epochs):
        began, began_cpu = time.perf_counter(), time.process_time()
        pulses = sum(map(parquet_features.delivered, next_epoch()))
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
        if pulses != right:
            raise SystemExit(f"{pulses} pulses were delivered of {right}")
    steady = statistics.mean(seconds[1:] or seconds)
    told = {"cold_rows_per_s": files.events / seconds[0], "seconds": steady}
    if args.sums:
        told["sums"] = parquet_features.sums_of(next_epoch())
    print(json.dumps({"rows_per_s": files.events / steady, **told, "cpu_seconds": statistics.mean(cpu[1:] or cpu)}))


if __name__ == "__main__":
    main()
