"""Zarr stores of which users reported that other readers give wrong values, or values that were never written.

The writers are our own, since zarr-python does not write most of these; whatever it and tensorstore read is compared
with what they read.
"""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from privileges import without_privileges
from zarr_stores import (
    HAS_ORACLES,
    Array,
    Index,
    agree,
    array2,
    array3,
    by_zarr_python,
    check,
    crc32c,
    edit_json,
    grid,
    group2,
    group3,
    names_place,
    refused,
    rows_of,
    same,
    volume_of,
    with_holes,
    write_json,
)

import headrace as hr

pytestmark = pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")
PATCH = (7, 10, 12)


def crops_are_right(volume: hr.Volumes, want: Array) -> None:
    """Patches that are drawn at random are boxes of the array."""
    loader = hr.Loader(volume.patches(PATCH, samples_per_epoch=40), 8, shuffle=True, seed=4, provenance=True)
    for batch in loader:
        (name,) = (name for name in batch if not name.startswith("_"))
        for start, got in zip(batch["_start"], batch[name], strict=True):
            same(got, want[tuple(slice(a, a + n) for a, n in zip(start, PATCH, strict=True))])


# ---------------------------------------------- ome/napari-ome-zarr#91 and #39, fideus-labs/ngff-zarr#60: the separator

CHUNKS = (12, 16, 16)


@pytest.fixture(scope="module")
def bright() -> Array:
    """A volume without zeros, so that fill shows."""
    return np.random.default_rng(41).integers(1, 60000, (22, 30, 37)).astype("u2")


def ome_zarr(store: Path, values: Array, **options: Any) -> Path:
    """A store as microscopes write it: scales, of which there is one, and their metadata."""
    group2(store)
    axes = [{"name": name, "type": "space", "unit": "nanometer"} for name in "zyx"]
    scale = {"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [8, 8, 8]}]}
    write_json(store / ".zattrs", {"multiscales": [{"version": "0.4", "axes": axes, "datasets": [scale]}]})
    array2(store / "s0", values, CHUNKS, **options)
    return store


@pytest.mark.parametrize(("separator", "said"), [(".", "."), ("/", "/"), (".", None)], ids=str)
def test_a_separator_that_is_right(tmp_path: Path, bright: Array, separator: str, said: str | None) -> None:
    """Without dimension_separator it is a dot."""
    store = ome_zarr(tmp_path / "v.zarr", bright, separator=separator, said_separator=said)
    agree(store / "s0", bright)
    check(store, "s0", bright, PATCH)
    check(store / "s0", "", bright, PATCH)
    assert list(hr.open(store).fields) == ["s0"]


@pytest.mark.parametrize(("separator", "said"), [("/", None), (".", "/"), ("/", ".")], ids=str)
def test_a_separator_that_is_wrong_gives_no_zeros(
    tmp_path: Path, bright: Array, separator: str, said: str | None
) -> None:
    store = ome_zarr(tmp_path / "v.zarr", bright, separator=separator, said_separator=said)
    if HAS_ORACLES:
        assert not by_zarr_python(store / "s0").any()  # the report
    refused(lambda: rows_of(hr.open(store, {"x": "s0"})), store, "s0", say="separator")
    refused(lambda: rows_of(hr.open(store / "s0")), store, "s0", say="separator")
    refused(lambda: volume_of(hr.open_volume(store, {"x": "s0"}), PATCH), store, "s0", say="separator")


@pytest.mark.parametrize("said", [".", "/"])
@pytest.mark.parametrize("key", ["default", "v2"])
def test_separators_of_version_3(tmp_path: Path, bright: Array, key: str, said: str) -> None:
    right = array3(tmp_path / "right.zarr", bright, CHUNKS, key=key, separator=said)
    agree(right, bright)
    check(right, "", bright, PATCH)
    other = "/" if said == "." else "."
    wrong = array3(tmp_path / "wrong.zarr", bright, CHUNKS, key=key, separator=other, said_separator=said)
    refused(lambda: rows_of(hr.open(wrong)), wrong, say="separator")


@pytest.mark.parametrize(("key", "separator"), [("default", "/"), ("v2", ".")])
def test_separators_of_version_3_that_are_not_said(tmp_path: Path, bright: Array, key: str, separator: str) -> None:
    path = array3(tmp_path / "v.zarr", bright, CHUNKS, key=key, separator=separator, said_separator=None)
    agree(path, bright)
    check(path, "", bright, PATCH)


@pytest.mark.parametrize("said", [".", "/", None])
def test_names_of_one_number_have_no_separator(tmp_path: Path, said: str | None) -> None:
    values = np.arange(1, 50, dtype="i4")
    path = array2(tmp_path / "v.zarr", values, (8,), said_separator=said)
    agree(path, values)
    check(path, "", values)


# ---------------------------------- zarr-developers/zarr-python#486, pydata/xarray#9701 and #8842: chunks that are lost

LOST = {(0, 1, 0), (1, 1, 1), (2, 0, 2)}
SMALL = (8, 8, 8)
BAD: Index = (2, 1, 0)


@pytest.fixture(scope="module")
def noise() -> Array:
    return np.random.default_rng(42).random((24, 20, 24)).astype("f4") + 1


@pytest.mark.parametrize(
    ("said", "fill"),
    [("NaN", np.nan), ("Infinity", np.inf), ("-Infinity", -np.inf), (7, 7), (-0.5, -0.5), (None, 0)],
    ids=str,
)
def test_a_chunk_that_was_never_written_is_fill(tmp_path: Path, noise: Array, said: Any, fill: float) -> None:
    want = with_holes(noise, SMALL, fill, LOST.__contains__)
    paths = [array2(tmp_path / "2.zarr", noise, SMALL, said_fill=said, lost=LOST.__contains__)]
    if said is not None:
        paths.append(array3(tmp_path / "3.zarr", noise, SMALL, said_fill=said, lost=LOST.__contains__))
    for path in paths:
        agree(path, want)
        check(path, "", want, PATCH)


@pytest.mark.parametrize("write", [array2, array3], ids=["2", "3"])
def test_an_array_of_which_nothing_was_written_is_fill(tmp_path: Path, noise: Array, write: Any) -> None:
    path = write(tmp_path / "v.zarr", noise, SMALL, said_fill=3, lost=lambda _: True)
    want = np.full_like(noise, 3)
    agree(path, want)
    check(path, "", want, PATCH)


@pytest.mark.parametrize("write", [array2, array3], ids=["2", "3"])
def test_how_many_chunks_were_never_written_is_said(tmp_path: Path, noise: Array, write: Any) -> None:
    path = write(tmp_path / "v.zarr", noise, SMALL, lost=LOST.__contains__)
    assert "3 chunks are not there" in " ".join(str(hr.verify(path)).split())
    assert "nothing was ever written" not in str(hr.inspect(path))
    none = write(tmp_path / "none.zarr", noise, SMALL, lost=lambda _: True)
    assert "27 chunks are not there" in " ".join(str(hr.verify(none)).split())
    assert "nothing was ever written" in " ".join(str(hr.inspect(none)).split())


def test_how_many_chunks_of_shards_were_never_written_is_said(tmp_path: Path, noise: Array) -> None:
    path = array3(tmp_path / "v.zarr", noise, (4, 4, 8), shards=SMALL, inner_lost=lambda i: i in {(0, 0, 0), (5, 1, 2)})
    assert "2 chunks are not there" in " ".join(str(hr.verify(path)).split())


FILLS3 = [
    ("float32", "0x7fc00000", np.uint32(0x7FC00000)),
    ("float32", "0xffc00001", np.uint32(0xFFC00001)),
    ("float16", "0x7e01", np.uint16(0x7E01)),
    ("float64", "0x7ff8000000000000", np.uint64(0x7FF8 << 48)),
    ("float64", "0x3ff0000000000000", np.uint64(0x3FF0 << 48)),
    ("float64", 1e-3, None),
    ("complex64", [1.5, -2], None),
    ("complex128", ["NaN", "-Infinity"], None),
    ("complex64", ["0x7fc00000", 1], None),
    ("bool", True, None),
    ("int8", -128, None),
    ("int64", -(2**63), None),
    ("int64", 2**53 + 1, None),
    ("uint64", 2**64 - 1, None),
]


@pytest.mark.parametrize(("dtype", "said", "bits"), FILLS3, ids=str)
def test_fill_values_of_version_3(tmp_path: Path, dtype: str, said: Any, bits: Any) -> None:
    """Also as the bits of a float."""
    values = np.zeros((5, 4), dtype)
    path = array3(tmp_path / "v.zarr", values, (2, 3), said_fill=said, lost=lambda index: index == (1, 0))
    if bits is not None:
        fill = bits.view(dtype)
    elif isinstance(said, list):
        parts = [{"NaN": np.nan, "-Infinity": -np.inf, "0x7fc00000": np.nan}.get(part, part) for part in said]
        fill = np.dtype(dtype).type(complex(*parts))
    else:
        fill = np.dtype(dtype).type(said)
    want = values.copy()
    want[2:4, :3] = fill
    got = rows_of(hr.open(path))
    same(got, want)
    assert bits is None or got[2:4, :3].tobytes() == bytes(6 * bits.tobytes())


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "<f4", ">f8"])
def test_fill_values_that_are_floats(tmp_path: Path, dtype: str) -> None:
    """Zeros, the smallest and the largest ones, and what lies between two of the type: the nearest, as NumPy rounds."""
    random = np.random.default_rng(8)
    said = [0, 0.0, -0.0, 1, -2.25, 0.1, 1e-7, 6e-8, 2.9e-8, 3.1e-8, 6.1e-5, 65504, 65519, 2049, 2051, 1 + 2**-11]
    said += (random.normal(size=40) * 10.0 ** random.integers(-8, 4, 40)).tolist()
    wrong = []
    for number, value in enumerate(said):
        native = np.dtype(dtype).newbyteorder("=")
        paths = [array2(tmp_path / f"2_{number}", np.zeros(2, dtype), (2,), said_fill=value, lost=lambda _: True)]
        if dtype[0] == "<":
            zeros = np.zeros(2, native)
            paths.append(array3(tmp_path / f"3_{number}", zeros, (2,), said_fill=value, lost=lambda _: True))
        for path in paths:
            got, want = rows_of(hr.open(path)), np.full(2, value, native)
            if got.tobytes() != want.tobytes():
                wrong.append((path.name, value, got[0], want[0]))
    assert not wrong, wrong


FILLS2 = [
    ("<i8", -(2**63), -(2**63)),
    ("<u8", 2**64 - 1, 2**64 - 1),
    (">u2", 513, 513),
    (">f8", -1.25, -1.25),
    ("<f2", "NaN", np.nan),
    ("|b1", True, True),
    ("|b1", None, False),
    ("<c8", [1.5, -2], 1.5 - 2j),
    ("<c16", ["NaN", "Infinity"], complex(np.nan, np.inf)),
    ("|S5", "aGVsbG8=", b"hello"),
    ("|S5", "aGkAAAA=", b"hi"),
    ("|S5", None, b""),
]


@pytest.mark.parametrize(("dtype", "said", "fill"), FILLS2, ids=str)
def test_fill_values_of_version_2(tmp_path: Path, dtype: str, said: Any, fill: Any) -> None:
    """Those of text are in base64."""
    values = np.zeros((5, 4), dtype)
    path = array2(tmp_path / "v.zarr", values, (2, 3), fill=values[0, 0], said_fill=said, lost=lambda i: i == (1, 0))
    want = values.copy()
    want[2:4, :3] = fill
    if HAS_ORACLES:
        same(by_zarr_python(path), want.astype(want.dtype.newbyteorder("=")), "zarr-python")
    same(rows_of(hr.open(path)), want)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


def longer(path: Path) -> None:
    """One value more than a chunk has."""
    data = path.read_bytes()
    if len(data) == 8 * 8 * 8 * 4:
        path.write_bytes(data + bytes(4))
    elif data[:2] == b"\x1f\x8b":
        path.write_bytes(gzip.compress(gzip.decompress(data) + bytes(4)))
    else:
        path.write_bytes(zlib.compress(zlib.decompress(data) + bytes(4)))


DAMAGES = [empty, cut, last_byte, folder, dangling, longer]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize(("version", "codec"), [(2, "zlib"), (2, "gzip"), (2, None), (3, "gzip"), (3, None)], ids=str)
def test_a_chunk_that_cannot_be_read_is_named(
    tmp_path: Path, noise: Array, version: int, codec: str | None, damage: Any
) -> None:
    """It is not fill."""
    store = tmp_path / "v.zarr"
    if version == 2:
        array2(group2(store) / "em/s0", noise, SMALL, codec=codec, said_fill=None)
        chunk = store / "em/s0/2.1.0"
    else:
        array3(group3(store) / "em/s0", noise, SMALL, codec=codec)
        chunk = store / "em/s0/c/2/1/0"
    damage(chunk)
    refused(lambda: rows_of(hr.open(store, {"x": "em/s0"})), store, "em/s0", BAD)
    refused(lambda: volume_of(hr.open_volume(store, {"x": "em/s0"}), PATCH), store, "em/s0", BAD)
    try:
        same(hr.open(store, {"x": "em/s0"})["x"][:16], noise[:16])  # which are in other chunks
    except hr.CorruptDataError as error:
        names_place(error, store, "em/s0", BAD)


def test_a_chunk_that_may_not_be_read_is_named(noise: Array) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        store = array2(Path(folder) / "v.zarr", noise, SMALL)
        (store / "2.1.0").chmod(0)
        with without_privileges():
            assert not os.access(store / "2.1.0", os.R_OK, effective_ids=True)
            refused(lambda: rows_of(hr.open(store)), store, index=BAD, kind=PermissionError)


# --------------------------------------------- manzt/zarrita.js#424, zarr-developers/zarr-python#2302 and #2030: shards

INNER, SHARD = (4, 8, 8), (8, 16, 32)


@pytest.fixture(scope="module")
def counts() -> Array:
    return np.random.default_rng(44).integers(1, 65000, (26, 35, 45)).astype("u2")


def some(index: Index) -> bool:
    """Every fifth inner chunk."""
    return sum(index) % 5 == 0


SHARDS: dict[str, dict[str, Any]] = {
    "end_crc": {},
    "start_crc": {"index_location": "start"},
    "end_plain": {"index_crc": False},
    "start_plain": {"index_location": "start", "index_crc": False},
    "inner_crc": {"crc": True},
    "raw": {"codec": None},
    "raw_at_start": {"codec": None, "index_location": "start"},
    "one_row": {"chunks": (1, 35, 45), "shards": (10, 35, 45)},
    "one_inner": {"chunks": SHARD},
    "gaps": {"gap": 5},
    "gaps_after_index": {"gap": 5, "index_location": "start"},
    "big_endian": {"endian": "big"},
    "transposed": {"transpose": (2, 0, 1)},
    "transposed_raw": {"transpose": (1, 2, 0), "codec": None},
    "names_with_dots": {"separator": "."},
    "names_of_version_2": {"key": "v2", "separator": "."},
    "absent": {"fill": 9, "inner_lost": some},
    "absent_raw": {"fill": 9, "inner_lost": some, "codec": None},
    "all_absent": {"fill": 9, "inner_lost": lambda index: index[0] < 2},
    "lost_shard": {"fill": 9, "lost": lambda index: index == (1, 1, 0)},
}


@pytest.mark.parametrize("name", SHARDS)
def test_shards(tmp_path: Path, counts: Array, name: str) -> None:
    options = {"chunks": INNER, "shards": SHARD} | SHARDS[name]
    path = array3(tmp_path / "v.zarr", counts, **options)
    want = with_holes(counts, options["chunks"], 9, options.get("inner_lost", lambda _: False))
    want = with_holes(want, options["shards"], 9, options.get("lost", lambda _: False))
    agree(path, want)
    check(path, "", want, PATCH)
    crops_are_right(hr.open_volume(path), want)


def test_shards_are_shuffled_by_rows(tmp_path: Path, counts: Array) -> None:
    path = array3(tmp_path / "v.zarr", counts, (1, 35, 45), shards=(10, 35, 45))
    data = hr.open(path)
    (name,) = data.fields
    loader = hr.Loader(data, 4, shuffle=True, seed=2)
    got = [np.array(row) for batch in loader for row in batch[name]]
    assert sorted(row.tobytes() for row in got) == sorted(row.tobytes() for row in counts)


def test_a_crowd_of_crops_gives_what_one_reader_gives(tmp_path: Path, counts: Array) -> None:
    """On four threads, of shards whose inner chunks are many."""
    path = array3(tmp_path / "v.zarr", counts, (2, 4, 4), shards=(16, 32, 32), index_location="start")
    loader = hr.Loader(
        hr.open_volume(path).patches((3, 5, 6), samples_per_epoch=300), 16, shuffle=True, threads=4, provenance=True
    )
    for batch in loader:
        (name,) = (name for name in batch if not name.startswith("_"))
        for start, got in zip(batch["_start"], batch[name], strict=True):
            same(got, counts[tuple(slice(a, a + n) for a, n in zip(start, (3, 5, 6), strict=True))])


def damaged_shard(path: Path, counts: Array, change: Any, **options: Any) -> Path:
    """An array of which one shard is changed, and that shard's index is checked again if it has a checksum."""
    array3(path, counts, INNER, shards=SHARD, **options)
    file = path / "c" / "1" / "1" / "1"
    data = bytearray(file.read_bytes())
    change(data)
    file.write_bytes(data)
    return path


TABLE = 2 * 2 * 4 * 16  # bytes of the index


def set_entry(data: bytearray, at: int, value: int) -> None:
    """Put a number into the index at the end of a shard, and its checksum after it."""
    begin = len(data) - TABLE - 4
    data[begin + 8 * at : begin + 8 * at + 8] = value.to_bytes(8, "little")
    data[-4:] = crc32c(bytes(data[begin:-4]))


def flip_crc(data: bytearray) -> None:
    data[-1] ^= 1


def flip_index(data: bytearray) -> None:
    data[-TABLE] ^= 1


def cut_index(data: bytearray) -> None:
    del data[: len(data) - 100]


def no_bytes(data: bytearray) -> None:
    data.clear()


SHARD_DAMAGES: dict[str, tuple[Any, str]] = {
    "checksum": (flip_crc, "checksum|crc32c"),
    "index": (flip_index, "checksum|crc32c"),
    "shorter_than_its_index": (cut_index, ""),
    "empty": (no_bytes, ""),
    "cut_at_its_end": (lambda data: data.pop(), ""),
    "offset_outside": (lambda data: set_entry(data, 0, 2**40), ""),
    "offset_at_2**63": (lambda data: set_entry(data, 0, 2**63), ""),
    "offset_that_wraps": (lambda data: set_entry(data, 0, 2**64 - 2), ""),
    "size_outside": (lambda data: set_entry(data, 1, 2**40), ""),
    "size_that_wraps": (lambda data: set_entry(data, 1, 2**64 - 2), ""),
    "size_of_zero": (lambda data: set_entry(data, 1, 0), ""),
    "one_byte_less": (lambda data: set_entry(data, 1, int.from_bytes(data[-TABLE + 4 :][:8], "little") - 1), ""),
}


@pytest.mark.parametrize("name", SHARD_DAMAGES)
def test_a_shard_that_is_damaged_is_named(tmp_path: Path, counts: Array, name: str) -> None:
    change, say = SHARD_DAMAGES[name]
    path = damaged_shard(tmp_path / "v.zarr", counts, change)
    error = refused(lambda: rows_of(hr.open(path)), path, say=say, kind=hr.CorruptDataError)
    assert "c/1/1/1" in str(error)
    try:
        same(next(iter(hr.open(path)[:8].values())), counts[:8])  # which are in other shards
    except hr.CorruptDataError as error:
        assert "c/1/1/1" in str(error)


@pytest.mark.parametrize("at", ["start", "end"])
def test_offsets_without_a_checksum_are_compared_with_the_shard(tmp_path: Path, counts: Array, at: str) -> None:
    def change(data: bytearray) -> None:
        begin = 0 if at == "start" else len(data) - TABLE
        data[begin : begin + 8] = (2**40).to_bytes(8, "little")

    path = damaged_shard(tmp_path / "v.zarr", counts, change, index_location=at, index_crc=False)
    refused(lambda: rows_of(hr.open(path)), path, kind=hr.CorruptDataError)


def test_a_checksum_inside_a_shard_is_compared(tmp_path: Path, counts: Array) -> None:
    def change(data: bytearray) -> None:
        data[1000] ^= 4

    path = damaged_shard(tmp_path / "v.zarr", counts, change, crc=True, codec=None)
    refused(lambda: rows_of(hr.open(path)), path, say="checksum|crc32c", kind=hr.CorruptDataError)


def test_an_index_that_is_compressed_is_refused(tmp_path: Path, counts: Array) -> None:
    """Its size would not be known."""
    path = array3(tmp_path / "v.zarr", counts, INNER, shards=SHARD)
    codec = {"name": "gzip", "configuration": {"level": 1}}
    edit_json(path / "zarr.json", lambda meta: meta["codecs"][0]["configuration"]["index_codecs"].append(codec))
    refused(lambda: hr.open(path), path, say="index.*gzip|gzip.*index")


def test_the_grid_of_the_writers_is_whole() -> None:
    assert len(list(grid((26, 35, 45), INNER))) == 7 * 5 * 6
