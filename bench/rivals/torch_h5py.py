#!/usr/bin/env python3
"""torch DataLoader over h5py, by the code that ``headrace bench --compare`` has: prints one JSON object.

`--read rows` takes a row at a time, `--read slices` contiguous slices of a batch's size in random order, and `--read
lru` rows of whole chunks, of which each worker keeps ten. Only here are three things: slices whose adjacency is made
dense (`--dense`), the recipe of the LRU as it goes round, which gives a batch row by row unless it is told to `--group`
them, and its rows in a wholly random order (`--order random`).

The first batches (workers start, handles are opened, caches fill up) are not counted. The rate is that of a share of an
epoch: rows come in small batches, so that those already under way when the clock starts weigh little.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

import h5py
import torch

from headrace._bench import rivals
from headrace._bench.rivals import CachedUnits, Column, Handles, Rows, Slices, WindowedOrder, data_loader

FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
PARTICLES, SENTINEL = 128, -999.0
BATCH_SIZES = {"rows": 32, "slices": 512, "lru": 512}
SECONDS = {"rows": 4.0, "slices": 6.0, "lru": 10.0}
MEMORY = sys.maxsize  # enough for all the chunks that the recipe keeps


def dense(triangles: torch.Tensor) -> torch.Tensor:
    """Make symmetric matrices of triangles (rows, pairs), padding as 0, by one gather through a table of places."""
    places = torch.zeros((PARTICLES, PARTICLES), dtype=torch.int64)
    upper = torch.triu_indices(PARTICLES, PARTICLES, 1)
    places[upper[0], upper[1]] = places[upper[1], upper[0]] = torch.arange(1, upper.shape[1] + 1)
    values = torch.nn.functional.pad(triangles.masked_fill(triangles == SENTINEL, 0), (1, 0))  # the diagonal is 0
    return values.index_select(1, places.flatten()).view(-1, PARTICLES, PARTICLES)


class DenseSlices(Slices):
    """Slices with adjacency as dense matrices."""

    def __getitem__(self, item: int) -> dict[str, Any]:
        batch = super().__getitem__(item)
        return {**batch, "adj": dense(batch["adj"])}


class TensorHandles(Handles):
    """Handles whose rows are tensors."""

    def read(self, index: int, start: int, end: int) -> dict[str, Any]:
        return {name: torch.from_numpy(values) for name, values in super().read(index, start, end).items()}


class RowByRow(CachedUnits):
    """The cached chunks of one file, whose rows are handed out as views, one by one."""

    __getitems__ = None

    def __init__(self, rows: Rows, kept: int) -> None:
        super().__init__(rows, kept)
        self.handles = TensorHandles(rows, 0)
        self.unit_rows = rows.unit_rows()

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        unit, at = divmod(row, self.unit_rows)
        return {name: values[at] for name, values in self.unit(unit).items()}


def rows_of(files: list[str]) -> Rows:
    """Return the rows of the workload's fields in these files."""
    counts = []
    for name in files:
        with h5py.File(name, "r") as file:
            arrays = {field: file[path] for field, path in FIELDS.items()}
            counts.append((name, len(arrays["y"])))
            columns = tuple(
                Column(field, FIELDS[field], array.dtype.str, array.shape[1:], array.chunks[0] if array.chunks else 1)
                for field, array in arrays.items()
            )
    return Rows(tuple(counts), columns)


def loader_of(rows: Rows, args: argparse.Namespace) -> Iterable[dict[str, torch.Tensor]]:
    """Return the loader that the options say."""
    if args.read == "slices" and args.dense:
        return data_loader(DenseSlices(rows, args.batch_size), args.workers, batch_size=None, shuffle=True)
    if args.read != "lru" or (args.group and args.order == "windowed"):
        start = rivals.RIVALS[f"torch-{args.read}"].start
        return start(rows, args.batch_size, shuffled=True, workers=args.workers, memory=MEMORY)
    kept = rivals.lru_units(rows, args.workers, MEMORY)
    data = CachedUnits(rows, kept) if args.group else RowByRow(rows, kept)
    order = {"shuffle": True} if args.order == "random" else {"sampler": WindowedOrder(data, True)}
    collate = {"collate_fn": rivals.as_it_is} if args.group else {}
    return data_loader(data, args.workers, batch_size=args.batch_size, **order, **collate)


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--read", choices=list(SECONDS), required=True)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch-size", type=int, help="32 for rows, 512 for the others")
    parser.add_argument("--dense", action="store_true", help="of slices: adjacency as dense matrices")
    parser.add_argument("--group", action="store_true", help="of the LRU: fetch a batch at once")
    parser.add_argument("--order", choices=["random", "windowed"], default="random", help="of the LRU")
    parser.add_argument("--skip", type=int, default=1, help="batches that are not counted")
    parser.add_argument("--seconds", type=float, help="stop after so long, or after one epoch")
    parser.add_argument("--rows", type=int, default=sys.maxsize, help="or after so many rows")
    args = parser.parse_args(words)
    if args.read == "lru" and len(args.files) > 1 and not args.group:
        parser.error("row by row, the LRU reads one file")
    args.batch_size = args.batch_size or BATCH_SIZES[args.read]
    args.seconds = args.seconds or SECONDS[args.read]
    return args


def main() -> None:
    args = parsed()
    rows, started = 0, 0.0
    for number, batch in enumerate(loader_of(rows_of(args.files), args), start=1):
        now = time.perf_counter()
        if number <= args.skip:
            started = now
            continue
        rows += len(batch["y"])
        if now - started > args.seconds or rows >= args.rows:
            break
    seconds = time.perf_counter() - started
    print(json.dumps({"rows": rows, "seconds": seconds, "rows_per_s": rows / seconds, "workers": args.workers}))


if __name__ == "__main__":
    main()
