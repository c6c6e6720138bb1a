"""Fixtures of all tests."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pytest
from jet_files import ROWS, Jets, write_h5


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
            [sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning", str(file)],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run
