"""Numbers that NumPy does not have: converted by libhdf5, from bytes that Headrace has read, decoded and measured."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from memory_files import PEAK_BYTES

import headrace as hr

pytestmark = pytest.mark.fast

I4, I8 = h5py.h5t.NATIVE_INT32, h5py.h5t.NATIVE_INT64
F4, F8 = h5py.h5t.NATIVE_FLOAT, h5py.h5t.NATIVE_DOUBLE


def integer(like: Any, bits: int, size: int, offset: int = 0) -> Any:
    """Make a type of ``bits`` bits from bit ``offset`` on, in ``size`` bytes."""
    made = like.copy()
    made.set_precision(bits)
    made.set_offset(offset)
    made.set_size(size)
    return made


def floating(order: int, size: int, exponent: int, mantissa: int) -> Any:
    """Make a type of a sign, ``exponent`` and ``mantissa`` bits, which fill ``size`` bytes."""
    made = (h5py.h5t.IEEE_F32LE if size <= 4 else h5py.h5t.IEEE_F64LE).copy()
    made.set_fields(exponent + mantissa, mantissa, exponent, 0, mantissa)
    made.set_size(size)
    made.set_precision(8 * size)
    made.set_ebias(2 ** (exponent - 1) - 1)
    made.set_order(order)
    return made


LE, BE = h5py.h5t.ORDER_LE, h5py.h5t.ORDER_BE
STD = h5py.h5t
# name: (stored type, type to write and read with, least value, largest value)
TYPES: dict[str, tuple[Any, Any, int, int]] = {
    "24 bits": (integer(STD.STD_I32LE, 24, 3), I4, -(2**23), 2**23 - 1),
    "24 bits, big-endian": (integer(STD.STD_I32BE, 24, 3), I4, -(2**23), 2**23 - 1),
    "24 bits, unsigned": (integer(STD.STD_U32LE, 24, 3), STD.NATIVE_UINT32, 0, 2**24 - 1),
    "24 bits, unsigned, big-endian": (integer(STD.STD_U32BE, 24, 3), STD.NATIVE_UINT32, 0, 2**24 - 1),
    "12 bits at 4 in 16": (integer(STD.STD_U16LE, 12, 2, 4), STD.NATIVE_UINT16, 0, 2**12 - 1),
    "12 bits at 4 in 16, big-endian": (integer(STD.STD_I16BE, 12, 2, 4), STD.NATIVE_INT16, -(2**11), 2**11 - 1),
    "40 bits": (integer(STD.STD_I64LE, 40, 5), I8, -(2**39), 2**39 - 1),
    "3-byte floats": (floating(LE, 3, 8, 15), F4, -1000, 1000),
    "3-byte floats, big-endian": (floating(BE, 3, 8, 15), F4, -1000, 1000),
    "bfloat16": (floating(LE, 2, 8, 7), F4, -100, 100),
    "5-byte floats": (floating(LE, 5, 11, 28), F8, -1000, 1000),
    "long double": (STD.NATIVE_LDOUBLE.copy(), F8, -1000, 1000),
}
# shape, chunk: the last chunk of each axis reaches past the end
SHAPES = {1: ((1003,), (64,)), 2: ((61, 7), (8, 3)), 3: ((23, 5, 6), (4, 2, 4))}
LAYOUTS = ("contiguous", "compact", "external", "chunks", "gzip", "shuffle + gzip", "fletcher32", "all")


def creation_list(layout: str, chunk: tuple[int, ...], raw: Path, size: int) -> Any:
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if layout == "compact":
        made.set_layout(h5py.h5d.COMPACT)
    elif layout == "external":
        made.set_external(os.fsencode(raw.name), 8, size)
        raw.write_bytes(bytes(8))
    elif layout != "contiguous":
        made.set_chunk(chunk)
        if layout in ("shuffle + gzip", "all"):
            made.set_shuffle()
        if layout in ("gzip", "shuffle + gzip", "all"):
            made.set_deflate(4)
        if layout in ("fletcher32", "all"):
            made.set_fletcher32()
    return made


def numpy_of(memory: Any) -> np.dtype[Any]:
    return np.dtype(memory.dtype)


def new_dataset(file: h5py.File, name: str, stored: Any, shape: tuple[int, ...], made: Any) -> Any:
    return h5py.h5d.create(file.id, name.encode(), stored, h5py.h5s.create_simple(shape), made)


def write(dataset: Any, memory: Any, values: np.ndarray) -> None:
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=memory)


def read(dataset: Any, memory: Any) -> np.ndarray:
    """What libhdf5 makes of it."""
    values = np.empty(dataset.shape, numpy_of(memory))
    dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=memory)
    return values


def check_equal(path: Path, want: np.ndarray) -> None:
    """Slices, rows in any order and batches, shuffled or not."""
    dataset = hr.open(path, fields=["x"])
    info = dataset.fields["x"]
    assert info.dtype == want.dtype
    random = np.random.default_rng(2)
    rows = len(want)
    assert np.array_equal(dataset[:]["x"], want)
    for _ in range(5):
        first, end = sorted(random.integers(0, rows + 1, 2))
        assert np.array_equal(dataset[first:end]["x"], want[first:end])
    some = random.integers(0, rows, 17)
    assert np.array_equal(dataset[some]["x"], want[some])
    assert np.array_equal(dataset[rows - 1]["x"], want[-1])
    batches = [batch["x"] for batch in hr.Loader(dataset, 13, threads=2)]
    assert np.array_equal(np.concatenate(batches), want)
    kept = hr.Loader(dataset, 13, cache="ram", threads=2)  # decoded where it is kept
    for _ in range(2):
        assert np.array_equal(np.concatenate([batch["x"] for batch in kept]), want)
    shuffled = np.concatenate([batch["x"] for batch in hr.Loader(dataset, 13, shuffle=True, threads=2)])
    key = (rows, -1)
    assert sorted(map(bytes, shuffled.reshape(key))) == sorted(map(bytes, want.reshape(key)))


@pytest.mark.parametrize("name", TYPES)
def test_equals_what_libhdf5_reads(tmp_path: Path, name: str) -> None:
    stored, memory, least, largest = TYPES[name]
    random = np.random.default_rng(1)
    for layout in LAYOUTS:
        for rank, (shape, chunk) in SHAPES.items():
            path = tmp_path / f"{rank}.h5"
            values = random.integers(least, largest + 1, shape).astype(numpy_of(memory))
            values.flat[:2] = least, largest
            made = creation_list(layout, chunk, tmp_path / f"{rank}.raw", values.size * stored.get_size())
            with h5py.File(path, "w", libver="earliest" if rank < 3 else "v110") as file:
                dataset = new_dataset(file, "x", stored, shape, made)
                # External files are found from the working directory when writing.
                here = Path.cwd()
                os.chdir(tmp_path)
                try:
                    write(dataset, memory, values)
                    want = read(dataset, memory)
                finally:
                    os.chdir(here)
            if memory not in (F4, F8):
                assert np.array_equal(want, values)
            check_equal(path, want)
            if layout not in ("external",):
                assert hr.open(path).fields["x"].read_path == "converted"


@pytest.mark.parametrize("name", [name for name in TYPES if "bits" in name])
def test_n_bit(tmp_path: Path, name: str) -> None:
    # The filter that such types are made for.
    stored, memory, least, largest = TYPES[name]
    path = tmp_path / "f.h5"
    values = np.random.default_rng(1).integers(least, largest + 1, (61, 7)).astype(numpy_of(memory))
    made = creation_list("chunks", (8, 3), path, 0)
    made.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_MANDATORY, ())
    with h5py.File(path, "w") as file:
        write(new_dataset(file, "x", stored, (61, 7), made), memory, values)
    check_equal(path, values)


@pytest.mark.parametrize("fill", [None, -77])
def test_chunks_that_were_never_written(tmp_path: Path, fill: int | None) -> None:
    stored, memory, *_ = TYPES["24 bits, big-endian"]
    path = tmp_path / "f.h5"
    shape, chunk = (50, 6), (8, 4)
    with h5py.File(path, "w") as file:
        made = creation_list("all", chunk, path, 0)
        if fill is not None:
            made.set_fill_value(np.array(fill, np.int32))
        dataset = new_dataset(file, "x", stored, shape, made)
        space = dataset.get_space()
        space.select_hyperslab((19, 2), (3, 3))
        block = np.arange(-4, 5, dtype=np.int32).reshape(3, 3)
        dataset.write(h5py.h5s.create_simple((3, 3)), space, block, mtype=memory)
        want = read(dataset, memory)
    assert want[0, 0] == (fill or 0)
    check_equal(path, want)


def test_records_with_one_such_member(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    kind = np.dtype([("a", "<i4"), ("b", "<f8", (2,)), ("c", "S3")])
    values = np.zeros(300, kind)
    values["a"] = np.arange(300) - 150
    values["b"] = np.random.default_rng(1).normal(size=(300, 2))
    values["c"] = b"xyz"
    memory = h5py.h5t.py_create(kind)
    stored = h5py.h5t.create(h5py.h5t.COMPOUND, 40)
    stored.insert(b"a", 1, TYPES["24 bits"][0])
    stored.insert(b"b", 9, h5py.h5t.array_create(h5py.h5t.IEEE_F64BE, (2,)))
    stored.insert(b"c", 30, memory.get_member_type(2))
    with h5py.File(path, "w") as file:
        write(new_dataset(file, "x", stored, (300,), creation_list("all", (64,), path, 0)), memory, values)
    got = hr.open(path)[:]
    for member in ("a", "b", "c"):
        assert np.array_equal(got[f"x.{member}"], values[member])


def chunked(path: Path, chunk: int, payload: bytes, rows: int | None = None) -> Path:
    """24-bit integers in gzip chunks, each of which has the stored bytes ``payload``."""
    rows = rows or chunk
    with h5py.File(path, "w") as file:
        dataset = new_dataset(file, "x", TYPES["24 bits"][0], (rows,), creation_list("gzip", (chunk,), path, 0))
        for first in range(0, rows, chunk):
            h5py.Dataset(dataset).id.write_direct_chunk((first,), payload)
    return path


@pytest.mark.parametrize("chunk", [1024, 16 << 20])
def test_a_chunk_that_is_too_short_is_damage(tmp_path: Path, run_python, chunk: int) -> None:
    # libhdf5 does not compare: it read what happened to lie behind the four bytes.
    path = chunked(tmp_path / "f.h5", chunk, zlib.compress(bytes(4)))
    run_python(f"""
        for read in (lambda d: d[0], lambda d: d[:10], lambda d: next(iter(hr.Loader(d, {chunk})))):
            try:
                read(hr.open({str(path)!r}))
            except hr.CorruptDataError as error:
                assert error.field == "x" and error.stage == "deflate", error
            else:
                raise SystemExit("no error")
    """)


# The larger one has more stored bytes than any chunk of 4 KiB can have.
@pytest.mark.parametrize(("mebibytes", "stage"), [(60, "deflate"), (512, "index")])
def test_a_chunk_that_inflates_to_more_takes_no_memory(tmp_path: Path, run_python, mebibytes: int, stage: str) -> None:
    squeeze = zlib.compressobj(9)
    bomb = b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(mebibytes)) + squeeze.flush()
    path = chunked(tmp_path / "f.h5", 1365, bomb)  # 4 KiB
    run_python(f"""
        {PEAK_BYTES}
        hr.set_memory("64MiB")
        before = peak_bytes()
        for read in (lambda d: d[0], lambda d: next(iter(hr.Loader(d, 8, memory="16MiB")))):
            try:
                read(hr.open({str(path)!r}))
            except hr.CorruptDataError as error:
                assert error.field == "x" and error.stage == {stage!r}, error
            else:
                raise SystemExit("no error")
        grown = peak_bytes() - before
        assert grown < 40 << 20, grown
    """)


def test_a_file_rewritten_in_the_middle_of_an_epoch_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    stored, memory, *_ = TYPES["24 bits"]
    values = np.arange(200_000, dtype=np.int32)
    with h5py.File(path, "w") as file:
        write(new_dataset(file, "x", stored, (200_000,), creation_list("gzip", (1000,), path, 0)), memory, values)
    # Too little for the epoch's 800 kB beside what reading takes: most of it is read after the file was rewritten.
    loader = hr.Loader(path, 1000, memory="1300KiB", cache="none", threads=1)
    batches = iter(loader)
    assert np.array_equal(next(batches)["x"], values[:1000])
    before = path.stat()
    with h5py.File(path, "r+") as file:
        write(file["x"].id, memory, values + 1)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))  # whatever the clock's steps
    with pytest.raises(hr.FileChangedError):
        for i, batch in enumerate(batches, start=1):
            assert np.array_equal(batch["x"], values[1000 * i : 1000 * (i + 1)])


def test_the_lengths_of_a_scale_offset_stream_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(4096, dtype="<i4"), chunks=(1024,), scaleoffset=0, compression="gzip")
        # What libhdf5 made of these bytes ended the process.
        file["x"].id.write_direct_chunk((0,), zlib.compress(b"\x20\x00\x00\x00" + bytes(3)))
    dataset = hr.open(path, fields=["x"])
    with pytest.raises(hr.CorruptDataError) as caught:
        dataset[0]
    assert caught.value.field == "x" and caught.value.stage == "scaleoffset", caught.value


@pytest.mark.parametrize("offset_bits", [0, 1])
@pytest.mark.parametrize("name", ["STD_I16BE", "STD_I16LE", "STD_I32BE", "STD_I64BE", "STD_U32BE"])
def test_integers_of_fewer_bits_keep_their_sign(tmp_path: Path, name: str, offset_bits: int) -> None:
    """Where only the byte order differs, libhdf5 swaps bytes and leaves out the sign."""
    path = tmp_path / "f.h5"
    values = np.array([-40, 0, 3, 100, -7, 25], np.int32)
    if name == "STD_U32BE":
        values = np.abs(values)
    for bits in (1, 3, 6):
        stored = getattr(h5py.h5t, name).copy()
        size = stored.get_size()
        stored.set_precision(size * 4 + bits)
        stored.set_offset(offset_bits)
        with h5py.File(path, "w", libver="earliest") as file:
            created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            created.set_chunk((4,))
            rows = h5py.h5d.create(file.id, b"x", stored, h5py.h5s.create_simple((6,)), created)
            rows.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=h5py.h5t.NATIVE_INT32)
        np.testing.assert_array_equal(hr.open(str(path))[:]["x"], values)
