"""Zarr stores of small arrays, written with NumPy alone so that every byte can be chosen, and their readers."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import itertools
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

ABSENT = 2**64 - 1  # offset and size of an inner chunk that was not written
Array = np.ndarray[Any, Any]
Index = tuple[int, ...]


# ---------------------------------------------------------------------------------------------------------- the bytes


def _crc_table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> bytes:
    """Return the checksum as the codec appends it: four bytes, the lowest first."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 0xFF]
    return struct.pack("<I", value ^ 0xFFFFFFFF)


def compressed(data: bytes, codec: str | None) -> bytes:
    """Compress with one of the codecs that Python brings along."""
    if codec is None:
        return data
    if codec == "gzip":
        return gzip.compress(data, 1, mtime=0)
    return {"zlib": zlib.compress, "bz2": bz2.compress}[codec](data, 1)


def grid(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[Index]:
    """Return the index of each chunk, also of those over the edge."""
    return itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks, strict=True)))


def box(index: Index, chunks: Sequence[int]) -> tuple[slice, ...]:
    """Return where a chunk lies in the array."""
    return tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunks, strict=True))


def chunk_of(array: Array, chunks: Sequence[int], index: Index, fill: Any) -> Array:
    """Return a whole chunk; what lies beyond the array is fill."""
    out = np.full(chunks, fill, array.dtype)
    part = array[box(index, chunks)]
    out[tuple(slice(0, n) for n in part.shape)] = part
    return out


def with_holes(array: Array, chunks: Sequence[int], fill: Any, lost: Callable[[Index], bool]) -> Array:
    """Return what should be read where the lost chunks were not written."""
    out = array.copy()
    for index in grid(array.shape, chunks):
        if lost(index):
            out[box(index, chunks)] = fill
    return out


# --------------------------------------------------------------------------------------------------------- the stores


def write_json(path: Path, value: Any) -> Path:
    """Write a file of JSON, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1))
    return path


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a file of JSON in place."""
    value = json.loads(path.read_text())
    change(value)
    write_json(path, value)


def put(path: Path, data: bytes) -> None:
    """Write a chunk, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def group2(path: Path) -> Path:
    """Make a folder a group of version 2."""
    write_json(path / ".zgroup", {"zarr_format": 2})
    return path


def group3(path: Path) -> Path:
    """Make a folder a group of version 3."""
    write_json(path / "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})
    return path


def never(_: Index) -> bool:
    """No chunk is left out."""
    return False


def array2(
    path: Path,
    array: Array,
    chunks: Sequence[int],
    *,
    order: str = "C",
    separator: str = ".",
    said_separator: str | None = "same",
    codec: str | None = "zlib",
    fill: Any = 0,
    said_fill: Any = "same",
    lost: Callable[[Index], bool] = never,
    **metadata: Any,
) -> Path:
    """Write an array of version 2.

    Args:
        path: Its folder.
        array: Its values; their byte order is kept.
        chunks: Shape of a chunk.
        order: How the values of a chunk follow each other.
        separator: Joins the numbers in the names of chunks.
        said_separator: What the metadata says of it; None says nothing.
        codec: None, zlib, gzip or bz2.
        fill: Value of what lies over the edge.
        said_fill: What the metadata says of it, as JSON.
        lost: Which chunks are not written.
        metadata: More entries of the metadata, or others in their place.
    """
    kind = array.dtype.str if array.dtype.names is None else [list(member) for member in array.dtype.descr]
    meta: dict[str, Any] = {
        "zarr_format": 2, "shape": list(array.shape), "chunks": list(chunks), "dtype": kind, "order": order,
        "compressor": None if codec is None else {"id": codec, "level": 1}, "filters": None,
        "fill_value": fill if said_fill == "same" else said_fill,
    }  # fmt: skip
    if said_separator is not None:
        meta["dimension_separator"] = separator if said_separator == "same" else said_separator
    write_json(path / ".zarray", meta | metadata)
    for index in grid(array.shape, chunks):
        if not lost(index):
            data = chunk_of(array, chunks, index, fill).tobytes("F" if order == "F" else "C")
            put(path / (separator.join(map(str, index)) or "0"), compressed(data, codec))
    return path


def array3(
    path: Path,
    array: Array,
    chunks: Sequence[int],
    *,
    shards: Sequence[int] | None = None,
    endian: str = "little",
    codec: str | None = "gzip",
    crc: bool = False,
    transpose: Sequence[int] | None = None,
    key: str = "default",
    separator: str = "/",
    said_separator: str | None = "same",
    fill: Any = 0,
    said_fill: Any = "same",
    lost: Callable[[Index], bool] = never,
    index_location: str = "end",
    index_crc: bool = True,
    inner_lost: Callable[[Index], bool] = never,
    gap: int = 0,
    **metadata: Any,
) -> Path:
    """Write an array of version 3.

    Args:
        path: Its folder.
        array: Its values.
        chunks: Shape of a chunk; with shards, of an inner chunk.
        shards: Shape of a shard.
        endian: Byte order of the values.
        codec: None or gzip.
        crc: Append a checksum to each chunk.
        transpose: Order of the axes in a chunk.
        key: Encoding of the names of chunks: default or v2.
        separator: Joins the numbers in these names.
        said_separator: What the metadata says of it; None says nothing.
        fill: Value of what lies over the edge.
        said_fill: What the metadata says of it, as JSON.
        lost: Which chunks or shards are not written.
        index_location: Where a shard has its index: start or end.
        index_crc: Append a checksum to that index.
        inner_lost: Which inner chunks are not written, by their index in the array.
        gap: Bytes between inner chunks that belong to none.
        metadata: More entries of the metadata, or others in their place.
    """
    codecs: list[dict[str, Any]] = []
    if transpose is not None:
        codecs.append({"name": "transpose", "configuration": {"order": list(transpose)}})
    one_byte = array.dtype.itemsize == 1
    codecs.append({"name": "bytes"} if one_byte else {"name": "bytes", "configuration": {"endian": endian}})
    if codec is not None:
        codecs.append({"name": codec, "configuration": {"level": 1}})
    if crc:
        codecs.append({"name": "crc32c"})
    if shards is not None:
        index_codecs: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": "little"}}]
        index_codecs += [{"name": "crc32c"}] if index_crc else []
        inner = {"chunk_shape": list(chunks), "codecs": codecs, "index_codecs": index_codecs}
        codecs = [{"name": "sharding_indexed", "configuration": inner | {"index_location": index_location}}]
    whole = shards or chunks
    keys = {} if said_separator is None else {"separator": separator if said_separator == "same" else said_separator}
    meta = {
        "zarr_format": 3, "node_type": "array", "shape": list(array.shape), "data_type": array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(whole)}},
        "chunk_key_encoding": {"name": key, "configuration": keys},
        "fill_value": fill if said_fill == "same" else said_fill, "codecs": codecs, "attributes": {},
    }  # fmt: skip
    write_json(path / "zarr.json", meta | metadata)

    def encoded(block: Array) -> bytes:
        block = block if transpose is None else block.transpose(transpose)
        data = compressed(block.astype(array.dtype.newbyteorder("<" if endian == "little" else ">")).tobytes(), codec)
        return data + crc32c(data) if crc else data

    def shard(index: Index) -> bytes:
        block = chunk_of(array, whole, index, fill)
        per = [s // c for s, c in zip(whole, chunks, strict=True)]
        entries = np.full((*per, 2), ABSENT, "<u8")
        at = entries.nbytes + 4 * index_crc if index_location == "start" else 0
        body = b""
        for sub in itertools.product(*map(range, per)):
            place = tuple(i * p + s for i, p, s in zip(index, per, sub, strict=True))
            outside = any(p * c >= n for p, c, n in zip(place, chunks, array.shape, strict=True))
            if outside or inner_lost(place):
                continue
            data = encoded(block[box(sub, chunks)])
            entries[sub] = at + len(body), len(data)
            body += data + b"\xee" * gap
        table = entries.tobytes()
        table += crc32c(table) if index_crc else b""
        return table + body if index_location == "start" else body + table

    for index in grid(array.shape, whole):
        if not lost(index):
            name = separator.join(["c", *map(str, index)] if key == "default" else map(str, index)) or "0"
            data = encoded(chunk_of(array, whole, index, fill)) if shards is None else shard(index)
            put(path / name, data)
    return path


# ---------------------------------------------------------------------------------------------------------- the oracles


HAS_ORACLES = all(importlib.util.find_spec(name) for name in ("zarr", "tensorstore"))


def by_zarr_python(path: Path) -> Array:
    """Return the array of a folder as zarr-python reads it, in the byte order of the machine."""
    import zarr

    got = np.asarray(zarr.open_array(str(path), mode="r")[...])
    return got.astype(got.dtype.newbyteorder("="))


def by_tensorstore(path: Path) -> Array:
    """Return the array of a folder as tensorstore reads it."""
    import tensorstore

    driver = "zarr3" if (path / "zarr.json").exists() else "zarr"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
    return np.asarray(tensorstore.open(spec, read=True).result())


def agree(path: Path, want: Array) -> None:
    """Both oracles, if they are installed, read what was meant to be written."""
    if HAS_ORACLES:
        same(by_zarr_python(path), want, "zarr-python")
        same(by_tensorstore(path), want, "tensorstore")


# ------------------------------------------------------------------------------------------------------------ Headrace


def same(got: Any, want: Array, what: object = "") -> None:
    """Equal values, bit by bit but for the bits of a NaN, of an equal dtype and shape."""
    assert (got.dtype, got.shape) == (want.dtype.newbyteorder("="), want.shape), what
    want = want.astype(got.dtype)
    if got.tobytes() == want.tobytes():
        return
    np.testing.assert_array_equal(got, want, err_msg=str(what))
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]), err_msg=str(what))


def rows_of(data: hr.Dataset, batch_size: int = 5) -> Array:
    """Return the rows of the only field, as a loader delivers them in order."""
    (name,) = data.fields
    return np.concatenate([np.array(batch[name]) for batch in hr.Loader(data, batch_size, shuffle=False, threads=2)])


def volume_of(volume: hr.Volumes, patch: Sequence[int]) -> Array:
    """Return the only array of one volume, put together from the patches of a grid."""
    patches = volume.patches(tuple(patch), stride=tuple(patch))
    (name,) = patches.fields
    (shape,) = volume.shapes
    out = np.zeros(shape, patches.fields[name].dtype)
    for batch in hr.Loader(patches, 3, shuffle=False, threads=2, provenance=True):
        for start, values in zip(batch["_start"], batch[name], strict=True):
            out[tuple(slice(at, at + n) for at, n in zip(start, patch, strict=True))] = values
    return out


def check(store: Path, array: str, want: Array, patch: Sequence[int] | None = None) -> None:
    """Compare an array of a store with what it holds, as rows and, if there is a shape of patches, as a volume."""
    name = array or store.name
    fields = {"x": array} if array else None
    same(rows_of(hr.open(store, fields)), want, (name, "rows"))
    if patch is not None:
        same(volume_of(hr.open_volume(store, fields), patch), want, (name, "patches"))


def names_place(error: hr.Error, store: Path, array: str = "", index: Index | None = None) -> None:
    """The error tells the store, the array and the chunk, in its text and as attributes."""
    text = str(error)
    assert type(error) not in (hr.Error, hr.InternalError, hr.OutOfBudgetError), repr(error)
    assert store.name in text, text
    assert error.file is not None, text
    assert str(error.file).startswith(str(store)), (error.file, text)
    assert array in text or (error.field is not None and array in error.field), (error.field, text)
    if index is not None:
        numbers = "[./]".join(map(str, index))
        named = re.search(rf"(?<!\d){numbers}(?!\d)", text)
        at = tuple(map(int, re.findall(r"\d+", error.chunk or "")))
        assert named or at == index, (error.chunk, text)


def refused(
    read: Callable[[], object],
    store: Path,
    array: str = "",
    index: Index | None = None,
    say: str = "",
    kind: Any = None,
) -> hr.Error:
    """The error that reading ends with: it names the place, and says something, in small or capital letters."""
    with pytest.raises(kind or hr.Error) as caught:
        read()
    error = caught.value
    assert isinstance(error, hr.Error)
    names_place(error, store, array, index)
    told = f"{error}\n{error.hint or ''}"
    assert re.search(say, told, re.IGNORECASE | re.DOTALL), f"{say!r} is not in {told!r}"
    return error


def outcome(path: Path, want: Array) -> hr.Error | None:
    """The error that reading ends with, or None where all values are right; nothing else may happen."""
    try:
        got = rows_of(hr.open(path))
    except hr.Error as error:
        assert isinstance(error, (hr.CorruptDataError, hr.UnsupportedError, hr.ReadFailedError)), repr(error)
        names_place(error, path)
        return error
    same(got, want)
    return None
