#!/usr/bin/env python3
"""Measure evaluation by recording, with a small CNN on the CPU. Prints one JSON object.

Usage: grouped_evaluation.py [--recordings 1500] [--max-items 8192] [--threads 2] [--repetitions 3]

Each recording is a file of 79 x 3 mel segments of 32 numbers. The loop opens each file with h5py and calls the model
once for it; Headrace delivers many whole recordings a batch, and GroupReducer brings the rows together again. Both end
in votes, means and maxima of each recording, which have to agree: votes and maxima exactly where logits do (a model on
a larger batch rounds otherwise in its last bits), means to 1e-6. The two take turns; opening is outside for both.

files_per_second        Headrace
loop_files_per_second   one forward a file
ratio                   of the two: medians over the repetitions, all three
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
import torch

import headrace as hr

SEGMENTS, MELS, CLASSES = 79 * 3, 32, 3


def make(recordings: int) -> list[str]:
    folder: Path = common.data_dir() / f"recordings_{recordings}"
    paths = [folder / f"recording_{number:05}.h5" for number in range(recordings)]
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(1)
        for path in paths:
            with h5py.File(path, "w") as file:
                file["mel"] = random.normal(size=(SEGMENTS, MELS)).astype(np.float32)
        (folder / "complete").touch()
    return [str(path) for path in paths]


def small_cnn() -> torch.nn.Module:
    torch.manual_seed(1)
    nn = torch.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, MELS)),
        nn.Conv1d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool1d(2),
        nn.Conv1d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(4),
        nn.Flatten(),
        nn.Linear(32, CLASSES),
    ).eval()


def by_loop(paths: list[str], model: torch.nn.Module) -> dict[str, np.ndarray]:
    """One forward a file, as evaluation scripts have it."""
    votes, means, maxima = [], [], []
    with torch.inference_mode():
        for path in paths:
            with h5py.File(path) as file:
                logits = model(torch.from_numpy(file["mel"][:]))
            votes.append(int(torch.bincount(logits.argmax(1), minlength=CLASSES).argmax()))
            means.append(logits.double().mean(0).numpy())
            maxima.append(logits.max(0).values.numpy())
    return {"vote": np.array(votes), "mean": np.array(means), "max": np.array(maxima)}


def by_groups(loader: hr.Loader, model: torch.nn.Module) -> dict[str, Any]:
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean", "max"])
    with torch.inference_mode():
        for batch in loader:
            reducer.add(batch, model(batch["mel"]))
    return {name: np.asarray(value) for name, value in reducer.result()["file"].items()}


def rate(files: int, run: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = run()
    return files / (time.perf_counter() - started), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recordings", type=int, default=1500)
    parser.add_argument("--max-items", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    paths, model = make(given.recordings), small_cnn()
    ours, theirs = [], []
    with (
        hr.open(paths) as data,
        hr.Loader(
            data, group_by="file", max_items=given.max_items, threads=given.threads, framework="torch", cache="none"
        ) as loader,
    ):
        by_groups(loader, model)  # pages and kernels are warm for both
        for _ in range(given.repetitions):
            speed, want = rate(len(paths), lambda: by_loop(paths, model))
            theirs.append(speed)
            speed, got = rate(len(paths), lambda: by_groups(loader, model))
            ours.append(speed)
            assert np.allclose(got["mean"], want["mean"], rtol=0, atol=1e-6)
            assert np.allclose(got["max"], want["max"], rtol=0, atol=1e-6)
            assert (got["vote"] == want["vote"]).mean() > 0.99
    print(
        json.dumps(
            {
                "recordings": len(paths),
                "files_per_second": statistics.median(ours),
                "loop_files_per_second": statistics.median(theirs),
                "ratio": statistics.median(a / b for a, b in zip(ours, theirs, strict=True)),
                "votes_that_differ": int((got["vote"] != want["vote"]).sum()),
            }
        )
    )


if __name__ == "__main__":
    main()
