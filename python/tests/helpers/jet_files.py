"""Small files that every test can read, and a helper to write others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import headrace as hr

ROWS = (300, 256, 77)  # rows of each file: neither a multiple of the chunks nor of each other
FIELDS = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}


def write_h5(path: Path, **arrays: Any) -> Path:
    """Write arrays; a value may be (array, keyword arguments of create_dataset)."""
    with h5py.File(path, "w") as file:
        for name, value in arrays.items():
            array, options = value if isinstance(value, tuple) else (value, {})
            file.create_dataset(name, data=array, **options)
    return path


@dataclass(frozen=True)
class Jets:
    """Three files, and what they hold, put together."""

    paths: list[Path]
    glob: str
    x: np.ndarray
    adj: np.ndarray
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def open(self) -> hr.Dataset:
        return hr.open(self.glob, fields=FIELDS)

    def equals(self, batch: dict[str, np.ndarray], rows: Any) -> bool:
        return all(np.array_equal(batch[name], getattr(self, name)[rows]) for name in FIELDS)
