"""Every kind of chunk index, in arrays of many shapes, against h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

FILTERS = {
    "plain": {},
    "gzip": {"compression": "gzip"},
    "three": {"compression": "gzip", "shuffle": True, "fletcher32": True},
}
SHAPES: dict[str, tuple[Any, Any, Any]] = {
    "fixed": ((50, 9), (7, 4), (50, 9)),
    "fixed, may grow": ((50, 9), (7, 4), (100, 20)),
    "fixed, of pages": ((30_000,), (3,), (30_000,)),
    "extensible": ((50, 9), (7, 4), (None, 9)),
    "extensible, other axis": ((50, 9), (7, 4), (50, None)),
    "extensible, both grow": ((30, 9), (7, 4), (50, None)),
    "extensible, three axes": ((20, 9, 11), (3, 4, 5), (33, None, 22)),
    "extensible, many": ((30_000,), (3,), (None,)),
    "tree": ((50, 9), (7, 4), (None, None)),
    "tree, two levels": ((6000, 4), (3, 2), (None, None)),
    "single": ((50, 9), (50, 9), (50, 9)),
}
# The last of them in data blocks of the extensible array that are read page by page; few of the pages exist.
FAR = [1, 131_059, 131_060, 131_061, 134_608, 140_000, 262_127, 262_130, 300_000, 999_999]


def agree(path: Path) -> None:
    with h5py.File(path) as file:
        expected = file["x"][...]
    np.testing.assert_array_equal(hr.open(path)[:]["x"], expected)


def create(path: Path, shape: Any, chunks: Any, most: Any, words: dict[str, Any], user_block: int = 0) -> h5py.File:
    file = h5py.File(path, "w", libver=("v110", "v110"), userblock_size=user_block)
    file.create_dataset("x", shape, "i2", chunks=chunks, maxshape=most, fillvalue=7, **words)
    return file


@pytest.mark.parametrize("words", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize(("shape", "chunks", "most"), SHAPES.values(), ids=SHAPES)
def test_values(tmp_path: Path, shape: Any, chunks: Any, most: Any, words: dict[str, Any]) -> None:
    values = np.random.default_rng(1).integers(0, 99, shape)
    for user_block in (0, 512):
        with create(tmp_path / f"{user_block}.h5", shape, chunks, most, words, user_block) as file:
            file["x"][...] = values
        agree(tmp_path / f"{user_block}.h5")


@pytest.mark.parametrize("words", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("most", [(90, 9), (None, 9), (90, None), (None, None)])
@pytest.mark.parametrize("rows", [20, 80])
def test_resized(tmp_path: Path, rows: int, most: Any, words: dict[str, Any]) -> None:
    path = tmp_path / "f.h5"
    with create(path, (50, 9), (7, 4), most, words) as file:
        file["x"][...] = np.arange(450).reshape(50, 9)
        file["x"].resize((rows, 9))
    agree(path)


@pytest.mark.parametrize("words", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("most", [(1_000_000,), (None,)])
def test_sparse(tmp_path: Path, most: Any, words: dict[str, Any]) -> None:
    path = tmp_path / "f.h5"
    expected = np.full(1_000_000, 7, "i2")
    with create(path, (1_000_000,), (1,), most, words) as file:
        for i in FAR:
            file["x"][i] = expected[i] = i % 1000
    values = hr.open(path)[:]["x"]
    np.testing.assert_array_equal(values, expected)
    with h5py.File(path) as file:  # which takes 5 to 15 s for a million chunks: around those that exist
        for i in FAR:
            near = slice(max(i - 1100, 0), i + 1100)  # a page of the index has 1,024 chunks
            np.testing.assert_array_equal(values[near], file["x"][near])


def test_implicit(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((9, 4))
    made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    values = np.arange(450, dtype="i4").reshape(50, 9)
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        space = h5py.h5s.create_simple((50, 9), (70, 30))
        dataset = h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, space, made)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    agree(path)
