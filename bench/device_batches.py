#!/usr/bin/env python3
"""Measure what a device costs the thread that trains, and what its steps wait. Prints one JSON object.

Usage: device_batches.py cpu [--rows 200000] [--batch-size 512] [--pause-ms 2]
       device_batches.py hand [--rows 200000] [--batch-size 512]
       device_batches.py wait [--rows 1000000] [--batch-size 2048] [--step-ms 10] [--gb-per-s 2]

cpu   cpu_us, own_cpu_us, host_cpu_us
                                processor time of the consumer's thread in next(), a batch of three fields: on a fake
                                device, on one whose calls cost nothing, and without a device; medians, in alternating
                                epochs
hand  cpu_s_per_gb              processor time of all threads for a GB that is handed to a device whose calls cost
                                nothing, beyond that of the same epoch without a device
wait  wait_percent, first_percent
                                share of a step that sleeps for --step-ms in which it waits for its batch, by events of
                                a fake device: epochs after the first, and the first one from its first batch on
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import common
import h5py
import numpy as np
from no_device import no_device

import headrace as hr
from headrace.torch import FakeDevice


def make(rows: int) -> Path:
    """An HDF5 file of three fields of 2 KiB, 40 bytes and 8 bytes a row, left in the page cache."""
    path = common.data_dir() / f"device_{rows}.h5"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        with h5py.File(path.with_suffix(".part"), "w") as file:
            x = file.create_dataset("x", (rows, 128, 4), "f4", chunks=(500, 128, 4))
            for first in range(0, rows, 20_000):
                part = min(20_000, rows - first)
                x[first : first + part] = random.normal(size=(part, 128, 4))
            file["w"] = random.normal(size=(rows, 10)).astype("f4")
            file["y"] = np.arange(rows)
        path.with_suffix(".part").rename(path)
    return path


def loader(args: argparse.Namespace, device: Any) -> hr.Loader:
    return hr.Loader(make(args.rows), args.batch_size, shuffle=True, framework="torch", device=device)


def cpu(args: argparse.Namespace) -> dict[str, float]:
    """A batch is dropped before the next is asked for: giving memory back is not what is measured."""
    devices = {"cpu_us": FakeDevice(args.gb_per_s * 1e9), "own_cpu_us": no_device(), "host_cpu_us": "cpu"}
    loaders = {name: loader(args, device) for name, device in devices.items()}
    spent: dict[str, list[float]] = {name: [] for name in loaders}
    for epoch in range(4):
        for name, each in loaders.items():
            batches = iter(each)
            while True:
                began = time.thread_time()
                batch = next(batches, None)
                took = time.thread_time() - began
                if batch is None:
                    break
                if epoch > 0:
                    spent[name].append(1e6 * took)
                del batch
                time.sleep(args.pause_ms / 1e3)
    return {name: statistics.median(times) for name, times in spent.items()}


def hand(args: argparse.Namespace) -> dict[str, float]:
    """Rows are kept decoded, so that an epoch is little else than handing them over."""
    spent = []
    with loader(args, no_device()) as on_device, loader(args, "cpu") as on_host:
        for epoch in range(8):
            seconds = {}
            for name, each in (("device", on_device), ("host", on_host)):
                num_bytes, began = 0, time.process_time()
                for batch in each:
                    num_bytes += sum(tensor.nbytes for tensor in batch.values())
                    del batch
                seconds[name] = time.process_time() - began
            if epoch > 1:
                spent.append((seconds["device"] - seconds["host"]) / num_bytes * 1e9)
    return {"cpu_s_per_gb": statistics.median(spent)}


def wait(args: argparse.Namespace) -> dict[str, float]:
    shares: list[float] = []
    with loader(args, FakeDevice(args.gb_per_s * 1e9)) as batches:
        waited = stepped = 0.0
        for _ in range(3):
            for batch in batches:
                del batch
                time.sleep(args.step_ms / 1e3)
            copies = batches.report().to_device
            assert copies is not None
            shares.append(100 * (copies.step_wait_seconds - waited) / (copies.step_seconds - stepped))
            waited, stepped = copies.step_wait_seconds, copies.step_seconds
    return {"wait_percent": statistics.median(shares[1:]), "first_percent": shares[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cpu", "hand", "wait"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--pause-ms", type=float, default=2.0)
    parser.add_argument("--step-ms", type=float, default=10.0)
    parser.add_argument("--gb-per-s", type=float, default=2.0)
    args = parser.parse_args()
    rows, batch_size = {"cpu": (200_000, 512), "hand": (200_000, 512), "wait": (1_000_000, 2048)}[args.what]
    args.rows, args.batch_size = args.rows or rows, args.batch_size or batch_size
    print(json.dumps({"cpu": cpu, "hand": hand, "wait": wait}[args.what](args)))


if __name__ == "__main__":
    main()
