#!/usr/bin/env python3
"""torch DataLoader without workers, over a batch that is always ready: what its own code costs.

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset

Batch = dict[str, torch.Tensor]


class Ready(IterableDataset[Batch]):
    """The same batch of the workload's three fields, without end."""

    def __iter__(self) -> Iterator[Batch]:
        batch = {"x": torch.zeros(512, 128, 16), "adj": torch.zeros(512, 8128), "y": torch.zeros(512)}
        while True:
            yield batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="not read")
    parser.add_argument("--pauses", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.1)
    args = parser.parse_args()

    iterator = iter(DataLoader(Ready(), batch_size=None))
    cold_us, warm_us = [], []
    for _ in range(args.pauses):
        until = time.perf_counter() + args.pause
        while time.perf_counter() < until:
            pass
        for nth in range(4):
            before = time.thread_time_ns()
            next(iterator)
            (warm_us if nth else cold_us).append((time.thread_time_ns() - before) / 1000.0)
    print(json.dumps({"median_us": statistics.median(warm_us), "cold_median_us": statistics.median(cold_us)}))


if __name__ == "__main__":
    main()
