"""HDF5's own filters szip, n-bit and scale-offset: equal to h5py, and damaged or crafted chunks are errors."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

Filters = list[Callable[[Any], None]]
ROWS, CHUNK, WIDTH = 50, 16, 9
CHUNK_BYTES = CHUNK * WIDTH * 4


def gzip(plist: Any) -> None:
    plist.set_deflate(4)


def shuffle(plist: Any) -> None:
    plist.set_shuffle()


def fletcher32(plist: Any) -> None:
    plist.set_fletcher32()


def nbit(plist: Any) -> None:
    plist.set_filter(h5py.h5z.FILTER_NBIT)


def scaled_integers(plist: Any) -> None:
    plist.set_scaleoffset(h5py.h5z.SO_INT, 0)


def integers_in_12_bits(plist: Any) -> None:
    plist.set_scaleoffset(h5py.h5z.SO_INT, 12)


def scaled_floats(plist: Any) -> None:
    plist.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 3)


def szip_nn(plist: Any) -> None:
    plist.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 8)


def szip_ec(plist: Any) -> None:
    plist.set_szip(h5py.h5z.SZIP_EC_OPTION_MASK, 16)


def write(path: Path, values: np.ndarray, filters: Filters, fill: Any = None) -> None:
    """Write the dataset x with the filters in this order, which h5py's own arguments cannot say."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((CHUNK, *values.shape[1:]))
    if fill is not None:
        plist.set_fill_value(np.asarray(fill, values.dtype))
    for add in filters:
        add(plist)
    with h5py.File(path, "w", libver="earliest") as file:
        kind = h5py.h5t.py_create(values.dtype, logical=True)
        space = h5py.h5s.create_simple(values.shape)
        h5py.Dataset(h5py.h5d.create(file.id, b"x", kind, space, plist))[...] = values


def numbers(dtype: str) -> np.ndarray:
    i = np.arange(ROWS * WIDTH, dtype=np.int64).reshape(ROWS, WIDTH)
    if np.dtype(dtype).kind == "f":
        return (np.sin(i) * 321.987).astype(dtype)
    return ((i * i) % 97 - (40 if np.dtype(dtype).kind == "i" else 0)).astype(dtype)


INTEGERS = ("i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u8", ">i8")
FLOATS = ("<f4", ">f4", "<f8", ">f8")
CASES = (
    [(scaled_integers, dtype) for dtype in INTEGERS]
    + [(integers_in_12_bits, dtype) for dtype in ("<i2", ">i4", "<u8")]
    + [(scaled_floats, dtype) for dtype in FLOATS]
    + [(nbit, dtype) for dtype in ("<i2", ">f8")]
    + [(szip, dtype) for szip in (szip_nn, szip_ec) for dtype in (*INTEGERS, *FLOATS)]
)
AROUND: dict[str, tuple[Filters, Filters]] = {
    "alone": ([], []),
    "before gzip": ([], [gzip]),
    "behind shuffle": ([shuffle], []),
    "before fletcher32": ([], [fletcher32]),
    "among all": ([shuffle], [gzip, fletcher32]),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("own", "dtype"), CASES, ids=[f"{own.__name__} {dtype}" for own, dtype in CASES])
def test_equals_h5py(tmp_path: Path, own: Callable[[Any], None], dtype: str, around: str) -> None:
    before, behind = AROUND[around]
    path = tmp_path / "a.h5"
    values = numbers(dtype)
    write(path, values, [*before, own, *behind])
    want = values
    if own in (integers_in_12_bits, scaled_floats):  # these lose bits; libhdf5 1.14 cannot read n-bit between others
        with h5py.File(path) as file:
            want = file["x"][:]
    dataset = hr.open(path)
    assert dataset.fields["x"].read_path == "native"
    got = dataset[:]["x"]
    assert got.tobytes() == want.astype(got.dtype).tobytes(), "equal to the bit, floats too"


@pytest.mark.parametrize("dtype", ["<i2", ">i4", "<f4", ">f8"])
def test_fill_values_come_back(tmp_path: Path, dtype: str) -> None:
    values = numbers(dtype)
    values[::3] = -99
    values[32:48] = -99  # a whole chunk
    write(tmp_path / "a.h5", values, [scaled_floats if "f" in dtype else scaled_integers], fill=-99)
    with h5py.File(tmp_path / "a.h5") as file:
        want = file["x"][:]
    assert (want[::3] == -99).all()
    assert np.array_equal(hr.open(tmp_path / "a.h5")[:]["x"], want)


@pytest.mark.parametrize("behind", [[], [gzip], [gzip, fletcher32]], ids=["alone", "gzip", "gzip + fletcher32"])
def test_nbit_of_records_leaves_out_their_padding(tmp_path: Path, behind: Filters) -> None:
    inner = np.dtype([("k", ">i2"), ("s", "S3")])
    dtype = np.dtype([("a", "u1"), ("b", "<f8"), ("v", ">i4", (2, 3)), ("r", inner, (2,))], align=True)
    values = np.zeros(ROWS, dtype)
    values["a"], values["b"] = np.arange(ROWS), np.sin(np.arange(ROWS))
    values["v"] = np.arange(ROWS * 6).reshape(ROWS, 2, 3) - 70
    values["r"]["k"], values["r"]["s"] = np.arange(ROWS)[:, None] - 25, b"xyz"
    write(tmp_path / "a.h5", values, [nbit, *behind])
    dataset = hr.open(tmp_path / "a.h5")
    assert {info.read_path for info in dataset.fields.values()} == {"native"}
    got = dataset[:]
    for name, want in {"x.a": values["a"], "x.b": values["b"], "x.v": values["v"], "x.r.k": values["r"]["k"]}.items():
        assert np.array_equal(got[name], want), name
    assert (got["x.r.s"] == b"xyz").all()


def change_parameter(path: Path, index: int, value: int) -> None:
    """Change a parameter of x's first filter where it is stored."""
    with h5py.File(path) as file:
        values = list(file["x"].id.get_create_plist().get_filter(0)[2])
    stored = struct.pack(f"<{len(values)}I", *values)
    values[index] = value
    content = path.read_bytes()
    assert content.count(stored) == 1
    path.write_bytes(content.replace(stored, struct.pack(f"<{len(values)}I", *values)))


def head(bits: int, minimum_bytes: int = 8) -> bytes:
    return struct.pack("<IBQQ", bits, minimum_bytes, 0, 0)


CRAFTED: dict[str, tuple[Filters, bytes, str]] = {
    "scaleoffset: short header": ([scaled_integers], b"abc", "3 bytes cannot hold the header"),
    "scaleoffset: too many bits": ([scaled_integers], head(33) + bytes(500), "33 bits for elements of 4 bytes"),
    "scaleoffset: short": ([scaled_integers], head(31) + bytes(10), f"31 bytes, {21 + CHUNK_BYTES // 32 * 31} needed"),
    "scaleoffset: full and short": ([scaled_integers], head(32), f"21 bytes, {21 + CHUNK_BYTES} needed"),
    "scaleoffset: odd minimum": ([scaled_integers], head(3, 200) + bytes(200), "a minimum of 200 bytes"),
    "scaleoffset + gzip: short": ([scaled_integers, gzip], zlib.compress(b"abc"), "3 bytes cannot hold the header"),
    "scaleoffset + gzip: bits": ([scaled_integers, gzip], zlib.compress(head(2**31)), "2147483648 bits"),
    "scaleoffset + gzip: bomb": ([scaled_integers, gzip], zlib.compress(bytes(1 << 25)), "deflate"),
    "nbit: short": ([nbit], bytes(100), "100 bytes to decode, 576 expected"),
    "nbit + gzip: short": ([nbit, gzip], zlib.compress(bytes(100)), "decodes to 100 bytes, 576 expected"),
    "nbit + gzip: bomb": ([nbit, gzip], zlib.compress(bytes(1 << 25)), "deflate"),
    "szip: nothing but the length": ([szip_nn], struct.pack("<I", CHUNK_BYTES), "ends after 0 of 576 bytes"),
    "szip: too long": ([szip_nn], struct.pack("<I", 1 << 31) + bytes(99), "says 2147483648 bytes where 576"),
    "szip: too short": ([szip_nn], struct.pack("<I", 0) + bytes(99), "decodes to 0 bytes, 576 expected"),
    "szip: false block": ([szip_nn], struct.pack("<I", CHUNK_BYTES) + bytes([0, 0, 1]) * 500, "damaged stream"),
    "szip + gzip: short": ([szip_nn, gzip], zlib.compress(struct.pack("<I", CHUNK_BYTES)), "ends after 0 of 576"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_chunks_are_errors(tmp_path: Path, name: str) -> None:
    filters, stored, text = CRAFTED[name]
    path = tmp_path / "a.h5"
    values = numbers("<i4")
    write(path, values, filters)
    with h5py.File(path, "r+") as file:
        file["x"].id.write_direct_chunk((CHUNK, 0), stored)
    dataset = hr.open(path)
    with pytest.raises(hr.CorruptDataError) as caught:
        dataset[CHUNK + 3]
    error = caught.value
    assert (error.file, error.field, error.chunk) == (str(path), "x", "(1,0)")
    assert text in str(error)
    assert np.array_equal(dataset[:CHUNK]["x"], values[:CHUNK]), "the others can be read"
    with pytest.raises(hr.CorruptDataError):
        list(hr.Loader(dataset, 10))


@pytest.mark.parametrize("behind", [[], [gzip]], ids=["alone", "before gzip"])
def test_nbit_streams_that_end_early_are_errors(tmp_path: Path, behind: Filters) -> None:
    values = numbers(">i4")
    path = tmp_path / "a.h5"
    write(path, values, [nbit, *behind])
    change_parameter(path, 1, 0)  # "something to do": every bit of big-endian numbers, in the order they have anyway
    assert np.array_equal(hr.open(path)[:]["x"], values)
    short = bytes(CHUNK_BYTES - 1)
    with h5py.File(path, "r+") as file:
        file["x"].id.write_direct_chunk((CHUNK, 0), zlib.compress(short) if behind else short)
    with pytest.raises(hr.CorruptDataError, match="575 bytes, 576 needed"):
        hr.open(path)[CHUNK]


@pytest.mark.parametrize("bits", [17, 24, 31])
def test_nbit_of_numbers_that_use_some_bits(tmp_path: Path, bits: int) -> None:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(bits)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((CHUNK, WIDTH))
    nbit(plist)
    values = numbers("<i4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        space = h5py.h5s.create_simple(values.shape)
        h5py.Dataset(h5py.h5d.create(file.id, b"x", kind, space, plist))[...] = values
    assert np.array_equal(hr.open(tmp_path / "a.h5")[:]["x"], values)


PARAMETERS: list[tuple[Callable[[Any], None], int, int, str]] = [
    (szip_nn, 1, 0, "blocks of 0 pixels"),
    (szip_nn, 1, 7, "blocks of 7 pixels"),
    (szip_nn, 2, 31, "pixels of 31 bits"),
    (szip_nn, 3, 0, "scanlines of 0 pixels"),
    (szip_nn, 3, 2**31, "scanlines of 2147483648 pixels"),
    (scaled_integers, 2, CHUNK * WIDTH + 1, "145 elements of 4 bytes"),
    (scaled_integers, 4, 8, "144 elements of 8 bytes"),
    (scaled_integers, 0, 1, "no way to scale has number 1"),
    (nbit, 2, 2**30, "1073741824 elements"),
    (nbit, 1, 5, "'nothing to do' is 5"),
]


@pytest.mark.parametrize(("own", "index", "value", "text"), PARAMETERS)
def test_crafted_parameters_are_refused(
    tmp_path: Path, own: Callable[[Any], None], index: int, value: int, text: str
) -> None:
    path = tmp_path / "a.h5"
    write(path, numbers("<i4"), [own])
    change_parameter(path, index, value)
    with pytest.raises(hr.UnsupportedError, match=text) as caught:
        hr.open(path, fields=["x"])
    assert (caught.value.file, caught.value.field) == (str(path), "x")
    assert "filter" in str(caught.value)
