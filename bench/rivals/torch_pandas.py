#!/usr/bin/env python3
"""torch DataLoader over Parquet files in pandas, a slice an event, with a collate function. Prints one JSON object.

Usage: torch_pandas.py [--set large] [--batch-size 512] [--workers 0] [--files 6]
                       [--slices frame|arrays|features] [--joined [--padded N] [--sums]]

A batch sampler takes one file at a time, in a random order, and shuffles the events inside it: each process holds the
file that it is at. Workers have files of their own: batches are dealt round to them, so each second one is from the
same file. An event is `frame.iloc[first:end]`; with --slices arrays columns are made NumPy arrays when a file is read,
and an event is a slice of each.

With --joined a batch has six float32 features a pulse (`parquet_features.py`), of four columns: the collate function
joins the slices, and makes the features of all pulses of the batch at once. With --slices features they are made of a
whole file when it is read, and an event is a slice of them. With --padded N an event is a slice of its first N pulses,
and the collate function fills an array of zeros by one assignment.

Counted is what comes after the batches of each worker's first file: reading, slices, features and collate functions, in
the workers where there are any, and what sends batches from them. Before joined batches are timed, a few events are
compared with NumPy. --sums adds a pass that is not timed; with fewer --files than the set has it sums those.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import parquet_features
import parquet_files
from parquet_files import FIELDS, JOINED, TARGETS

Event = dict[str, Any]
Place = tuple[int, int]  # file, event in it


class Events(Dataset[Event]):
    def __init__(self, files: parquet_files.Files, args: argparse.Namespace) -> None:
        self.paths = files.paths
        self.spans = parquet_files.spans_of(files.meta)
        self.lengths = [parquet_features.kept(spans["end"] - spans["first"], args.padded) for spans in self.spans]
        self.slices, self.fields = args.slices, list(JOINED if args.joined else FIELDS)
        self.sensors = parquet_features.table_of_sensors() if args.joined else None
        self.number, self.columns = -1, None

    def load(self, number: int) -> Any:
        """Return a file's frame, or its columns, or its features; the last one is kept."""
        if number != self.number:
            self.columns = None
            frame = pd.read_parquet(self.paths[number], columns=self.fields)
            self.columns = frame if self.slices == "frame" else {k: frame[k].to_numpy() for k in self.fields}
            if self.slices == "features":
                self.columns = {"pulses": parquet_features.features_of(self.columns, self.sensors)}
            self.number = number
        return self.columns

    def __getitem__(self, place: Place) -> Event:
        number, event = place
        columns, spans = self.load(number), self.spans[number]
        first = spans["first"][event]
        rows = slice(first, first + self.lengths[number][event])
        if self.slices == "frame":
            part = columns.iloc[rows]
            pulses = {name: part[name].to_numpy() for name in self.fields}
        else:
            pulses = {name: column[rows] for name, column in columns.items()}
        return pulses | {name: spans[name][event] for name in TARGETS}


def file_by_file(numbers: np.ndarray, events: list[int], size: int, random: Any) -> Iterator[list[Place]]:
    for number in numbers:
        order = random.permutation(events[number])
        for at in range(0, len(order), size):
            yield [(int(number), int(event)) for event in order[at : at + size]]


def dealt(numbers: np.ndarray, events: list[int], size: int, workers: int, random: Any) -> list[list[Place]]:
    """Return batches in turns of as many files as there are workers."""
    streams = [file_by_file(numbers[first::workers], events, size, random) for first in range(workers)]
    return [batch for turn in zip(*streams, strict=True) for batch in turn]


class Collate:
    """Make a batch of events: columns with offsets, or features, ragged or padded."""

    def __init__(self, sensors: np.ndarray | None, padded: bool) -> None:
        self.sensors, self.padded = sensors, padded

    def __call__(self, events: list[Event]) -> dict[str, torch.Tensor]:
        fields = [name for name in events[0] if name not in TARGETS]
        lengths = np.array([len(event[fields[0]]) for event in events])
        batch = {name: np.concatenate([event[name] for event in events]) for name in fields}
        if self.sensors is not None and "pulses" not in batch:
            batch = {"pulses": parquet_features.features_of(batch, self.sensors)}
        if self.padded:
            batch = parquet_features.padded(batch["pulses"], lengths)
        else:
            batch["offsets"] = np.concatenate([[0], np.cumsum(lengths)])
        batch |= {name: np.array([event[name] for event in events]) for name in TARGETS}
        return {name: torch.from_numpy(array) for name, array in batch.items()}


def check(files: parquet_files.Files, data: Events, collate: Collate, most: int) -> None:
    """Compare a few events with NumPy."""
    few, each = parquet_features.some_events(files), files.events // len(files.paths)
    parquet_features.check(collate([data[divmod(event, each)] for event in few]), files, few, most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--slices", choices=("frame", "arrays", "features"), default="frame")
    parser.add_argument("--files", type=int, default=6, help="so many of them, a multiple of the number of workers")
    parquet_features.add_options(parser)
    args = parquet_features.parsed(parser)
    if args.slices == "features" and not args.joined:
        parser.error("--slices features wants --joined")
    random, workers = np.random.default_rng(7), max(args.workers, 1)
    torch.set_num_threads(1)
    files = parquet_files.make(args.set)
    data = Events(files, args)
    collate = Collate(data.sensors, args.padded > 0)
    if args.joined:
        check(files, data, collate, args.padded)
        data.number = -1  # a file that the check has left is not there yet when the clock starts
    events = [len(spans["first"]) for spans in data.spans]
    numbers = random.permutation(len(files.paths))[: args.files]
    order = dealt(numbers, events, args.batch_size, workers, random)
    first_files = 0 if len(numbers) <= workers else sum(events[number] for number in numbers[:workers])
    loader = DataLoader(data, batch_sampler=order, num_workers=args.workers, collate_fn=collate)
    seen, pulses, counted, started, ended = 0, 0, 0, time.perf_counter(), 0.0
    for batch in loader:
        ended = time.perf_counter()
        pulses += parquet_features.delivered(batch)
        seen += len(batch["zenith"])
        if seen <= first_files:  # workers start, and the page cache of code is filled: neither is counted
            started, counted = ended, 0
        else:
            counted += len(batch["zenith"])
    if seen != sum(events[number] for number in numbers):
        raise SystemExit(f"{seen} events were delivered")
    if pulses != sum(int(data.lengths[number].sum()) for number in numbers):
        raise SystemExit(f"{pulses} pulses were delivered")
    told: dict[str, Any] = {"rows_per_s": counted / (ended - started), "seconds": ended - started}
    if args.sums:
        told["sums"] = parquet_features.sums_of(loader)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
