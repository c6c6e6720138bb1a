"""The transformer of examples/jax_lm.py learns a made language on four CPU devices, is stopped, and goes on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="jax is not installed")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jax_lm.py"


def run(devices: int, *words: object) -> str:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    command = [sys.executable, str(EXAMPLE), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def losses(said: str) -> dict[int, float]:
    return {int(step): float(loss) for step, loss in re.findall(r"^step (\d+): loss ([\d.]+)$", said, re.MULTILINE)}


def test_it_learns_stops_and_goes_on(tmp_path: Path) -> None:
    straight = run(4, "--steps", 150)
    assert "1,874 windows of 32 tokens, 58 steps an epoch, 4 devices" in straight
    loss = losses(straight)
    assert loss[1] > 3.0 > 1.2 > loss[150], straight

    checkpoint = ("--checkpoint", tmp_path / "checkpoint.npz")
    run(4, "--steps", 70, *checkpoint)
    rest = run(2, "--steps", 150, *checkpoint)  # on other devices
    assert "step 70: resumed after 384 samples of epoch 1" in rest  # 12 steps of 32
    for step in (100, 150):
        assert losses(rest)[step] == pytest.approx(loss[step], abs=2e-3)
