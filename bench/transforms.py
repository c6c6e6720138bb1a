#!/usr/bin/env python3
"""Transforms against their limits and against NumPy and torch, in alternating rounds; prints JSON with medians.

python bench/transforms.py [--files "train_*.h5"] [--rounds 7] [--threads 2] [--only dense_jets,pairs,mel,pair_features]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import h5py
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


def told(rates: Rates, over: str) -> dict[str, Any]:
    """Medians, and the first contestant over another, round by round."""
    first = next(iter(rates))
    ratios = [a / b for a, b in zip(rates[first], rates[over], strict=True)]
    medians = {name: round(statistics.median(values)) for name, values in rates.items()}
    return {**medians, f"{first} over {over}": round(statistics.median(ratios), 3), "lowest": round(min(ratios), 3)}


def dense_jets(files: list[str], threads: int, rounds: int) -> dict[str, Any]:
    """Batches of 512 with dense matrices, against decoding and expanding alone, and h5py slices with NumPy."""
    jets = hr.open(files, fields={"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"})
    mapped = jets.map(transforms.SymmetricPairs("adj", sentinel=-999.0))
    limit = [str(common.program("bench_decode_alone")), "--threads", str(threads), "--passes", "1", *files]
    expand = str(common.program("bench_expand_pairs"))
    upper = np.triu_indices(P, 1)

    def headrace() -> float:
        with hr.Loader(mapped, batch_size=512, shuffle=True, threads=threads, cache="none") as loader:
            began = time.perf_counter()  # nothing was read ahead
            rows = sum(len(batch["y"]) for _ in range(3) for batch in loader)
            return rows / (time.perf_counter() - began)

    def decode_and_expand() -> float:
        decoded = float(common.run_json(limit)["rows_per_s"])
        expanded = float(common.run_json([expand, "11"])["jets"][1]["jets_per_s"]) * threads
        return 1 / (1 / decoded + 1 / expanded)

    def slices() -> float:
        began, rows = time.perf_counter(), 0
        for path in files[:2]:
            with h5py.File(path) as file:
                for first in range(0, len(file["labels"]), 512):
                    part = slice(first, first + 512)
                    flat, _, _ = file["adjacency_matrix"][part], file["feature_matrix"][part], file["labels"][part]
                    flat = np.where(flat == -999.0, np.float32(0), flat)
                    dense = np.zeros((len(flat), P, P), np.float32)
                    dense[:, upper[0], upper[1]] = flat
                    dense[:, upper[1], upper[0]] = flat
                    rows += len(dense)
        return rows / (time.perf_counter() - began)

    contestants = {"headrace": headrace, "decode and expand": decode_and_expand, "h5py": slices}
    rates = alternate(contestants, rounds)
    return {"limit": told(rates, "decode and expand"), "h5py": told(rates, "h5py")}


def mel(rounds: int) -> dict[str, Any]:
    """128-byte samples with SpecAugment from memory, one thread, against NumPy's bare gather."""
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
            return count / (time.process_time() - cpu)  # of all threads, also what they read ahead: samples/s a core

        def gather() -> float:
            order = random.permutation(rows)
            began = time.perf_counter()
            for first in range(0, rows, 5632):
                values[order[first : first + 5632]]
            return rows / (time.perf_counter() - began)

        rates = alternate({"headrace": headrace, "NumPy gather": gather}, rounds)
    return told(rates, "NumPy gather")


def pair_features(rounds: int) -> dict[str, Any]:
    """512 jets of 128 particles, one core each, against vectorised torch."""
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
    return told(rates, "torch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="dense_jets,pairs,mel,pair_features")
    args = parser.parse_args()
    wanted = args.only.split(",")
    made: dict[str, Any] = {"load before": os.getloadavg()}
    if "dense_jets" in wanted:
        files = [str(path) for path in sorted(Path(args.files).parent.glob(Path(args.files).name or "-"))]
        if not files:
            sys.exit("dense_jets needs --files: jets as `headrace demo` makes them")
        made["dense_jets"] = dense_jets(files, args.threads, args.rounds)
    if "pairs" in wanted:
        made["pairs"] = common.run_json([str(common.program("bench_expand_pairs"))])
    if "mel" in wanted:
        made["mel"] = mel(args.rounds)
    if "pair_features" in wanted:
        made["pair_features"] = pair_features(args.rounds)
    print(json.dumps({**made, "load after": os.getloadavg()}, indent=1))


if __name__ == "__main__":
    main()
