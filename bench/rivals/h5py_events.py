#!/usr/bin/env python3
"""torch DataLoader over h5py, a slice an event, with a collate function. Prints one JSON object.

Usage: h5py_events.py [--rows 40000000] [--batch-size 512] [--workers 0] [--seconds 10] [--cache-mib 1]

The offsets of the events are known, handles are opened once per worker and kept, and workers persist. h5py's chunk
cache is as it comes, 1 MiB a column; with --cache-mib 64 it holds a whole file's, so that no chunk is decoded twice.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import event_samples

Event = dict[str, np.ndarray]


class Events(Dataset[Event]):
    def __init__(self, files: list[str], cache_bytes: int) -> None:
        self.files = files
        self.cache_bytes = cache_bytes
        self.offsets = []
        for name in files:
            with h5py.File(name) as file:
                self.offsets.append(file["event_offsets"][:])
        self.ends = np.cumsum([len(offsets) - 1 for offsets in self.offsets])
        self.handles: dict[int, dict[str, h5py.Dataset]] = {}

    def __len__(self) -> int:
        return int(self.ends[-1])

    def columns(self, index: int) -> dict[str, h5py.Dataset]:
        """The open datasets of a file, opened at first use in this process."""
        if index not in self.handles:
            file = h5py.File(self.files[index], rdcc_nbytes=self.cache_bytes, rdcc_nslots=10_007)
            self.handles[index] = {name: file[name] for name in event_samples.FIELDS}
        return self.handles[index]

    def __getitem__(self, item: int) -> Event:
        index = int(np.searchsorted(self.ends, item, side="right"))
        event = item - (int(self.ends[index - 1]) if index else 0)
        first, end = self.offsets[index][event : event + 2]
        return {name: column[first:end] for name, column in self.columns(index).items()}


def collate(events: list[Event]) -> dict[str, torch.Tensor]:
    batch = {name: torch.from_numpy(np.concatenate([event[name] for event in events])) for name in events[0]}
    batch["offsets"] = torch.from_numpy(np.cumsum([0] + [len(event["time"]) for event in events]))
    return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=event_samples.ROWS)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="stop after so long, or after one epoch")
    parser.add_argument("--cache-mib", type=int, default=1, help="h5py's chunk cache a column (rdcc_nbytes)")
    args = parser.parse_args()
    torch.manual_seed(7)
    data = Events(event_samples.make(args.rows), args.cache_mib << 20)
    loader = DataLoader(
        data,
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        persistent_workers=args.workers > 0,
        collate_fn=collate,
    )
    rows, started, seconds = 0, None, 0.0
    for batch in loader:
        now = time.perf_counter()
        if started is None:  # workers have started and handles are open: neither is counted
            started = now
            continue
        rows, seconds = rows + len(batch["time"]), now - started
        if seconds > args.seconds:
            break
    print(json.dumps({"rows_per_s": rows / seconds, "seconds": seconds, "workers": args.workers}))


if __name__ == "__main__":
    main()
