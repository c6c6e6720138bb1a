#!/usr/bin/env python3
"""Measure what a global jax.Array costs the thread that trains. Prints one JSON object.

Usage: jax_batches.py [--tokens 200000000] [--length 1024] [--batch-size 512] [--steps 100] [--rounds 7]

ratio      median time of a step that takes a batch of int32 windows of headrace.jax.Loader, over one that hands JAX a
           NumPy batch that is ready; both as arrays divided over two CPU devices, in alternating rounds
step_us    that median, beside ready_us

Before each step the thread sleeps for --pause-ms, as a device would compute: what is measured is the call, not loading.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import numpy as np
import token_windows
from jax.sharding import NamedSharding, PartitionSpec

import headrace as hr
from headrace.jax import Loader


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = {"tokens": token_windows.TOKENS, "length": 1024, "batch-size": 512, "steps": 100, "rounds": 7}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--pause-ms", type=float, default=3.0)
    args = parser.parse_args()
    sharding = NamedSharding(jax.make_mesh((2,), ("data",)), PartitionSpec("data"))
    windows = hr.open(token_windows.make(args.tokens)).windows(args.length)
    (field,) = windows.fields
    loader = Loader(
        windows.map(hr.transforms.Cast(field, "int32")),
        args.batch_size,
        sharding=sharding,
        shuffle=True,
        threads=1,
        num_epochs=None,
    )
    batches = iter(loader)
    random = np.random.default_rng(0)
    shape = (args.batch_size, args.length)
    ready = [random.integers(0, 50_000, shape, np.int32) for _ in range(16)]

    def seconds_of(take: Any) -> float:
        steps = []
        for number in range(args.steps):
            time.sleep(args.pause_ms / 1e3)
            began = time.perf_counter()
            array = take(number)
            array.block_until_ready()
            steps.append(time.perf_counter() - began)
            if array.shape != shape:
                raise SystemExit(f"a batch of shape {array.shape}")
        return statistics.median(steps)

    def loaded(_: int) -> jax.Array:
        return next(batches)[field]

    def handed(number: int) -> jax.Array:
        return jax.device_put(ready[number % len(ready)], sharding)

    seconds_of(loaded), seconds_of(handed)
    pairs = [(seconds_of(loaded), seconds_of(handed)) for _ in range(args.rounds)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    told = {"ratio": statistics.median(a / b for a, b in pairs), "step_us": 1e6 * ours, "ready_us": 1e6 * theirs}
    print(json.dumps({**told, "seconds": ours}))


if __name__ == "__main__":
    main()
