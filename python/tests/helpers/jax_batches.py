"""What the tests of headrace.jax compare with: the batches of hr.Loader over a small corpus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

# Threads of XLA, before it starts: with fewer, collectives of several CPU devices can wait for each other forever.
os.environ.setdefault("NPROC", "16")

LENGTH, WINDOWS, BATCH = 16, 106, 12
STEPS = WINDOWS // BATCH  # of an epoch, whose rest is dropped


def write_corpus(folder: Path) -> Path:
    """A raw file of WINDOWS windows and one token."""
    path = folder / "corpus.bin"
    np.random.default_rng(0).integers(0, 50_257, WINDOWS * LENGTH + 1).astype(np.uint16).tofile(path)
    return path


def npz(folder: Path, **arrays: Any) -> hr.Dataset:
    np.savez(folder / "arrays.npz", **arrays)
    return hr.open(folder / "arrays.npz")


def expected(dataset: hr.Dataset, epochs: int = 1, **words: Any) -> list[dict[str, np.ndarray]]:
    loader = hr.Loader(dataset, BATCH, **{"drop_last": True, **words})
    return [batch for _ in range(epochs) for batch in loader]


def same(found: list[dict[str, Any]], wanted: list[dict[str, np.ndarray]]) -> None:
    assert [list(batch) for batch in found] == [list(batch) for batch in wanted]
    for one, other in zip(found, wanted, strict=True):
        for name in other:
            np.testing.assert_array_equal(np.asarray(one[name]), other[name])


def ragged(folder: Path) -> hr.Dataset:
    lengths = np.arange(60) % 7 + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    np.savez(folder / "r.npz", x=np.arange(offsets[-1], dtype=np.float32), at=offsets)
    return hr.open(folder / "r.npz", fields=["x"], sample_by=hr.Spans(offsets="at"))
