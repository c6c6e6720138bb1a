#!/usr/bin/env python3
"""torch DataLoader over h5py with an LRU of decoded chunks in every worker: a recipe for large chunks that goes round.

At its best: handles kept open per worker, a chunk read whole by `read_direct` past HDF5's own cache, rows handed out as
views, persistent workers. `--group` is what the recipe does not have: a batch fetched at once (`__getitems__`), so that
each of its chunks is looked up once and its rows are gathered together.

Orders: `random` is DataLoader's shuffle=True. `windowed` shuffles the chunks, cuts them into groups as large as the
cache and shuffles inside a group, so that no chunk is decoded twice in a worker. The first batches (workers start,
caches fill up) are not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import OrderedDict
from typing import Any

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
Sample = dict[str, torch.Tensor]


class CachedChunks(Dataset[Sample]):
    """Item i is row i of one file."""

    def __init__(self, file: str, chunk_rows: int, cached: int) -> None:
        self.file, self.chunk_rows, self.cached = file, chunk_rows, cached
        with h5py.File(file, "r") as opened:
            self.rows = int(opened[FIELDS["y"]].shape[0])
        self.datasets: dict[str, h5py.Dataset] = {}
        self.chunks: OrderedDict[int, Sample] = OrderedDict()

    def __len__(self) -> int:
        return self.rows

    def chunk(self, index: int) -> Sample:
        """A decoded chunk: from the cache, or read now in place of the one used longest ago."""
        if index in self.chunks:
            self.chunks.move_to_end(index)
            return self.chunks[index]
        if not self.datasets:  # opened at first use in this process
            opened = h5py.File(self.file, "r", rdcc_nbytes=0)
            self.datasets = {name: opened[path] for name, path in FIELDS.items()}
        if len(self.chunks) >= self.cached:
            self.chunks.popitem(last=False)
        start, stop = index * self.chunk_rows, min((index + 1) * self.chunk_rows, self.rows)
        decoded = {}
        for name, dataset in self.datasets.items():
            values = np.empty((stop - start, *dataset.shape[1:]), dataset.dtype)
            dataset.read_direct(values, np.s_[start:stop])
            decoded[name] = torch.from_numpy(values)
        self.chunks[index] = decoded
        return decoded

    def __getitem__(self, row: int) -> Sample:
        chunk, at = divmod(row, self.chunk_rows)
        return {name: values[at] for name, values in self.chunk(chunk).items()}


class GroupedChunks(CachedChunks):
    """A batch at once: cached chunks first, then each other chunk once. Rows of a batch lie chunk by chunk in it."""

    def __getitems__(self, rows: list[int]) -> Sample:
        wanted = np.sort(np.asarray(rows))
        indices, starts = np.unique(wanted // self.chunk_rows, return_index=True)
        spans = list(zip(indices.tolist(), starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True))
        batch: dict[str, np.ndarray] = {}
        for index, start, stop in sorted(spans, key=lambda span: span[0] not in self.chunks):
            at = wanted[start:stop] - index * self.chunk_rows
            for name, tensor in self.chunk(index).items():
                values = tensor.numpy()
                if name not in batch:
                    batch[name] = np.empty((len(rows), *values.shape[1:]), values.dtype)
                np.take(values, at, axis=0, out=batch[name][start:stop], mode="clip")
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def windowed(rows: int, chunk_rows: int, chunks: int) -> list[int]:
    """Row numbers that stay inside so many chunks at a time."""
    random = np.random.default_rng(7)
    starts = random.permutation(np.arange(0, rows, chunk_rows))
    groups = [starts[at : at + chunks] for at in range(0, len(starts), chunks)]
    runs = [np.concatenate([np.arange(s, min(s + chunk_rows, rows)) for s in group]) for group in groups]
    order: list[int] = np.concatenate([random.permutation(run) for run in runs]).tolist()
    return order


def as_it_is(batch: Sample) -> Sample:
    return batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="one file")
    parser.add_argument("--order", choices=["random", "windowed"], default="random")
    parser.add_argument("--group", action="store_true", help="fetch a batch at once")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--chunk-rows", type=int, default=1024)
    parser.add_argument("--chunks", type=int, default=10, help="in a worker's cache")
    parser.add_argument("--skip", type=int, default=1, help="batches that are not counted")
    parser.add_argument("--seconds", type=float, default=10.0, help="stop after so long, or after one epoch")
    parser.add_argument("--rows", type=int, default=1 << 40, help="or after so many rows")
    args = parser.parse_args()

    torch.manual_seed(7)
    data = (GroupedChunks if args.group else CachedChunks)(args.file, args.chunk_rows, args.chunks)
    options: dict[str, Any] = {"shuffle": True}
    if args.order == "windowed":
        options = {"sampler": windowed(len(data), args.chunk_rows, args.chunks)}
    if args.group:
        options["collate_fn"] = as_it_is
    workers = {"num_workers": args.workers, "persistent_workers": args.workers > 0}
    loader = DataLoader(data, args.batch_size, **options, **workers)
    rows, started = 0, 0.0
    for number, batch in enumerate(loader, start=1):
        if number <= args.skip:
            started = time.perf_counter()
            continue
        rows += len(batch["y"])
        if time.perf_counter() - started > args.seconds or rows >= args.rows:
            break
    seconds = time.perf_counter() - started
    print(json.dumps({"rows": rows, "seconds": seconds, "rows_per_s": rows / seconds, "workers": args.workers}))


if __name__ == "__main__":
    main()
