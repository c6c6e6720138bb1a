"""The data of the golden batches: values from integer arithmetic alone, so that no library's version changes a byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np

# Enough for some ten blocks, or more, of each kind: a block is a chunk, or 256 KiB of small ones.
JET_ROWS = (600, 389, 130)
MEL_ROWS = (4500, 1501)
HOSTILE_ROWS = (61, 400, 130)
GZIP: dict[str, Any] = {"compression": "gzip", "compression_opts": 1}


@dataclass(frozen=True)
class Files:
    """A kind of data: its files in order, and the fields to open (None: all)."""

    paths: list[Path]
    fields: dict[str, str] | None


def noise(first: int, shape: tuple[int, ...], salt: int) -> np.ndarray:
    """uint64 values that follow from their position: element i of row ``first`` and on (SplitMix64's finisher)."""
    width = int(np.prod(shape[1:], dtype=np.int64))
    z = np.arange(first * width, (first + shape[0]) * width, dtype=np.uint64) + np.uint64(salt << 40)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).reshape(shape)


def values(dtype: Any, first: int, shape: tuple[int, ...], salt: int) -> np.ndarray:
    """Small whole numbers of any type, so that they compress somewhat and every float holds them exactly."""
    dtype = np.dtype(dtype)
    if dtype.subdtype is not None:
        return values(dtype.subdtype[0], first, shape + dtype.subdtype[1], salt)
    if dtype.names:
        out = np.zeros(shape, dtype)
        for i, name in enumerate(dtype.names):
            out[name] = values(dtype[name], first, shape, salt + 1 + i)
        return out
    bits = noise(first, shape, salt)
    if dtype.kind == "S":
        letters = np.array([b"up", b"down", b"strange", b"charm"], dtype)
        return letters[(bits >> np.uint64(62)).astype(np.int64)]
    if dtype.kind == "b":
        return (bits >> np.uint64(63)).astype(bool)
    bound = 100 if dtype.itemsize == 1 else 1000
    return ((bits >> np.uint64(33)) % np.uint64(bound)).astype(dtype)


def write_jets(folder: Path, salt: int = 1, rows: tuple[int, ...] = JET_ROWS) -> Files:
    """Like JetClass in small: gzip, padded with zeros, chunks of another number of rows in each array."""
    folder.mkdir()
    paths, first = [], 0
    for i, here in enumerate(rows):
        particles = 1 + (noise(first, (here,), salt + 1) % np.uint64(24)).astype(np.int64)
        present = np.arange(24) < particles[:, None]
        x = values("<f4", first, (here, 24, 20), salt + 2) / np.float32(8) * present[..., None]
        adj = values("<f4", first, (here, 105), salt + 3) * (np.arange(105) < 4 * particles[:, None])
        with h5py.File(folder / f"jets_{i}.h5", "w") as file:
            file.create_dataset("feature_matrix", data=x.astype("<f4"), chunks=(128, 24, 20), **GZIP)
            file.create_dataset("adjacency_matrix", data=adj.astype("<f4"), chunks=(64, 105), shuffle=True, **GZIP)
            file.create_dataset("labels", data=(noise(first, (here,), salt + 4) % np.uint64(5)).astype("<i8"))
        paths.append(folder / f"jets_{i}.h5")
        first += here
    return Files(paths, {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"})


def write_mel(folder: Path) -> Files:
    """Many rows of 128 bytes."""
    folder.mkdir()
    paths, first = [], 0
    for i, here in enumerate(MEL_ROWS):
        with h5py.File(folder / f"mel_{i}.h5", "w") as file:
            file.create_dataset("mel", data=values("u1", first, (here, 16, 8), 20), chunks=(256, 16, 8), **GZIP)
            file.create_dataset("y", data=values("<i4", first, (here,), 21), chunks=(500,), compression="lzf")
        paths.append(folder / f"mel_{i}.h5")
        first += here
    return Files(paths, None)


RECORD = np.dtype([("a", "<i2"), ("b", ">f8"), ("v", "<f4", (3,)), ("in", [("k", "u1"), ("s", "S7")])])


def write_hostile(folder: Path) -> Files:
    """Whatever a layout, a type and a filter can be, in files whose chunks differ as well."""
    folder.mkdir()
    blosc = hdf5plugin.Blosc(cname="lz4", shuffle=hdf5plugin.Blosc.SHUFFLE)
    paths, first = [], 0
    for i, rows in enumerate(HOSTILE_ROWS):
        c = (7, 32, 50)[i]  # rows of a chunk differ from file to file
        cases: list[tuple[str, Any, tuple[int, ...], dict[str, Any]]] = [
            ("y", "<i8", (), {}),
            ("plain", "<f4", (5, 3), {}),
            ("scalar_gzip", "<u2", (), {"chunks": (c,), "shuffle": True, **GZIP}),
            ("wide", "<f4", (300,), {"chunks": (c, 300), "shuffle": True, **GZIP}),
            ("rows", "<f8", (4,), {"chunks": (c, 4), **GZIP}),
            ("tall", "<i4", (2, 3), {"chunks": (2 * c + 1, 2, 3), "compression": "lzf"}),
            ("one", "u1", (9,), {"chunks": (rows, 9), "fletcher32": True, **GZIP}),
            ("across", "<i2", (30,), {"chunks": (c, 7), "shuffle": True, **GZIP}),
            ("across3", "<f4", (5, 6, 2), {"chunks": (c + 3, 2, 4, 1), "compression": "lzf"}),
            ("tiny", "<u4", (3,), {"chunks": (1, 2)}),
            ("big", ">i4", (6,), {"chunks": (c, 6), **GZIP}),
            ("big_plain", ">u2", (2, 2), {}),
            ("flag", "?", (3,), {"chunks": (c, 3), **GZIP}),
            ("text", "S9", (), {"chunks": (c,), **GZIP}),
            ("half", "<f2", (8,), {"chunks": (c, 8), "shuffle": True}),
            ("complex", "<c8", (3,), {"chunks": (c, 3), **GZIP}),
            ("record", RECORD, (), {"chunks": (c,), **GZIP}),
            ("record_plain", RECORD, (2,), {}),
            ("record_across", RECORD, (5,), {"chunks": (c, 2), "compression": "lzf"}),
            ("blosc", "<f4", (7,), {"chunks": (c, 7), **blosc}),
            ("zstd", "<i8", (2,), {"chunks": (c + 1, 2), **hdf5plugin.Zstd(clevel=1)}),
            ("bitshuffle", "<u4", (4, 4), {"chunks": (c, 4, 4), **hdf5plugin.Bitshuffle(cname="lz4")}),
            ("library", "<i4", (3,), {"chunks": (c, 3), "scaleoffset": 0}),
            ("absent", "<i2", (4,), {"chunks": (c, 4), "fillvalue": 77, **GZIP}),
        ]
        with h5py.File(folder / f"hostile_{i}.h5", "w", libver=(None, "v110", "v108")[i]) as file:
            for number, (name, dtype, shape, options) in enumerate(cases):
                data = values(dtype, first, (rows, *shape), 100 * (number + 1))
                made = file.create_dataset(name, data.shape, data.dtype, **options)
                part = slice(rows // 3) if name == "absent" else slice(None)
                made[part] = data[part]
        paths.append(folder / f"hostile_{i}.h5")
        first += rows
    return Files(paths, None)
