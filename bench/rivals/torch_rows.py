#!/usr/bin/env python3
"""torch DataLoader over h5py, a row at a time, shuffled: the code of most tutorials. Prints one JSON object.

At its best: dataset handles kept open per worker, a chunk cache of 64 MiB a dataset, persistent workers. The rate is
that of a share of an epoch, in small batches, so that batches already under way when the clock starts weigh little.
"""

from __future__ import annotations

import argparse
import json
import time

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}


class Rows(Dataset[dict[str, torch.Tensor]]):
    """Item i is row i over all files."""

    def __init__(self, files: list[str], cache_bytes: int) -> None:
        self.files = files
        self.cache_bytes = cache_bytes
        counts = []
        for name in files:
            with h5py.File(name, "r") as file:
                counts.append(int(file[FIELDS["y"]].shape[0]))
        self.ends = np.cumsum(counts)
        self.handles: dict[int, dict[str, h5py.Dataset]] = {}

    def __len__(self) -> int:
        return int(self.ends[-1])

    def datasets(self, index: int) -> dict[str, h5py.Dataset]:
        """The open datasets of a file, opened at first use in this process."""
        if index not in self.handles:
            file = h5py.File(self.files[index], "r", rdcc_nbytes=self.cache_bytes)
            self.handles[index] = {name: file[path] for name, path in FIELDS.items()}
        return self.handles[index]

    def __getitem__(self, item: int) -> dict[str, torch.Tensor]:
        index = int(np.searchsorted(self.ends, item, side="right"))
        row = item - (int(self.ends[index - 1]) if index > 0 else 0)
        return {name: torch.as_tensor(dataset[row]) for name, dataset in self.datasets(index).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--cache-mib", type=int, default=64, help="h5py's chunk cache a dataset (rdcc_nbytes)")
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()

    torch.manual_seed(7)
    loader = DataLoader(
        Rows(args.files, args.cache_mib << 20),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        persistent_workers=args.workers > 0,
    )
    rows, started = 0, None
    for batch in loader:
        now = time.perf_counter()
        if started is None:  # workers have started and handles are open: neither is counted
            started = now
            continue
        rows += len(batch["y"])
        if now - started > args.seconds:
            break
    seconds = time.perf_counter() - (started or 0.0)
    print(json.dumps({"rows": rows, "seconds": seconds, "rows_per_s": rows / seconds, "workers": args.workers}))


if __name__ == "__main__":
    main()
