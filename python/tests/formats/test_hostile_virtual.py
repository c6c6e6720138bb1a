"""Virtual data sets whose sources are damaged, change, are not there, or lead in circles."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from memory_files import PEAK_BYTES
from virtual_files import LIBVER, Mapping, Slab, write_source, write_virtual

import headrace as hr

ROWS = 256


def virtual_of(path: Path, *sources: str, rows: int = ROWS) -> Path:
    """Rows of the sources' ``y``, one after the other."""
    mappings = [Mapping(Slab((i * rows,), (rows,)), name, "y", (rows,)) for i, name in enumerate(sources)]
    return write_virtual(path, (rows * len(sources),), "i4", mappings)


def source_with_chunk(path: Path, stored: bytes, dtype: Any = "i4", **how: Any) -> str:
    """A source of gzipped chunks of 64 rows, the third of which holds ``stored``."""
    with h5py.File(path, "w", libver=LIBVER) as file:
        y = file.create_dataset("y", data=np.arange(ROWS, dtype=dtype), chunks=(64,), compression="gzip", **how)
        y.id.write_direct_chunk((128,), stored)
    return path.name


@pytest.mark.parametrize("length", [0, 4, 255, 257, 4096])
@pytest.mark.parametrize("dtype", ["<i4", ">i4", "<i8"])
def test_a_source_chunk_of_another_length_names_the_source(tmp_path: Path, length: int, dtype: str) -> None:
    good = write_source(tmp_path / "a.h5", np.arange(ROWS, dtype="i4"))
    bytes_of_chunk = 64 * np.dtype(dtype).itemsize
    stored = zlib.compress(b"\7" * (length if length != 257 else bytes_of_chunk + 1))
    bad = source_with_chunk(tmp_path / "b.h5", stored, dtype)
    path = virtual_of(tmp_path / "v.h5", good, bad)
    with hr.open(path) as data:
        for read in (lambda: data["x"][:], lambda: data[ROWS + 150], lambda: list(hr.Loader(data, 64, shuffle=True))):
            with pytest.raises(hr.CorruptDataError) as caught:
                read()
            assert caught.value.file == str(tmp_path / "b.h5")
            assert caught.value.field == "y"
            assert caught.value.chunk == "(2)"


def test_a_source_chunk_that_inflates_without_end(tmp_path: Path, run_python: Any) -> None:
    squeeze = zlib.compressobj(9)
    bomb = b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(400)) + squeeze.flush()
    path = virtual_of(tmp_path / "v.h5", source_with_chunk(tmp_path / "b.h5", bomb))
    run_python(f"""
        {PEAK_BYTES}
        with hr.open({str(path)!r}) as data:
            before = peak_bytes()
            try:
                data["x"][:]
            except hr.CorruptDataError as error:
                assert error.chunk == "(2)", error
            else:
                raise AssertionError("read a chunk of 400 MiB as 256 bytes")
            assert peak_bytes() - before < 100 << 20, peak_bytes() - before
    """)


def damaged(path: Path, find: bytes, put: bytes) -> None:
    content = path.read_bytes()
    at = content.index(find)
    path.write_bytes(content[:at] + put + content[at + len(put) :])


def test_a_source_whose_header_is_damaged_is_refused(tmp_path: Path) -> None:
    """Its chunk length is 0, by which libhdf5 1.10 divides."""
    with h5py.File(tmp_path / "s.h5", "w", libver="earliest") as file:
        file.create_dataset("y", data=np.zeros(ROWS, "i4"), chunks=(123,))
    # Layout message, version 3, chunked, two dimensions: an address, the chunk's 123 rows and the element's 4 bytes.
    damaged(tmp_path / "s.h5", (123).to_bytes(4, "little") + (4).to_bytes(4, "little"), bytes(4))
    with pytest.raises(hr.UnsupportedError, match=r"its virtual source 'y' of 's\.h5'"):
        hr.open(virtual_of(tmp_path / "v.h5", "s.h5"), fields=["x"])


@pytest.mark.parametrize("content", [b"", b"nothing of the kind" * 100, b"\x89HDF\r\n\x1a\n" + bytes(600)])
def test_a_source_that_is_no_hdf5_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.h5").write_bytes(content)
    with pytest.raises(hr.UnsupportedError, match=r"virtual source file 's\.h5' cannot be opened"):
        hr.open(virtual_of(tmp_path / "v.h5", "s.h5"), fields=["x"])


def test_sources_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hr.UnsupportedError, match=r"cannot find 's\.h5'"):
        hr.open(virtual_of(tmp_path / "v.h5", "s.h5"), fields=["x"])
    write_source(tmp_path / "s.h5", np.zeros(ROWS, "i4"), "other")
    with pytest.raises(hr.UnsupportedError, match=r"'y' of 's\.h5' cannot be opened: there is no 'y'"):
        hr.open(tmp_path / "v.h5", fields=["x"])
    with h5py.File(tmp_path / "s.h5", "a") as file:
        file["y"] = h5py.ExternalLink("elsewhere.h5", "/y")
    with pytest.raises(hr.UnsupportedError, match="a link into another file"):
        hr.open(tmp_path / "v.h5", fields=["x"])


def test_circles_are_refused(tmp_path: Path) -> None:
    for mine, others in (("a.h5", "b.h5"), ("b.h5", "c.h5"), ("c.h5", "a.h5")):
        write_virtual(tmp_path / mine, (ROWS,), "i4", [Mapping(None, others, "y", (ROWS,))], "y")
    write_virtual(tmp_path / "a.h5", (ROWS,), "i4", [Mapping(None, ".", "self", (ROWS,))], "self")
    for name in ("y", "self"):
        with pytest.raises(hr.UnsupportedError, match="put together of itself"):
            hr.open(tmp_path / "a.h5", fields=[name])
    with h5py.File(tmp_path / "d.h5", "w", libver=LIBVER) as file:
        file["y"] = h5py.SoftLink("z")
        file["z"] = h5py.SoftLink("y")
    with pytest.raises(hr.UnsupportedError, match="leads nowhere"):
        hr.open(virtual_of(tmp_path / "v.h5", "d.h5"), fields=["x"])


def test_virtual_data_sets_of_virtual_data_sets_have_an_end(tmp_path: Path) -> None:
    """Each level maps both of the one below into one place: 2 to the power of the depth would be read."""
    path = tmp_path / "v.h5"
    write_source(path, np.arange(ROWS, dtype="i4"), "x0")
    for depth in range(1, 11):
        below = Mapping(None, ".", f"x{depth - 1}", (ROWS,))
        write_virtual(path, (ROWS,), "i4", [below], f"x{depth}")
        write_virtual(path, (ROWS,), "i4", [below._replace(dataset="x0")] + [below] * 2, f"twice{depth}")
    with hr.open(path, fields=["x8"]) as data:
        np.testing.assert_array_equal(data["x8"][:], np.arange(ROWS))
    with pytest.raises(hr.UnsupportedError, match="8 deep"):
        hr.open(path, fields=["x9"])


def test_mappings_that_hide_each_other_too_often_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.h5"
    write_source(path, np.arange(ROWS, dtype="i4"), "x0")
    for depth in range(1, 4):
        write_virtual(path, (ROWS,), "i4", [Mapping(None, ".", f"x{depth - 1}", (ROWS,))] * 6, f"x{depth}")
    with hr.open(path, fields=["x2"]) as data:
        np.testing.assert_array_equal(data["x2"][:], np.arange(ROWS))
    with pytest.raises(hr.UnsupportedError, match="hide each other 216 times"):
        hr.open(path, fields=["x3"])


def test_many_mappings(tmp_path: Path, run_python: Any) -> None:
    """Each row from somewhere else: what a read costs depends on the rows that are read, not on all mappings."""
    rows = 10_000
    source = np.arange(rows, dtype="i4")
    write_source(tmp_path / "s.h5", source, chunks=(500,), compression="gzip")
    order = np.random.default_rng(5).permutation(rows)
    mappings = [Mapping(Slab((i,), (1,)), "s.h5", "y", (rows,), Slab((int(j),), (1,))) for i, j in enumerate(order)]
    path = write_virtual(tmp_path / "v.h5", (rows,), "i4", mappings)
    run_python(
        f"""
        import numpy as np
        with hr.open({str(path)!r}) as data:
            assert data["x"][:2000].tolist() == {order[:2000].tolist()!r}
        """,
        timeout=60,
    )


def test_too_many_mappings_are_refused_before_libhdf5_reads_them(tmp_path: Path, run_python: Any) -> None:
    """It takes 6.5 KB for each, and again for each copy of the list."""
    rows = 30_000
    write_source(tmp_path / "s.h5", np.arange(rows, dtype="i4"))
    one = [Mapping(Slab((i,), (1,)), "s.h5", "y", (rows,), Slab((i,), (1,))) for i in range(rows)]
    path = write_virtual(tmp_path / "v.h5", (rows,), "i4", one)
    run_python(f"""
        {PEAK_BYTES}
        before = peak_bytes()
        try:
            hr.open({str(path)!r}, fields=["x"])
        except hr.UnsupportedError as error:
            assert "30000 mappings" in str(error), error
        else:
            raise AssertionError("opened")
        assert peak_bytes() - before < 60 << 20, peak_bytes() - before
    """)


def test_a_source_that_is_rewritten_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    rows = 300_000
    values = np.arange(rows, dtype="i4")
    codings: list[dict[str, Any]] = [
        {},
        {"chunks": (1000,), "compression": "gzip"},
        {"chunks": (1000,), "scaleoffset": 0},
    ]
    for i, coding in enumerate(codings):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name in ("a.h5", "b.h5"):
            write_source(folder / name, values, **coding)
        inner = write_virtual(folder / "i.h5", (rows,), "i4", [Mapping(None, "b.h5", "y", (rows,))], "y").name
        path = virtual_of(folder / "v.h5", "a.h5", inner, rows=rows)
        with hr.open(path) as data:
            loader = iter(hr.Loader(data, 1000, memory="16MiB"))
            next(loader)
            (folder / "b.h5").unlink()
            write_source(folder / "b.h5", values + 1, **coding)
            os.utime(folder / "b.h5", (1, 1))
            with pytest.raises(hr.FileChangedError) as caught:
                for _ in loader:
                    pass
            assert caught.value.file == str(folder / "b.h5")
            with pytest.raises(hr.FileChangedError):
                data["x"][rows + 5]
            np.testing.assert_array_equal(data["x"][:1000], values[:1000])


@pytest.mark.parametrize("compact", [True, False])
def test_a_source_without_bytes_to_read_that_is_rewritten(tmp_path: Path, compact: bool) -> None:
    """Its values were read when it was opened, or are the fill value, as nothing was ever written."""

    def write(value: int) -> None:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_layout(h5py.h5d.COMPACT if compact else h5py.h5d.CONTIGUOUS)
        creation.set_fill_value(np.array(value, "i4"))
        with h5py.File(tmp_path / "s.h5", "w", libver=LIBVER) as file:
            y = h5py.h5d.create(file.id, b"y", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((ROWS,)), creation)
            if compact:
                y.write(h5py.h5s.ALL, h5py.h5s.ALL, np.full(ROWS, value, "i4"))
        os.utime(tmp_path / "s.h5", (value, value))

    write(1)
    with hr.open(virtual_of(tmp_path / "v.h5", "s.h5")) as data:
        assert set(data["x"][:]) == {1}
        write(2)
        with pytest.raises(hr.FileChangedError) as caught:
            data["x"][:]
        assert caught.value.file == str(tmp_path / "s.h5")
