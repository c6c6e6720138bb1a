#!/usr/bin/env python3
"""torch DataLoader over h5py, contiguous slices of a batch's size in random order. Prints one JSON object.

The usual advice followed to the end: automatic batching off, a sampler of whole slices that start on chunk borders,
handles opened once per worker and kept, `read_direct` into fresh arrays, `torch.from_numpy` without a copy, persistent
workers, and a chunk cache that a slice does not have to pass through.
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
PARTICLES, SENTINEL = 128, -999.0


def dense(triangles: torch.Tensor) -> torch.Tensor:
    """Make symmetric matrices of triangles (rows, pairs), padding as 0, by one gather through a table of places."""
    places = torch.zeros((PARTICLES, PARTICLES), dtype=torch.int64)
    upper = torch.triu_indices(PARTICLES, PARTICLES, 1)
    places[upper[0], upper[1]] = places[upper[1], upper[0]] = torch.arange(1, upper.shape[1] + 1)
    values = torch.nn.functional.pad(triangles.masked_fill(triangles == SENTINEL, 0), (1, 0))  # the diagonal is 0
    return values.index_select(1, places.flatten()).view(-1, PARTICLES, PARTICLES)


class Slices(Dataset[dict[str, torch.Tensor]]):
    """Item i is the i-th contiguous slice of `size` rows; slices do not cross files."""

    def __init__(self, files: list[str], size: int, cache_bytes: int, dense: bool) -> None:
        self.files = files
        self.dense = dense
        self.cache_bytes = cache_bytes
        self.slices: list[tuple[int, int, int]] = []
        for index, name in enumerate(files):
            with h5py.File(name, "r") as file:
                rows = int(file[FIELDS["y"]].shape[0])
            self.slices += [(index, start, min(start + size, rows)) for start in range(0, rows, size)]
        self.handles: dict[int, dict[str, h5py.Dataset]] = {}

    def __len__(self) -> int:
        return len(self.slices)

    def datasets(self, index: int) -> dict[str, h5py.Dataset]:
        """The open datasets of a file, opened at first use in this process."""
        if index not in self.handles:
            file = h5py.File(self.files[index], "r", rdcc_nbytes=self.cache_bytes)
            self.handles[index] = {name: file[path] for name, path in FIELDS.items()}
        return self.handles[index]

    def __getitem__(self, item: int) -> dict[str, torch.Tensor]:
        index, start, stop = self.slices[item]
        batch = {}
        for name, dataset in self.datasets(index).items():
            rows = np.empty((stop - start, *dataset.shape[1:]), dataset.dtype)
            dataset.read_direct(rows, np.s_[start:stop])
            batch[name] = torch.from_numpy(rows)
        if self.dense:
            batch["adj"] = dense(batch["adj"])
        return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--cache-mib", type=int, default=0, help="h5py's chunk cache a dataset (rdcc_nbytes)")
    parser.add_argument("--dense", action="store_true", help="adjacency as dense matrices")
    parser.add_argument("--seconds", type=float, default=6.0, help="stop after so long, or after one epoch")
    args = parser.parse_args()

    torch.manual_seed(7)
    data = Slices(args.files, args.batch_size, args.cache_mib << 20, args.dense)
    loader = DataLoader(
        data, batch_size=None, shuffle=True, num_workers=args.workers, persistent_workers=args.workers > 0
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
