"""The network of examples/icecube.py learns directions, from padded and from ragged batches."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "icecube.py"
SENSORS = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Light that passes the detector as a plane wave: a pulse's time is its sensor's place along the direction."""
    at = tmp_path_factory.mktemp("icecube")
    random = np.random.default_rng(3)
    xyz = random.uniform(-500, 500, (SENSORS, 3))
    lines = [f"{i},{x:.2f},{y:.2f},{z:.2f}" for i, (x, y, z) in enumerate(xyz)]
    (at / "sensor_geometry.csv").write_text("\n".join(["sensor_id,x,y,z", *lines]) + "\n")
    (at / "train").mkdir()
    meta = []
    for batch in (1, 2, 10):
        azimuth, zenith = random.uniform(0, 2 * np.pi, 400), np.arccos(random.uniform(-1, 1, 400))
        length = np.minimum(8 + random.pareto(1.5, 400) * 20, 2000).astype(int)
        end = np.cumsum(length)
        direction = np.stack([np.cos(azimuth) * np.sin(zenith), np.sin(azimuth) * np.sin(zenith), np.cos(zenith)], -1)
        sensor = random.integers(0, SENSORS, end[-1])
        along = (xyz[sensor] * np.repeat(direction, length, 0)).sum(-1)
        pulses = {
            "sensor_id": sensor.astype("i2"),
            "time": (10_000 - 6 * along + random.normal(0, 50, end[-1])).astype("i8"),
            "charge": random.exponential(1, end[-1]),
            "auxiliary": random.random(end[-1]) < 0.3,
            "event_id": np.repeat(1000 * batch + np.arange(400), length),
        }
        pq.write_table(pa.table(pulses), at / "train" / f"batch_{batch}.parquet", row_group_size=5000)
        meta.append([np.full(400, batch), 1000 * batch + np.arange(400), end - length, end - 1, azimuth, zenith])
    names = ["batch_id", "event_id", "first_pulse_index", "last_pulse_index", "azimuth", "zenith"]
    table = pa.table(dict(zip(names, map(np.concatenate, zip(*meta, strict=True)), strict=True)))
    pq.write_table(table, at / "train_meta.parquet")
    return at


@pytest.mark.parametrize("layout", ["padded", "ragged"])
def test_directions_are_learnt(layout: str, folder: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    command = [sys.executable, str(EXAMPLE), str(folder), "--layout", layout, "--most-pulses", "64", "--steps", "250"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "1,080 events of 3 files; 120 held out" in done.stdout
    before, after = (float(angle) for angle in re.findall(r"validation angle ([0-9.]+)", done.stdout))
    assert before > 1.2  # a guess is off by pi / 2
    assert after < 0.7, done.stdout
