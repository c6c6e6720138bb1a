#!/usr/bin/env python3
"""Transforms on one core against what their users write, in alternating rounds. Prints one JSON object with medians.

Usage: transforms.py mel|pair_features [--rounds 3]

mel             samples of 128 bytes with SpecAugment, exactly shuffled, from memory
    per_core        samples a second of processor time, all threads counted
    over_gather     the same over NumPy's bare gather of as many rows
pair_features   512 jets of 128 particles
    over_torch      PairFeatures over vectorised torch on one thread, by processor time
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import headrace as hr
from headrace import transforms

Rates = dict[str, list[float]]
P = 128


def alternate(contestants: dict[str, Callable[[], float]], rounds: int) -> Rates:
    """Rates of each, in turns; a first round does not count."""
    rates: Rates = {name: [] for name in contestants}
    for number in range(rounds + 1):
        names = list(contestants) if number % 2 else list(contestants)[::-1]
        for name in names:
            rate = contestants[name]()
            if number:
                rates[name].append(rate)
    return rates


def median_ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def mel(rounds: int) -> dict[str, float]:
    rows = 1_000_000
    values = np.random.default_rng(0).normal(size=(rows, 8, 4)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "mel.npy", values)
        data = hr.open(Path(folder) / "mel.npy", fields={"mel": ""}).map(
            transforms.SpecAugment("mel", time=2, freq=3, seed=3)
        )
        random = np.random.default_rng(1)

        def headrace() -> float:
            with hr.Loader(data, batch_size=5632, shuffle="exact", threads=1, cache="ram") as loader:
                loader.preload()
                cpu = time.process_time()
                count = sum(len(batch["mel"]) for _ in range(5) for batch in loader)
            return count / (time.process_time() - cpu)

        def gather() -> float:
            order = random.permutation(rows)
            began = time.process_time()
            for first in range(0, rows, 5632):
                values[order[first : first + 5632]]
            return rows / (time.process_time() - began)

        rates = alternate({"headrace": headrace, "gather": gather}, rounds)
    return {
        "per_core": statistics.median(rates["headrace"]),
        "over_gather": median_ratio(rates["headrace"], rates["gather"]),
    }


def pair_features(rounds: int) -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    momentum = random.normal(size=(512, P, 3)).astype(np.float32) * 20
    vectors = np.concatenate([momentum, np.sqrt((momentum**2).sum(-1, keepdims=True) + 1)], axis=-1)

    def torch_features() -> float:
        began = time.process_time()
        px, py, pz, e = torch.from_numpy(vectors).unbind(-1)
        pt, phi = torch.hypot(px, py), torch.atan2(py, px)
        rapidity = 0.5 * torch.log(1 + 2 * pz / (e - pz).clamp(min=1e-20))
        along = rapidity[:, :, None] - rapidity[:, None]
        around = (phi[:, :, None] - phi[:, None] + torch.pi) % (2 * torch.pi) - torch.pi
        delta = torch.sqrt(along**2 + around**2)
        softer = torch.minimum(pt[:, :, None], pt[:, None])
        share = softer / (pt[:, :, None] + pt[:, None]).clamp(min=1e-8)
        total = [v[:, :, None] + v[:, None] for v in (px, py, pz, e)]
        mass = total[3] ** 2 - total[0] ** 2 - total[1] ** 2 - total[2] ** 2
        torch.stack([v.clamp(min=1e-8).log() for v in (softer * delta, share, delta, mass)], dim=-1)
        return 512 / (time.process_time() - began)

    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "p4.npy", vectors)
        data = hr.open(Path(folder) / "p4.npy", fields={"p4": ""}).map(transforms.PairFeatures("p4"))

        def headrace() -> float:
            began = time.process_time()
            data[:]
            return 512 / (time.process_time() - began)

        rates = alternate({"headrace": headrace, "torch": torch_features}, rounds)
    return {"over_torch": median_ratio(rates["headrace"], rates["torch"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mel", "pair_features"))
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps({"mel": mel, "pair_features": pair_features}[args.what](args.rounds)))


if __name__ == "__main__":
    main()
