"""Files of tokens, windows of them, and the same made by NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

ROWS = (1300, 37, 911)  # of each file
TOKENS = [np.random.default_rng(5).integers(0, 50_000, n).astype(np.uint16) for n in ROWS]
SHAPES: list[dict[str, Any]] = [
    {"length": 32, "lookahead": 1},
    {"length": 32},
    {"length": 48, "stride": 7},
    {"length": 8, "stride": 31, "lookahead": 2},
    {"length": 700, "stride": 5, "lookahead": 1},  # longer than a block
    {"length": 32, "lookahead": 1, "across_files": True},
    {"length": 1, "stride": 1},
]

KINDS = ("npy", "gzip", "plain")


def write_corpus(folder: Path, kind: str) -> str:
    """Write the tokens as files of a kind; return their pattern."""
    for number, tokens in enumerate(TOKENS):
        if kind == "npy":
            np.save(folder / f"corpus_{number}.npy", tokens)
            continue
        with h5py.File(folder / f"corpus_{number}.h5", "w") as file:
            storage = {"chunks": (min(128, len(tokens)),), "compression": "gzip"} if kind == "gzip" else {}
            file.create_dataset("corpus", data=tokens, **storage)
    return str(folder / "corpus_*")


def write_places(folder: Path) -> hr.Dataset:
    """Write a file of 1300 tokens, which are their own places."""
    np.save(folder / "tokens.npy", np.arange(1300, dtype=np.uint16))
    return hr.open(folder / "tokens.npy")


def begins(
    length: int, stride: int | None = None, lookahead: int = 0, across_files: bool = False
) -> list[tuple[int, int]]:
    """File and first row of each window."""
    rows = length + lookahead
    if not across_files:
        return [(f, b) for f, n in enumerate(ROWS) for b in range(0, n - rows + 1, stride or length)]
    places = [(f, b) for f, n in enumerate(ROWS) for b in range(n)]
    return [places[b] for b in range(0, sum(ROWS) - rows + 1, stride or length)]


def expected(**shape: Any) -> np.ndarray:
    rows, across = shape["length"] + shape.get("lookahead", 0), shape.get("across_files", False)
    whole = np.concatenate(TOKENS)
    windows = []
    for file, begin in begins(**shape):
        at = sum(ROWS[:file]) + begin
        windows.append(whole[at : at + rows])
    assert across or all(b + rows <= ROWS[f] for f, b in begins(**shape))
    return np.stack(windows)


def windows_of(corpus: str, **shape: Any) -> hr.Dataset:
    if shape.get("across_files") or shape["length"] + shape.get("lookahead", 0) <= min(ROWS):
        return hr.open(corpus).windows(**shape)
    with pytest.warns(hr.HeadraceWarning, match="1 of 3 files have fewer rows than a window"):
        return hr.open(corpus).windows(**shape)


def sorted_rows(windows: np.ndarray) -> np.ndarray:
    return windows[np.lexsort(windows.T[::-1])]


def delivered(loader: Iterable[Any]) -> np.ndarray:
    return np.concatenate([batch["corpus"] for batch in loader])
