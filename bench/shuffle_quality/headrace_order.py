"""Headrace's own order: HDF5 files with the number of each row, read by a `Loader`; what it delivers is the order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from experiment import Rows, World

import headrace as hr

LEAST_BLOCK_BYTES = 256 << 10  # of smaller chunks Headrace makes blocks of several


@dataclass(frozen=True)
class Delivered:
    order: Rows
    mix: str  # as loader.explain() names it
    rows_in_memory: int  # places for rows in the window, and two batches with the caller
    read_amplification: float
    reported: dict[str, Any]  # loader.order_report()


def write_files(folder: Path, world: World, block: int) -> None:
    """`row`, and a payload in chunks of `block` rows that makes a chunk a block. It is never written: it reads as 0."""
    folder.mkdir(parents=True, exist_ok=True)
    payload_bytes = -(-LEAST_BLOCK_BYTES // block)
    for file in range(world.files):
        with h5py.File(folder / f"part_{file:03d}.h5", "w") as h5:
            h5["row"] = np.arange(file * world.rows_per_file, (file + 1) * world.rows_per_file)
            shape = (world.rows_per_file, payload_bytes)
            h5.create_dataset("payload", shape, np.uint8, chunks=(block, payload_bytes), compression="gzip")


def deliver(folder: Path, block: int, seed: int, batch: int, mix: tuple[int, int] | None) -> Delivered:
    """One epoch of batches. `mix`: streams and blocks a pool; None: what Headrace chooses."""
    with hr.open(str(folder / "part_*.h5"), fields=["row", "payload"]) as data:
        shape = None if mix is None else hr.ShuffleShape(*mix)
        with hr.Loader(data, batch, shuffle=True, seed=seed, shuffle_buffer=shape, memory="4GiB") as loader:
            explained = loader.explain().splitlines()
            blocks = next(line for line in explained if line.startswith("blocks"))
            if f" {block} rows" not in blocks:
                raise RuntimeError(f"Headrace's blocks are not the chunks: {blocks}")
            mixed = next(line for line in explained if line.startswith("order")).split(":")[1].strip()
            reported = loader.order_report().to_dict()
            order = np.concatenate([rows["row"].copy() for rows in loader])
            report = loader.report()
    return Delivered(order, mixed, report.memory.slots * batch, report.read_amplification, reported)
