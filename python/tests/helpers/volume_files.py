"""Volumes of several kinds, and what patches of them hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from zarr_stores import array3, group3

import headrace as hr

SHAPES = ((23, 34, 41), (20, 20, 20), (31, 25, 57))
PATCH = (10, 12, 17)
KINDS = ("gzip", "chunks", "contiguous", "big-endian", "npy", "npz", "zarr")
GRIDS: tuple[dict[str, Any], ...] = (
    {"stride": PATCH},
    {"stride": PATCH, "edge": "drop"},
    {"stride": PATCH, "edge": "fill", "fill": 7},
    {"stride": (4, 9, 20), "edge": "shift"},
    {"stride": (13, 20, 33), "edge": "fill"},
)
Volume = dict[str, np.ndarray[Any, Any]]


def write_volumes(folder: Path, kind: str) -> tuple[hr.Volumes, list[Volume]]:
    """Write three volumes of two arrays, and return them with what they hold."""
    rng = np.random.default_rng(5)
    held = []
    for number, shape in enumerate(SHAPES):
        volume = {"raw": rng.integers(1, 255, shape, np.uint8), "ids": rng.integers(1, 2**40, shape, np.uint64)}
        held.append(volume)
        if kind == "npy":
            for name, values in volume.items():
                np.save(folder / f"{name}_{number}.npy", values)
        elif kind == "zarr":
            store = group3(group3(folder / f"s_{number}.zarr") / "volumes").parent
            array3(store / "volumes" / "raw", volume["raw"], (8, 8, 8), shards=(16, 8, 24), transpose=(2, 0, 1))
            array3(store / "volumes" / "ids", volume["ids"], (5, 20, 7), endian="big", crc=True)
        elif kind == "npz":
            np.savez_compressed(folder / f"s_{number}.npz", **volume)
        else:
            with h5py.File(folder / f"s_{number}.h5", "w") as file:
                _write(file, volume, kind)
    if kind == "npy":
        arrays = {"raw": "raw", "ids": f"{folder}/ids_*.npy::"}
        return hr.open_volume(folder / "raw_*.npy", arrays), held
    arrays = {name: name if kind == "npz" else f"volumes/{name}" for name in ("raw", "ids")}
    ending = kind if kind in ("npz", "zarr") else "h5"
    return hr.open_volume(folder / f"s_*.{ending}", arrays), held


def _write(file: h5py.File, volume: Volume, kind: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "gzip": {
            "raw": {"chunks": (8, 8, 8), "compression": "gzip"},
            "ids": {"chunks": (5, 20, 7), "compression": "lzf"},
        },
        "chunks": {"raw": {"chunks": (8, 16, 9)}, "ids": {"chunks": (20, 3, 20)}},
        "contiguous": {"raw": {}, "ids": {}},
        "big-endian": {"raw": {}, "ids": {"dtype": ">u8"}},
    }
    for name, values in volume.items():
        file.create_dataset(f"volumes/{name}", data=values, **options[kind][name])


def starts_along(size: int, patch: int, stride: int, edge: str) -> list[int]:
    """Return where the patches of a grid begin along one axis, one by one."""
    starts, at = [], 0
    while at + patch <= size:
        starts.append(at)
        at += stride
    reached = starts[-1] + patch if starts else 0
    if reached < size and edge == "shift":
        starts.append(size - patch)
    if reached < size and edge == "fill" and at < size:
        starts.append(at)
    return starts


def places(
    shapes: tuple[tuple[int, ...], ...], patch: tuple[int, ...], stride: Any, edge: str = "shift", **_: Any
) -> Any:
    """Return (volume, z, y, x) of each patch of a grid, in the order of their numbers."""
    out = []
    for volume, shape in enumerate(shapes):
        along = [starts_along(n, p, s, edge) for n, p, s in zip(shape, patch, stride, strict=True)]
        out += [(volume, z, y, x) for z in along[0] for y in along[1] for x in along[2]]
    return np.array(out)


def cut(held: list[Volume], place: Any, patch: tuple[int, ...], name: str, fill: float = 0) -> np.ndarray[Any, Any]:
    """Return the box of an array at a place, filled up past its end."""
    volume, *start = (int(n) for n in place)
    box = held[volume][name][tuple(slice(at, at + n) for at, n in zip(start, patch, strict=True))]
    out = np.full(patch, fill, box.dtype)
    out[tuple(slice(0, n) for n in box.shape)] = box
    return out


def places_of(batch: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return (volume, z, y, x) of each patch of a batch that was delivered with provenance."""
    return np.column_stack([batch["_volume"], batch["_start"]])


def check_batch(batch: dict[str, Any], held: list[Volume], patch: tuple[int, ...] = PATCH, fill: float = 0) -> None:
    """Compare each patch of a batch with the boxes that its provenance names."""
    for i, place in enumerate(places_of(batch)):
        for name in ("raw", "ids"):
            np.testing.assert_array_equal(batch[name][i], cut(held, place, patch, name, fill))
            if f"{name}.valid" in batch:
                inside = cut([{"raw": np.ones(v["raw"].shape, bool)} for v in held], place, patch, "raw")
                np.testing.assert_array_equal(batch[f"{name}.valid"][i], inside)


def write_damaged(folder: Path) -> hr.Volumes:
    """Write a volume of 32^3 in 8 chunks, of which (1,0,1) is damaged."""
    path = folder / "x.h5"
    with h5py.File(path, "w") as file:
        values = np.arange(32**3, dtype="f4").reshape(32, 32, 32)
        file.create_dataset("x", data=values, chunks=(16, 16, 16), compression="gzip", fletcher32=True)
        offset = file["x"].id.get_chunk_info(5).byte_offset
    with path.open("r+b") as raw:
        raw.seek(offset + 20)
        raw.write(b"\xff\xff\xff\xff")
    return hr.open_volume(path, ["x"])
