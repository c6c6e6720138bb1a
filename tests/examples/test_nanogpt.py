"""The GPT of examples/nanogpt.py learns a made language, from each kind of files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "nanogpt.py"
KINDS = 24


def made_tokens(number: int) -> np.ndarray:
    """Each token is followed by one of two others: about ln 2 nats are left to one who knows which."""
    random = np.random.default_rng(1)
    followers = random.integers(0, KINDS, (KINDS, 2))
    tokens = np.zeros(number, np.uint16)
    for i, side in enumerate(random.integers(0, 2, number - 1), start=1):
        tokens[i] = followers[tokens[i - 1], side]
    return tokens


@pytest.mark.parametrize("kind", ["npy", "bin", "hdf5"])
def test_a_small_gpt_learns(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    parts = np.split(made_tokens(30_000), [17_001])
    for number, tokens in enumerate(parts):
        if kind == "npy":
            np.save(tmp_path / f"corpus_{number}.npy", tokens)
        elif kind == "bin":
            tokens.tofile(tmp_path / f"corpus_{number}.bin")
        else:
            with h5py.File(tmp_path / f"corpus_{number}.h5", "w") as file:
                file.create_dataset("ids", data=tokens, chunks=(1024,), compression="gzip")
                file.create_dataset("document", data=np.zeros(len(tokens), np.int32))
    words = ["--vocabulary", str(KINDS), "--context", "16", "--steps", "150", "--layers", "1", "--width", "32"]
    words += ["--field", "ids"] if kind == "hdf5" else []
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "corpus_*"), *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^1,686 windows of 16 tokens; 186 held out$", done.stdout, re.MULTILINE), done.stdout
    before, after = (float(n) for n in re.findall(r"validation loss ([\d.]+)", done.stdout))
    assert before > 3.0 > 1.6 > after, done.stdout
