"""Small files that every test can read, and helpers to write others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

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


@pytest.fixture(scope="session")
def jets(tmp_path_factory: pytest.TempPathFactory) -> Jets:
    folder = tmp_path_factory.mktemp("jets")
    random = np.random.default_rng(1)
    total = sum(ROWS)
    x = random.normal(size=(total, 8, 4)).astype(np.float32)
    adj = random.normal(size=(total, 10)).astype(np.float32)
    y = np.arange(total, dtype=np.int64)  # the row's number: a batch tells which rows it has
    first = 0
    paths = []
    for i, rows in enumerate(ROWS):
        part = slice(first, first + rows)
        arrays = {
            "feature_matrix": (x[part], {"chunks": (64, 8, 4), "compression": "gzip", "compression_opts": 4}),
            "adjacency_matrix": (adj[part], {"chunks": (50, 10), "compression": "gzip", "shuffle": True}),
            "labels": y[part],
        }
        path = write_h5(folder / f"train_{i}.h5", **arrays)
        with h5py.File(path, "a") as file:
            file["feature_matrix"].attrs["unit"] = "GeV"
        paths.append(path)
        first += rows
    return Jets(paths, str(folder / "train_*.h5"), x, adj, y)


@pytest.fixture
def run_python(jets: Jets, tmp_path: Path):
    """Run a script in an interpreter of its own, with ``PATHS`` as the jets' glob; its stdout, or an error."""

    def run(script: str, *, timeout: float = 120, status: int = 0) -> subprocess.CompletedProcess[str]:
        source = f"import headrace as hr\nPATHS = {jets.glob!r}\n" + textwrap.dedent(script)
        file = tmp_path / "script.py"
        file.write_text(source)
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(file)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
