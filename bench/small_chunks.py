#!/usr/bin/env python3
"""Seconds to read rows that lie in chunks of one row each, as appended files have them. Prints one JSON object.

small_chunks.py [--rows 100000] [--dtype f4]

read_seconds   all rows at once, dataset[:], the file opened before
epoch_seconds  a block-shuffled epoch without a cache, from before the loader is made
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import common
import h5py
import numpy as np

import headrace as hr


def make(rows: int, dtype: str) -> Path:
    """The file, made once: field "y" without any filter, every value the number of its row, modulo its type."""
    path = common.data_dir() / f"one_row_chunks_{dtype}_{rows}.h5"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with h5py.File(partial, "w", libver=("earliest", "v110")) as file:
        y = file.create_dataset("y", (rows,), dtype, chunks=(1,), maxshape=(None,))
        for row, value in enumerate(np.arange(rows).astype(dtype)):
            y.id.write_direct_chunk((row,), value.tobytes())
    partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dtype", default="f4")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    data = hr.open(make(args.rows, args.dtype))
    expected = np.arange(args.rows).astype(args.dtype)
    started = time.perf_counter()
    values = data[:]["y"]
    read_seconds = time.perf_counter() - started
    started = time.perf_counter()
    with hr.Loader(data, 512, shuffle=True, seed=7, memory="1GiB", threads=args.threads, cache="none") as loader:
        delivered = np.concatenate([batch["y"] for batch in loader])
    epoch_seconds = time.perf_counter() - started
    if not np.array_equal(values, expected) or not np.array_equal(np.sort(delivered), np.sort(expected)):
        raise SystemExit("other rows than were written")
    print(json.dumps({"rows": args.rows, "read_seconds": read_seconds, "epoch_seconds": epoch_seconds}))


if __name__ == "__main__":
    main()
