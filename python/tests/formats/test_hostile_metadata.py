"""Metadata that say what cannot be, with checksums that fit: each file is refused in time, no process dies of it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hostile_checksums import find_metadata_sums
from hostile_read import read_apart

ROWS = 40
VALUES = np.arange(ROWS * 6, dtype="f4").reshape(ROWS, 6)


def write(path: Path, fill: Callable[[h5py.File], object], libver: str = "v110") -> None:
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        fill(file)


def change(path: Path, at: int, value: bytes) -> None:
    """Write bytes, and the checksums that fit them."""
    data = bytearray(path.read_bytes())
    sums = find_metadata_sums(bytes(data))
    data[at : at + len(value)] = value
    for entry in sums:
        if entry.meets([(at, len(value))]):
            entry.mend(data)
    path.write_bytes(data)


def place(path: Path, what: bytes) -> int:
    data = path.read_bytes()
    assert data.count(what) == 1, data.count(what)
    return data.index(what)


def many_links(file: h5py.File) -> None:
    for i in range(14):
        file[f"a{i}"] = VALUES


def test_fill_value_larger_than_its_message(tmp_path: Path) -> None:
    """libhdf5 takes the size of a newer message without a sign, and copies as much."""
    path = tmp_path / "f.h5"
    write(path, lambda file: file.create_dataset("x", (ROWS,), "<i8", fillvalue=0x1122334455667788))
    value = struct.pack("<q", 0x1122334455667788)
    change(path, place(path, struct.pack("<I", 8) + value), struct.pack("<I", 0xA47AEA01))
    assert "fill value" in read_apart(path)


def test_chunk_tree_of_more_records_than_its_nodes_hold(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    write(path, lambda file: file.create_dataset("x", data=VALUES, chunks=(7, 4), maxshape=(None, None)))
    change(path, place(path, b"BTHD") + 24, struct.pack("<H", 0xFFFF))
    assert "damaged" in read_apart(path)


def test_extensible_array_of_absurdly_many_entries(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    write(path, lambda file: file.create_dataset("x", data=VALUES, chunks=(7, 4), maxshape=(None, 6)))
    change(path, place(path, b"EAHD") + 12 + 4 * 8, struct.pack("<Q", 1 << 40))
    assert "['x']" in read_apart(path, seconds=20)


def test_chunks_side_by_side_without_end(tmp_path: Path) -> None:
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((9, 6))
    made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)

    def fill(file: h5py.File) -> None:
        space = h5py.h5s.create_simple((47, 6), (47, 6))
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space, made)

    path = tmp_path / "f.h5"
    write(path, fill)
    change(path, place(path, struct.pack("<QQQQ", 47, 6, 47, 6)), struct.pack("<QQQQ", 1 << 40, 6, 1 << 40, 6))
    assert "chunks" in read_apart(path, seconds=20)


@pytest.mark.parametrize(("at", "value"), [(10, b"\0\0"), (6, b"\1\0\0\0"), (24, b"\xff\xff")])
def test_tree_of_links(tmp_path: Path, at: int, value: bytes) -> None:
    """Records of 0 bytes, nodes too small for one, more records than a node has: the first divides by zero."""
    path = tmp_path / "f.h5"
    write(path, many_links)
    change(path, place(path, b"BTHD") + at, value)
    assert "B-tree is damaged" in read_apart(path)


def test_heap_of_links(tmp_path: Path) -> None:
    """An object of the heap that is no link, and one that reaches out of its block."""
    path = tmp_path / "f.h5"
    write(path, many_links)
    leaf = place(path, b"BTLF")
    change(path, leaf + 6 + 4 + 5, b"\xff\xff")  # of the first record: the length in its identifier
    assert "outside its block" in read_apart(path)


def test_shared_link(tmp_path: Path) -> None:
    """libhdf5 fails on the second link, and frees what it has not read of the others."""
    path = tmp_path / "f.h5"
    write(path, lambda file: [file.create_dataset(name, data=VALUES) for name in ("one", "two", "six")])
    change(path, place(path, b"\x06\x0e\0\0\1\0\3two") + 3, b"\2")
    assert "shared message" in read_apart(path)


def test_header_continued_in_one_byte(tmp_path: Path) -> None:
    """libhdf5 counts the checksum of all but the last four bytes, when it is asked what the object is."""

    def fill(file: h5py.File) -> None:
        file["x"] = VALUES
        for i in range(7):
            file["x"].attrs[f"a{i}"] = np.arange(40)
        file["y"] = VALUES

    path = tmp_path / "f.h5"
    write(path, fill)
    data = path.read_bytes()
    block = data.index(b"OCHK")
    at = data.index(struct.pack("<Q", block))
    change(path, at + 8, struct.pack("<Q", 1))
    assert "a continuation without signature" in read_apart(path)


@pytest.mark.parametrize(
    ("at", "value", "said"), [(4, b"\0\0", "in a list of 0"), (16, b"\xff\xff\xff\x7f", "leads nowhere")]
)
def test_list_of_external_files(tmp_path: Path, at: int, value: bytes, said: str) -> None:
    """More entries than the list has room for, and a name far outside the heap of names."""
    (tmp_path / "raw").write_bytes(VALUES.tobytes())
    path = tmp_path / "f.h5"
    words = {"external": [("raw", 0, VALUES.nbytes)]}
    write(path, lambda file: file.create_dataset("x", VALUES.shape, "f4", **words), "earliest")
    data = path.read_bytes()
    entry = struct.pack("<QQ", 0, VALUES.nbytes)  # offset and size of the raw file
    change(path, data.index(entry) - 24 + at, value)
    assert said in read_apart(path)


def test_name_that_does_not_end(tmp_path: Path) -> None:
    """An old group whose heap of names has no zero behind the last one."""
    path = tmp_path / "f.h5"
    write(path, lambda file: file.create_dataset("x", data=VALUES), "earliest")
    data = path.read_bytes()
    table = data.index(b"SNOD") + 8
    change(path, table, struct.pack("<Q", 1 << 20))
    assert "outside the heap of names" in read_apart(path)


def test_chunks_of_a_scalar(tmp_path: Path) -> None:
    """The source of a virtual dataset that has chunks, and no axis any more: libhdf5 fills the memory with them."""
    source, path = tmp_path / "source.h5", tmp_path / "f.h5"
    write(source, lambda file: file.create_dataset("x", data=VALUES, chunks=(7, 4)), "earliest")
    layout = h5py.VirtualLayout(VALUES.shape, "f4")
    layout[:] = h5py.VirtualSource("source.h5", "x", VALUES.shape)
    write(path, lambda file: file.create_virtual_dataset("x", layout))
    change(source, place(source, b"\x01\x02\x01\0\0\0\0\0" + struct.pack("<QQ", *VALUES.shape)) + 1, b"\0")
    assert "chunks of 2 axes for a shape of 0" in read_apart(path, seconds=20)


@pytest.mark.parametrize("track_order", [False, True])
def test_many_links_of_any_length(tmp_path: Path, track_order: bool) -> None:
    """Sound ones: in a heap of several levels, and one too long for its blocks."""
    path = tmp_path / "f.h5"

    def fill(file: h5py.File) -> None:
        group = file.create_group("g", track_order=track_order)
        for i in range(1000):
            group[f"n{i}{'x' * (i % 300)}"] = np.arange(3)
        group["y" * 9000] = np.arange(3)

    write(path, fill)
    assert read_apart(path).split("]")[0].count(",") == 1000
