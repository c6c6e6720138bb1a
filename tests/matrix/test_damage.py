"""Bytes of small files flipped, and files cut at many lengths: equality, or a typed error; no crash, no hang."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from damage import read_damaged
from matrix_compare import columns, same

import headrace as hr

ROWS = 40
# What HDF5 2.0 (in h5py) refuses in damaged datatypes and shapes, and 1.10 does not: other meanings, no wrong reading.
NEWER_CHECKS = (
    "offset out of bounds",
    "offset+precision out of bounds",
    "position out of bounds",
    "greater than maxdim",
)
EVERY_BYTE = os.environ.get("HEADRACE_EVERY_BYTE") == "1"  # minutes instead of seconds


@dataclass
class Target:
    """A small file, and what its bytes are."""

    path: Path
    raw: dict[str, list[tuple[range, range]]] = field(default_factory=dict)  # field → (bytes, rows that they hold)
    checked: set[str] = field(default_factory=set)  # fields whose chunks carry a checksum
    metadata_checked: bool = False

    def owner(self, offset: int) -> tuple[str, range] | None:
        """Field and rows whose stored values lie at an offset; None in metadata."""
        for name, parts in self.raw.items():
            for where, rows in parts:
                if offset in where:
                    return name, rows
        return None


def write_target(path: Path, libver: Any, checksums: bool) -> Target:
    """One field for each way of storing: contiguous, compact, and chunked under several filters."""
    random = np.random.default_rng(11)
    p = hdf5plugin
    noise = random.normal(size=(ROWS, 6)).astype("f4")
    noise[::3] = 0
    small = random.integers(0, 50, size=(ROWS, 4)).astype("i2")
    target = Target(path, metadata_checked=libver == "v110")
    with h5py.File(path, "w", libver=libver) as file:
        plan: dict[str, dict[str, Any]] = {
            "gzip": {"data": noise, "chunks": (16, 6), "compression": "gzip"},
            "sum": {"data": small, "chunks": (10, 4), "fletcher32": True},
            "both": {"data": small, "chunks": (25, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
        }
        if not checksums:
            plan = {
                "flat": {"data": small},
                "plain": {"data": noise, "chunks": (16, 6)},
                "lzf": {"data": noise, "chunks": (20, 6), "compression": "lzf", "shuffle": True},
                "lz4": {"data": noise, "chunks": (20, 3), **p.LZ4()},
                "zstd": {"data": small, "chunks": (40, 4), **p.Zstd()},
                "blosc": {"data": noise, "chunks": (20, 6), **p.Blosc(cname="lz4")},
                "bits": {"data": small, "chunks": (16, 4), **p.Bitshuffle()},
            }
        file.create_dataset("row", data=np.arange(ROWS), chunks=(ROWS,), fletcher32=True)
        sparse = file.create_dataset(
            "sparse", (ROWS, 2), "i4", chunks=(8, 2), fillvalue=7, fletcher32=True, maxshape=(None, 2)
        )
        sparse[:8] = 3
        for name, options in plan.items():
            file.create_dataset(name, **options)
            if name in ("gzip", "sum", "both"):
                target.checked.add(name)
        target.checked |= {"row", "sparse"}
    with h5py.File(path) as file:
        for name, stored in file.items():
            target.raw[name] = []
            if stored.chunks is None:
                first = stored.id.get_offset()
                if first is not None:
                    target.raw[name] = [(range(first, first + stored.nbytes), range(ROWS))]
                continue
            for i in range(stored.id.get_num_chunks()):
                chunk = stored.id.get_chunk_info(i)
                row = chunk.chunk_offset[0]
                where = range(chunk.byte_offset, chunk.byte_offset + chunk.size)
                target.raw[name].append((where, range(row, row + stored.chunks[0])))
    return target


def judge(target: Target, entry: dict[str, Any]) -> str | None:
    """What is wrong with a result, or None. Differences in unchecked metadata are for `differs_from_h5py`."""
    kind, offset = entry["damage"].split()[:2]
    result = entry["result"]
    if result in ("bug", "crash", "hang"):
        return f"{result}: {entry['text']}"
    if result == "error":
        return "InternalError" if entry["class"] == "InternalError" else None
    if kind == "cut":
        return f"cut, and yet {result}"
    if result == "equal":
        return None
    owner = target.owner(int(offset))
    if owner is None:
        return "changed by metadata" if target.metadata_checked else None
    name, rows = owner
    if name in target.checked:
        return f"silently changed although '{name}' has checksums: {entry}"
    changed = entry.get("rows", {})
    if set(changed) != {name} or not set(changed[name]) <= set(rows):
        return f"more than its chunk of '{name}' changed: {entry}"
    return None


def differs_from_h5py(target: Target, entry: dict[str, Any], folder: Path) -> str | None:
    """A damage of unchecked metadata may change what the file says; then h5py must read the same from it."""
    if entry["result"] != "differs" or target.owner(int(entry["damage"].split()[1])) is not None:
        return None
    _, offset, bit = map(str, entry["damage"].split())
    data = bytearray(target.path.read_bytes())
    data[int(offset)] ^= 1 << int(bit)
    path = folder / "as_h5py.h5"
    path.write_bytes(data)
    try:
        with h5py.File(path) as file, hr.open(path) as dataset:
            mine = dataset[:20]
            for name in {info.path.split("/")[0] for info in dataset.fields.values()}:
                for key, array in columns(name, file[name][:20]).items():
                    # h5py keeps float32 for odd floats of its size, where Headrace takes what holds all of them
                    if not same(mine[key], array.astype(mine[key].dtype) if array.dtype.kind == "f" else array):
                        return f"h5py reads other values of '{key}': {entry}"
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        if any(words in str(error) for words in NEWER_CHECKS):
            return None
        return f"h5py refuses it ({type(error).__name__}: {error}), Headrace reads other values: {entry}"
    return None


@pytest.fixture(params=["checksums", "no checksums"])
def checksums(request: pytest.FixtureRequest) -> bool:
    return request.param == "checksums"


@pytest.fixture(params=[None, "v110"], ids=["version 0", "version 3"])
def target(request: pytest.FixtureRequest, checksums: bool, tmp_path: Path) -> Target:
    return write_target(tmp_path / "small.h5", request.param, checksums)


def report(target: Target, results: list[dict[str, Any]], wrong: list[str]) -> None:
    print(
        target.path.stat().st_size,
        "bytes;",
        Counter(entry["result"] for entry in results),
        Counter(entry["class"] for entry in results if entry["result"] == "error"),
    )
    assert not wrong, f"{len(wrong)} of {len(results)}:\n" + "\n".join(wrong[:25])


def test_flipped_bits(target: Target, tmp_path: Path) -> None:
    random = np.random.default_rng(13)
    size = target.path.stat().st_size
    data = target.path.read_bytes()
    # Every byte that is not one of many zeros in free space; of stored values every third.
    offsets = [i for i in range(size) if any(data[max(0, i - 12) : i + 12]) or i % 16 == 0]
    offsets = [i for i in offsets if target.owner(i) is None or i % 3 == 0]
    if not EVERY_BYTE:  # a sample, another share of the bytes for each file; always what says where and what things are
        offsets = offsets[:100] + offsets[100 + size % 9 :: 9]
    damages = [f"flip {i} {random.integers(8)}" for i in offsets]
    results = read_damaged(target.path, tmp_path / "flips", damages)
    wrong = []
    for entry in results:
        why = judge(target, entry) or differs_from_h5py(target, entry, tmp_path)
        if why:
            wrong.append(f"{entry['damage']}: {why}")
    assert len(results) == len(damages) or wrong
    report(target, results, wrong)


def test_a_damaged_array_is_not_left_out_in_silence(tmp_path: Path) -> None:
    target = write_target(tmp_path / "small.h5", "v110", checksums=True)
    data = bytearray(target.path.read_bytes())
    with h5py.File(target.path) as file:
        header = h5py.h5o.get_info(file["gzip"].id).addr
    data[header + 20] ^= 1
    target.path.write_bytes(data)
    with pytest.raises(hr.CorruptDataError) as caught:
        hr.open(target.path)
    assert caught.value.field == "gzip"
    with pytest.raises(hr.CorruptDataError):
        hr.open(target.path, fields=["gzip"])
    assert len(hr.open(target.path, fields=["sum"])) == ROWS


def test_truncated(target: Target, tmp_path: Path) -> None:
    size = target.path.stat().st_size
    lengths = sorted({*range(0, 120, 5), *range(120, size, size // 40), size - 1, size - 7})
    results = read_damaged(target.path, tmp_path / "cuts", [f"cut {n}" for n in lengths])
    wrong = [f"{entry['damage']}: {why}" for entry in results if (why := judge(target, entry))]
    assert len(results) == len(lengths) or wrong
    report(target, results, wrong)


def test_trailing_bytes_are_ignored(target: Target) -> None:
    before = hr.open(target.path)[:]
    with target.path.open("ab") as file:
        file.write(b"\xff" * 5000)
    after = hr.open(target.path)[:]
    assert all(same(after[name], before[name]) for name in before)
