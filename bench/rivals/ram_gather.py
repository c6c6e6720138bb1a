#!/usr/bin/env python3
"""Epochs from arrays in RAM, `x[perm[i:i+B]]` of every field, as their users write them. Prints one JSON object.

index    x[rows] of NumPy
take     x.take(rows, axis=0) of NumPy, which few know to be the faster spelling for short rows
threads  the same as `take`, batches made ahead by a pool of `--threads` threads
torch    x[rows] of torch tensors, with `--threads` threads in the operation
select   torch.index_select, likewise

Every batch is fresh memory, as who keeps it may expect. Reading the files and making the permutation are not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import h5py
import numpy as np
import torch

JETS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
MEL = {"mel": "segments_mel", "y": "labels"}
AHEAD = 4  # batches

Gather = Callable[[Any, Any], Any]
GATHERS: dict[str, Gather] = {
    "index": lambda values, rows: values[rows],
    "take": lambda values, rows: values.take(rows, 0),
    "threads": lambda values, rows: values.take(rows, 0),
    "torch": lambda values, rows: values[rows],
    "select": lambda values, rows: torch.index_select(values, 0, rows),
}


def read(files: list[str], fields: dict[str, str]) -> dict[str, np.ndarray]:
    """All rows of all files, each field as one array."""
    arrays: dict[str, np.ndarray] = {}
    at = 0
    opened = [h5py.File(name, "r") for name in files]
    rows = sum(file[fields["y"]].shape[0] for file in opened)
    for file in opened:
        count = file[fields["y"]].shape[0]
        for name, path in fields.items():
            dataset = file[path]
            arrays.setdefault(name, np.empty((rows, *dataset.shape[1:]), dataset.dtype))
            dataset.read_direct(arrays[name], dest_sel=np.s_[at : at + count])
        at += count
        file.close()
    return arrays


def batches(arrays: dict[str, Any], order: Any, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One epoch."""
    gather = GATHERS[args.how]

    def batch(at: int) -> dict[str, Any]:
        rows = order[at : at + args.batch_size]
        return {name: gather(values, rows) for name, values in arrays.items()}

    starts = range(0, len(order), args.batch_size)
    if args.how != "threads":
        yield from map(batch, starts)
        return
    with ThreadPoolExecutor(args.threads) as pool:
        under_way: deque[Future[dict[str, Any]]] = deque()
        for at in starts:
            under_way.append(pool.submit(batch, at))
            if len(under_way) > AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--how", choices=list(GATHERS), default="index")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=4.0, help="stop after so long, at the end of an epoch")
    parser.add_argument("--mel", action="store_true")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    arrays: dict[str, Any] = dict(read(args.files, MEL if args.mel else JETS))
    tensors = args.how in ("torch", "select")
    if tensors:
        arrays = {name: torch.from_numpy(values) for name, values in arrays.items()}
    random = np.random.default_rng(7)
    count = len(arrays["y"])
    rows, seconds = 0, 0.0
    for epoch in range(1000):
        order: Any = random.permutation(count)
        if tensors:
            order = torch.from_numpy(order)
        started = time.perf_counter()
        got = sum(len(batch["y"]) for batch in batches(arrays, order, args))
        if epoch > 0:  # the first finds the allocator without memory
            rows += got
            seconds += time.perf_counter() - started
        if seconds > args.seconds:
            break
    print(json.dumps({"rows": rows, "seconds": seconds, "rows_per_s": rows / seconds, "how": args.how}))


if __name__ == "__main__":
    main()
