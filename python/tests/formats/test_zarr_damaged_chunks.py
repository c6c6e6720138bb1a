"""Chunks of Zarr stores that are damaged, and links in stores: an error that names the place, and no wrong value."""

from __future__ import annotations

import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from privileges import without_privileges
from zarr_stores import (
    array2,
    array3,
    crc32c,
    edit_json,
    group2,
    group3,
    names_place,
    outcome,
    refused,
    rows_of,
    same,
)

import headrace as hr

pytestmark = [pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning"), pytest.mark.timeout(120)]
VALUES = np.arange(1, 241, dtype="u2").reshape(12, 4, 5)
CHUNKS = (5, 2, 5)
Meta = dict[str, Any]


# ------------------------------------------------------------------------------------------ chunks that are damaged


@pytest.mark.parametrize("codec", ["zlib", "gzip", "bz2", "zstd", "lz4", "blosc lz4", "blosc zstd", "blosc zlib", None])
def test_chunks_that_are_cut_short_at_every_length(tmp_path: Path, codec: str | None) -> None:
    """Or that have more bytes than they should."""
    values = np.random.default_rng(2).integers(0, 900, (8, 10)).astype("u4")
    raw, config = packed(values.tobytes(), codec)
    path = array2(tmp_path / "x.zarr", values, (8, 10), compressor=config)
    chunk = path / "0.0"
    chunk.write_bytes(raw)
    assert outcome(path, values) is None
    for size in {*range(0, len(raw), 7), len(raw) - 1}:
        chunk.write_bytes(raw[:size])
        error = outcome(path, values)
        assert error is not None, size
        names_place(error, path, index=(0, 0))
    for data in (values.tobytes() + bytes(1), values.tobytes()[:-1], values.tobytes() * 2, b""):
        chunk.write_bytes(packed(data, codec)[0])
        assert outcome(path, values) is not None, len(data)


def packed(data: bytes, codec: str | None) -> tuple[bytes, Meta | None]:
    """Return compressed bytes, and what the metadata says of them."""
    if codec is None:
        return data, None
    numcodecs = pytest.importorskip("numcodecs")
    name, _, cname = codec.partition(" ")
    made = {
        "zlib": lambda: numcodecs.Zlib(1),
        "gzip": lambda: numcodecs.GZip(1),
        "bz2": lambda: numcodecs.BZ2(1),
        "zstd": lambda: numcodecs.Zstd(1),
        "lz4": lambda: numcodecs.LZ4(),
        "blosc": lambda: numcodecs.Blosc(cname, shuffle=1),
    }[name]()
    return bytes(made.encode(np.frombuffer(data, "u4") if len(data) % 4 == 0 else data)), made.get_config()


@pytest.mark.parametrize("codec", ["zlib", "gzip", "bz2"])
def test_a_changed_byte_of_a_chunk_is_noticed(tmp_path: Path, codec: str) -> None:
    """These codecs have checksums of their own."""
    values = np.random.default_rng(3).integers(0, 900, (8, 10)).astype("u4")
    raw, config = packed(values.tobytes(), codec)
    path = array2(tmp_path / "x.zarr", values, (8, 10), compressor=config)
    for at in range(12, len(raw), 11):
        (path / "0.0").write_bytes(raw[:at] + bytes([raw[at] ^ 0x10]) + raw[at + 1 :])
        outcome(path, values)  # an error or the right values


def test_crc32c_is_compared(tmp_path: Path) -> None:
    values = np.arange(80, dtype="u4").reshape(8, 10)
    path = array3(tmp_path / "x.zarr", values, (4, 10), codec=None, crc=True)
    chunk = path / "c/1/0"
    raw = chunk.read_bytes()
    assert raw[-4:] == crc32c(raw[:-4])
    for at in (0, 77, 159, 160, 163):
        chunk.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        refused(lambda: rows_of(hr.open(path)), path, "", (1, 0), "checksum|crc32c", hr.CorruptDataError)
    chunk.write_bytes(raw[:3])
    refused(lambda: rows_of(hr.open(path)), path, "", (1, 0), kind=hr.CorruptDataError)


def test_bombs_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    """A small file that says of itself that it has gigabytes."""
    values = np.zeros((4, 4), "u1")
    path = array2(tmp_path / "x.zarr", values, (4, 4))
    (path / "0.0").write_bytes(zlib.compress(bytes(64 << 20)))
    refused(lambda: rows_of(hr.open(path)), path, "", (0, 0), kind=hr.CorruptDataError)
    edit_json(path / ".zarray", lambda meta: meta.update(compressor={"id": "lz4", "acceleration": 1}))
    (path / "0.0").write_bytes(b"\xff\xff\xff\x7f" + bytes(20))
    refused(lambda: rows_of(hr.open(path)), path, "", (0, 0), kind=hr.CorruptDataError)
    blosc = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
    edit_json(path / ".zarray", lambda meta: meta.update(compressor=blosc))
    (path / "0.0").write_bytes(bytes([2, 1, 1, 1]) + (2**31 - 1).to_bytes(4, "little") * 2 + (40).to_bytes(4, "little"))
    refused(lambda: rows_of(hr.open(path)), path, "", (0, 0), kind=hr.CorruptDataError)


def test_a_chunk_that_is_huge_is_refused_or_out_of_budget(tmp_path: Path) -> None:
    """Nothing is allocated for a chunk that is said to be huge; the array itself has four values."""
    path = array2(tmp_path / "x.zarr", np.zeros((4,), "u1"), (4,))
    edit_json(path / ".zarray", lambda meta: meta.update(chunks=[2**50]))
    with pytest.raises(hr.Error):
        rows_of(hr.open(path))


@pytest.mark.parametrize("name", ["0.0", "c/0/0"])
def test_a_chunk_that_is_a_pipe_does_not_hang(tmp_path: Path, run_python, name: str) -> None:
    path = (array2 if name == "0.0" else array3)(tmp_path / "x.zarr", np.ones((4, 4), "u1"), (4, 4))
    (path / name).unlink()
    os.mkfifo(path / name)
    done = run_python(f"""
        try:
            print(hr.open({str(path)!r})[:])
        except hr.Error as error:
            print("refused:", error)
    """)
    assert done.stdout.startswith("refused:")
    assert path.name in done.stdout


def test_a_folder_of_chunks_that_may_not_be_entered_is_an_error() -> None:
    """Its chunks are not fill."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = array3(Path(folder) / "x.zarr", VALUES, CHUNKS)
        (path / "c/1").chmod(0)
        try:
            with without_privileges():
                refused(lambda: rows_of(hr.open(path)), path, kind=PermissionError)
        finally:
            (path / "c/1").chmod(0o755)


@pytest.mark.parametrize("write", [array2, array3], ids=["2", "3"])
def test_a_chunk_that_is_replaced_after_opening_is_an_error(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path / "x.zarr", VALUES, CHUNKS)
    data = hr.open(path)
    chunk = path / ("1.0.0" if write is array2 else "c/1/0/0")
    chunk.write_bytes(chunk.read_bytes()[:9])
    refused(lambda: rows_of(data), path)


# ------------------------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize("version", [2, 3])
def test_links_in_a_circle_do_not_hang(tmp_path: Path, run_python, version: int) -> None:
    group, write = (group2, array2) if version == 2 else (group3, array3)
    store = group(tmp_path / "x.zarr")
    write(store / "em/s0", VALUES, CHUNKS)
    group(store / "em")
    (store / "em/up").symlink_to("..")
    (store / "em/here").symlink_to(".")
    (store / "self").symlink_to("self")
    (store / "em/s0/back").symlink_to(store)
    run_python(f"""
        assert hr.open({str(store)!r}, ["em/s0"])[:]["em/s0"].sum() == {VALUES.sum()}
        assert hr.open({str(store / "em/s0")!r})[:]["s0"].sum() == {VALUES.sum()}
        try:
            print(hr.open({str(store)!r}))
        except hr.Error as error:
            print(error)
    """)


def test_links_to_arrays_and_chunks_are_followed(tmp_path: Path) -> None:
    values = array2(tmp_path / "elsewhere", VALUES, CHUNKS)
    store = group2(tmp_path / "x.zarr")
    (store / "a").symlink_to(values)
    chunk = values / "0.0.0"
    chunk.rename(tmp_path / "chunk")
    chunk.symlink_to(tmp_path / "chunk")
    same(rows_of(hr.open(store, ["a"])), VALUES)
    (tmp_path / "linked.zarr").symlink_to(store)
    same(rows_of(hr.open(tmp_path / "linked.zarr", ["a"])), VALUES)


def test_names_do_not_lead_out_of_the_store(tmp_path: Path) -> None:
    array2(tmp_path / "secret", VALUES, CHUNKS)
    store = group2(tmp_path / "x.zarr")
    array2(store / "a", VALUES, CHUNKS)
    for name in ("../secret", "a/../../secret", str(tmp_path / "secret")):
        with pytest.raises(hr.Error):
            hr.open(store, {"x": name})
