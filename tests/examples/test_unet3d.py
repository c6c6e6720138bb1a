"""The network of examples/unet3d.py learns to find balls, out of Zarr stores and out of HDF5 files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "unet3d.py"
SHAPE = (48, 56, 64)


def balls(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return grey values with brighter balls in them, and where these are."""
    random = np.random.default_rng(number)
    at = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), -1)
    label = np.zeros(SHAPE, np.uint8)
    for _ in range(12):
        centre, radius = random.uniform(0, SHAPE), random.uniform(5, 9)
        label |= (np.square(at - centre).sum(-1) < radius**2).astype(np.uint8)
    raw = random.normal(100, 20, SHAPE) + 60 * label
    return raw.clip(0, 255).astype(np.uint8), label


@pytest.mark.parametrize("kind", ["zarr", "h5"])
def test_balls_are_found(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    for number in range(3):
        raw, label = balls(number)
        path = tmp_path / f"crop_{number}.{kind}"
        if kind == "zarr":
            zarr = pytest.importorskip("zarr", reason="zarr is not installed")
            root = zarr.open_group(path, mode="w", zarr_format=2 + number % 2)
            make = root.create_array
        else:
            make = None
        for name, values in (("em/s0", raw), ("labels/mito/s0", label)):
            if make is not None:
                make(name, shape=SHAPE, chunks=(16, 16, 16), dtype="u1")[:] = values
            else:
                with h5py.File(path, "a") as file:
                    file.create_dataset(name, data=values, chunks=(16, 16, 16), compression="gzip")
    command = [sys.executable, str(EXAMPLE), str(tmp_path), "--patch", "24", "--steps", "40", "--width", "8"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"2 volumes to train on, {3 * 3 * 2} patches of crop_2.{kind} held out" in done.stdout
    found = re.search(r"overlap ([0-9.]+)", done.stdout)
    assert found is not None and float(found[1]) > 0.6, done.stdout
