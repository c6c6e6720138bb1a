"""Data of each kind, four times as large as the memory that a training and a validation loader share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

Parts = tuple[hr.Dataset, hr.Dataset]
MEMORY = 3_500_000


def write_rows(folder: Path) -> Parts:
    """48,000 rows of 260 bytes in gzip HDF5."""
    random = np.random.default_rng(1)
    with h5py.File(folder / "rows.h5", "w") as file:
        x = random.integers(0, 9, (48_000, 64)).astype("f4")
        file.create_dataset("x", data=x, chunks=(400, 64), compression=1)
        file.create_dataset("y", data=np.arange(48_000, dtype="i4"), chunks=(400,))
    train, val = hr.open(folder / "rows.h5").split({"train": 0.75, "val": 0.25}, seed=1).values()
    return train, val


def write_events(folder: Path) -> Parts:
    """20,000 events of 0 to 79 pulses of 16 bytes in two Parquet files."""
    random = np.random.default_rng(2)
    for name in ("a", "b"):
        lengths = random.integers(0, 80, 10_000)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        lists = {
            key: pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(random.random(starts[-1])))
            for key in ("time", "charge")
        }
        table = pa.table({**lists, "number": np.arange(10_000)})
        pq.write_table(
            table, folder / f"{name}.parquet", row_group_size=500, data_page_size=20_000, use_dictionary=False
        )
    return hr.open(folder / "a.parquet"), hr.open(folder / "b.parquet")


def write_patches(folder: Path) -> Parts:
    """Patches of 16^3 voxels of two volumes of 8 MB, in gzip chunks of 20^3."""
    random = np.random.default_rng(3)
    parts = []
    for name in ("a", "b"):
        with h5py.File(folder / f"volume_{name}.h5", "w") as file:
            raw = random.integers(0, 9, (160, 160, 160), np.uint16)
            file.create_dataset("raw", data=raw, chunks=(20, 20, 20), compression=1)
        parts.append(hr.open_volume(folder / f"volume_{name}.h5").patches(16, stride=16))
    return parts[0], parts[1]


def write_windows(folder: Path) -> Parts:
    """Windows of 257 out of three million tokens."""
    np.arange(3_000_000, dtype=np.int32).tofile(folder / "tokens.bin")
    windows = hr.open_tokens(folder / "tokens.bin", dtype="int32").windows(256, lookahead=1)
    train, val = windows.split({"train": 0.75, "val": 0.25}, seed=1).values()
    return train, val


#: kind → what writes its files, and options of its loaders
KINDS: dict[str, tuple[Callable[[Path], Parts], dict[str, Any]]] = {
    "rows": (write_rows, {"batch_size": 100, "threads": 1}),
    "events": (write_events, {"batch_size": 64, "layout": "padded", "threads": 1}),
    "patches": (write_patches, {"batch_size": 8, "threads": 1}),
    "windows": (write_windows, {"batch_size": 32, "threads": 1}),
}
