#!/usr/bin/env python3
"""Batches of token windows by Grain, as its users write them. Prints one JSON object.

Usage: grain_tokens.py [--tokens 200000000] [--length 1024] [--batch-size 512] [--batches 60] [--read-threads 0]

A source that slices a memmap, shuffle, batch, and to_iter_dataset with so many reading threads; no worker processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import grain
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import token_windows


class Windows:
    """Windows of a token file, one token longer than they are apart."""

    def __init__(self, path: Path, length: int) -> None:
        self.data, self.length = np.load(path, mmap_mode="r"), length

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.length

    def __getitem__(self, item: int) -> np.ndarray:
        return self.data[item * self.length : (item + 1) * self.length + 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    numbers = {"tokens": token_windows.TOKENS, "length": 1024, "batch-size": 512, "batches": 60, "read-threads": 0}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    args = parser.parse_args()
    source = Windows(token_windows.make(args.tokens), args.length)
    options = grain.ReadOptions(num_threads=args.read_threads, prefetch_buffer_size=100 if args.read_threads else 0)
    batches = iter(grain.MapDataset.source(source).shuffle(seed=7).batch(args.batch_size).to_iter_dataset(options))
    next(batches)
    started = time.perf_counter()
    for _ in range(args.batches):
        if next(batches).shape != (args.batch_size, args.length + 1):
            raise SystemExit("a batch of another shape")
    seconds = time.perf_counter() - started
    windows = args.batches * args.batch_size
    rates = {"rows_per_s": windows / seconds, "tokens_per_s": windows * args.length / seconds}
    print(json.dumps({**rates, "seconds": seconds}))


if __name__ == "__main__":
    main()
