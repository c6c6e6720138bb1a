#!/usr/bin/env python3
"""torch DataLoader over Parquet files in pandas, a slice an event, with a collate function. Prints one JSON object.

Usage: torch_pandas.py [--set large] [--batch-size 512] [--workers 0] [--slices frame|arrays] [--files 6]

A batch sampler takes one file at a time, in a random order, and shuffles the events inside it: each process holds the
file that it is at. Workers have files of their own: batches are dealt round to them, so each second one is from the
same file. An event is `frame.iloc[first:end]`; with --slices arrays columns are made NumPy arrays when a file is read,
and an event is a slice of each. Counted is what comes after the batches of each worker's first file.
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
import parquet_files
from parquet_files import FIELDS, TARGETS

Event = dict[str, Any]
Place = tuple[int, int]  # file, event in it


class Events(Dataset[Event]):
    def __init__(self, files: parquet_files.Files, slices: str) -> None:
        self.paths = files.paths
        self.spans = parquet_files.spans_of(files.meta)
        self.slices = slices
        self.number, self.columns = -1, None

    def load(self, number: int) -> Any:
        """Return a file's frame, or its columns; the last one is kept."""
        if number != self.number:
            self.columns = None
            frame = pd.read_parquet(self.paths[number], columns=list(FIELDS))
            arrays = self.slices == "arrays"
            self.columns = {name: frame[name].to_numpy() for name in FIELDS} if arrays else frame
            self.number = number
        return self.columns

    def __getitem__(self, place: Place) -> Event:
        number, event = place
        columns, spans = self.load(number), self.spans[number]
        rows = slice(spans["first"][event], spans["end"][event])
        if self.slices == "arrays":
            pulses = {name: column[rows] for name, column in columns.items()}
        else:
            part = columns.iloc[rows]
            pulses = {name: part[name].to_numpy() for name in FIELDS}
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


def collate(events: list[Event]) -> dict[str, torch.Tensor]:
    batch = {name: torch.from_numpy(np.concatenate([event[name] for event in events])) for name in FIELDS}
    batch |= {name: torch.from_numpy(np.array([event[name] for event in events])) for name in TARGETS}
    batch["offsets"] = torch.from_numpy(np.cumsum([0] + [len(event["time"]) for event in events]))
    return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--slices", choices=("frame", "arrays"), default="frame")
    parser.add_argument("--files", type=int, default=6, help="so many of them, a multiple of the number of workers")
    args = parser.parse_args()
    random, workers = np.random.default_rng(7), max(args.workers, 1)
    torch.set_num_threads(1)
    files = parquet_files.make(args.set)
    data = Events(files, args.slices)
    events = [len(spans["first"]) for spans in data.spans]
    numbers = random.permutation(len(files.paths))[: args.files]
    order = dealt(numbers, events, args.batch_size, workers, random)
    first_files = 0 if len(numbers) <= workers else sum(events[number] for number in numbers[:workers])
    seen, counted, started, ended = 0, 0, time.perf_counter(), 0.0
    for batch in DataLoader(data, batch_sampler=order, num_workers=args.workers, collate_fn=collate):
        ended = time.perf_counter()
        seen += len(batch["zenith"])
        if seen <= first_files:  # workers start, and the page cache of code is filled: neither is counted
            started, counted = ended, 0
        else:
            counted += len(batch["zenith"])
    if seen != sum(events[number] for number in numbers):
        raise SystemExit(f"{seen} events were delivered")
    print(json.dumps({"rows_per_s": counted / (ended - started), "seconds": ended - started}))


if __name__ == "__main__":
    main()
