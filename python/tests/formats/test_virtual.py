"""Virtual data sets: the same values as h5py reads, whatever is mapped to where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from virtual_files import LIBVER, Mapping, Slab, write_source, write_virtual

import headrace as hr


def numbers(*shape: int, first: int = 0, dtype: Any = "i4") -> np.ndarray[Any, Any]:
    return np.arange(first, first + int(np.prod(shape))).reshape(shape).astype(dtype)


def check(path: Path, name: str = "x", *, read_path: str = "native") -> np.ndarray[Any, Any]:
    """Compare all rows, some of them one by one, and a shuffled epoch with h5py."""
    with h5py.File(path, "r") as file:
        expected = file[name][()]
    expected = expected.astype(expected.dtype.newbyteorder("="))
    with hr.open(path, fields=[name]) as data:
        np.testing.assert_array_equal(data[name][:], expected)
        for row in {0, len(expected) // 3, len(expected) - 1}:
            np.testing.assert_array_equal(data[name][row : row + 1], expected[row : row + 1])
        assert data.fields[name].read_path == read_path
        seen = np.concatenate([b[name] for b in hr.Loader(data, 3, shuffle=True, seed=1)])
    assert sorted(row.tobytes() for row in seen) == sorted(row.tobytes() for row in expected)
    return expected


CODINGS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunked": {"chunks": True},
    "gzip": {"compression": "gzip", "shuffle": True},
    "lzf": {"compression": "lzf", "fletcher32": True},
}


@pytest.mark.parametrize("coding", CODINGS)
def test_rows_of_several_files(tmp_path: Path, coding: str) -> None:
    mappings = []
    for i, rows in enumerate((10, 1, 7)):
        how = dict(CODINGS[coding])
        if how:
            how["chunks"] = (min(rows, 4), 3)
        name = write_source(tmp_path / f"s{i}.h5", numbers(rows, 3, first=1000 * i), **how)
        mappings.append(Mapping(Slab((i * 10, 0), (rows, 3)), name, "y", (rows, 3)))
    mappings[2] = mappings[2]._replace(into=Slab((11, 0), (7, 3)))
    check(write_virtual(tmp_path / "v.h5", (18, 3), "i4", mappings))


def test_columns_of_several_files(tmp_path: Path) -> None:
    mappings = []
    at = 0
    for i, width in enumerate((5, 1, 8)):
        name = write_source(
            tmp_path / f"s{i}.h5", numbers(20, width, first=1000 * i), chunks=(6, min(width, 3)), compression="gzip"
        )
        mappings.append(Mapping(Slab((0, at), (20, width)), name, "y", (20, width)))
        at += width
    check(write_virtual(tmp_path / "v.h5", (20, at), "i4", mappings))


def test_stack_of_whole_arrays(tmp_path: Path) -> None:
    mappings = []
    for i in range(5):
        name = write_source(tmp_path / f"s{i}.h5", numbers(7, 4, first=100 * i), chunks=(3, 4), compression="gzip")
        mappings.append(Mapping(Slab((i, 0, 0), (1, 7, 4)), name, "y", (7, 4)))
    check(write_virtual(tmp_path / "v.h5", (5, 7, 4), "i4", mappings))


def test_stack_along_the_last_axis_and_of_single_values(tmp_path: Path) -> None:
    mappings, values = [], []
    for i in range(4):
        name = write_source(tmp_path / f"s{i}.h5", numbers(6, first=100 * i))
        write_source(tmp_path / name, np.int32(i * 11), "one")
        mappings.append(Mapping(Slab((0, i), (6, 1)), name, "y", (6,)))
        values.append(Mapping(Slab((i,), (1,)), name, "one", ()))
    check(write_virtual(tmp_path / "v.h5", (6, 4), "i4", mappings))
    check(write_virtual(tmp_path / "v.h5", (4,), "i4", values, "ones"), "ones")


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    ("into", "source", "shape"),
    [
        (Slab((0, 0), (10, 6)), Slab((1, 0), (10, 6), (3, 1)), (31, 6)),  # every third row
        (Slab((0, 0), (10, 6), (2, 1)), None, (10, 6)),  # into every other row
        (Slab((2, 1), (5, 2), (4, 3), (2, 2)), Slab((0, 0), (10, 4)), (10, 4)),  # blocks
        (Slab((2, 1), (5, 2), (4, 3), (2, 2)), Slab((3, 2), (4, 10)), (9, 13)),  # another shape
        (Slab((0, 0), (20, 6)), None, (120,)),
        (Slab((4, 0), (1, 6)), Slab((0, 5), (6, 1)), (6, 7)),  # a column becomes a row
        (Slab((3, 2), (4, 3)), Slab((1, 1, 1), (2, 3, 2), (2, 1, 3)), (4, 4, 5)),
        ([Slab((0, 0), (3, 6)), Slab((7, 0), (2, 6))], [Slab((1, 0), (1, 6)), Slab((5, 0), (4, 6))], (9, 6)),
        ([Slab((0, 0), (2, 2)), Slab((1, 4), (3, 2))], [Slab((0, 0), (1, 1)), Slab((2, 1), (3, 3))], (5, 4)),
    ],
)
def test_selections(tmp_path: Path, coding: str, into: Any, source: Any, shape: tuple[int, ...]) -> None:
    how = dict(CODINGS[coding])
    if how:
        how["chunks"] = tuple(min(n, 2 + i) for i, n in enumerate(shape))
    name = write_source(tmp_path / "s.h5", numbers(*shape), **how)
    mapping = Mapping(into, name, "y", shape, source)
    check(write_virtual(tmp_path / "v.h5", (30, 6), "i4", [mapping], fill=-7))


def test_random_selections(tmp_path: Path) -> None:
    """Hyperslabs of every kind on both sides, drawn by chance; equal numbers of elements are all they share."""
    random = np.random.default_rng(7)
    rank, made = 3, 0
    while made < 60:
        shape = tuple(int(n) for n in random.integers(4, 12, rank))
        count = tuple(int(n) for n in random.integers(1, 3, rank))
        block = tuple(int(n) for n in random.integers(1, 3, rank))
        stride = tuple(int(b + random.integers(0, 3)) for b in block)
        span = [(c - 1) * s + b for c, s, b in zip(count, stride, block, strict=True)]
        if any(n > m for n, m in zip(span, shape, strict=True)):
            continue
        start = tuple(int(random.integers(0, m - n + 1)) for n, m in zip(span, shape, strict=True))
        size = tuple(c * b for c, b in zip(count, block, strict=True))
        order = random.permutation(rank)
        into_shape = tuple(int(size[i] + 3) for i in order)
        into = Slab((1, 0, 2), tuple(size[i] for i in order))
        folder = tmp_path / str(made)
        folder.mkdir()
        chunks = tuple(int(random.integers(1, n + 1)) for n in shape)
        name = write_source(folder / "s.h5", numbers(*shape), chunks=chunks, compression="gzip")
        mapping = Mapping(into, name, "y", shape, Slab(start, count, stride, block))
        path = write_virtual(folder / "v.h5", into_shape, "i4", [mapping], fill=-1)
        with h5py.File(path, "r") as file, hr.open(path) as data:
            np.testing.assert_array_equal(data["x"][:], file["x"][()], err_msg=f"{mapping}")
        made += 1


def test_the_last_of_overlapping_mappings_wins(tmp_path: Path) -> None:
    a = write_source(tmp_path / "a.h5", numbers(10, 4))
    b = write_source(tmp_path / "b.h5", numbers(10, 4, first=1000), chunks=(4, 4), compression="gzip")
    first = Mapping(Slab((0, 0), (8, 4)), a, "y", (10, 4), Slab((0, 0), (8, 4)))
    second = Mapping(Slab((5, 1), (7, 3)), b, "y", (10, 4), Slab((2, 0), (7, 3)))
    for i, mappings in enumerate(([first, second], [second, first])):
        # libhdf5 forgets the fill value where as many elements are mapped as there are, whether they overlap or not.
        values = check(write_virtual(tmp_path / f"v{i}.h5", (20, 4), "i4", mappings, fill=-1))
        assert (values[5:8, 1:] >= 1000).all() == (i == 0)


@pytest.mark.parametrize("fill", [None, -9])
def test_what_is_not_mapped_is_the_fill_value(tmp_path: Path, fill: int | None) -> None:
    name = write_source(tmp_path / "s.h5", numbers(3, 4, first=5))
    mappings = [Mapping(Slab((4, 0), (3, 4)), name, "y", (3, 4))]
    values = check(write_virtual(tmp_path / "v.h5", (20, 4), "i4", mappings, fill=fill))
    assert (values[8:] == (fill or 0)).all()
    check(
        write_virtual(
            tmp_path / "empty.h5",
            (20, 4),
            "i4",
            [Mapping(Slab((0, 0), (0, 4)), name, "y", (3, 4), Slab((0, 0), (0, 4)))],
            fill=fill,
        )
    )


def test_verify_passes_over_rows_that_nothing_is_mapped_to(tmp_path: Path) -> None:
    rows = 10**14
    name = write_source(tmp_path / "s.h5", numbers(30, 4, first=5), chunks=(5, 4), compression="gzip")
    mappings = [
        Mapping(Slab((4, 0), (10, 4)), name, "y", (30, 4), Slab((0, 0), (10, 4))),
        Mapping(Slab((rows // 2, 0), (10, 4), (10**12, 1)), name, "y", (30, 4), Slab((10, 0), (10, 4))),
        Mapping(Slab((rows - 10, 0), (10, 4)), name, "y", (30, 4), Slab((20, 0), (10, 4))),
    ]
    path = write_virtual(tmp_path / "v.h5", (rows, 4), "i4", mappings)
    data = hr.open(path)
    assert len(data) == rows and data[rows - 1]["x"].tolist() == numbers(30, 4, first=5)[29].tolist()
    result = hr.verify(path).to_dict()
    assert (result["pieces"], result["absent_chunks"], result["findings"]) == (12, 12, [])
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        chunk = file["y"].id.get_chunk_info(3)  # of the rows that lie 10^12 apart
    with (tmp_path / "s.h5").open("r+b") as file:
        file.seek(chunk.byte_offset + 2)
        file.write(b"\xff" * 8)
    assert hr.verify(path).to_dict()["bad_pieces"] == 5


def test_sources_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "v.h5"
    write_source(path, numbers(6, 2), "deep/y", chunks=(4, 2), compression="gzip")
    with h5py.File(path, "a") as file:
        file["soft"] = h5py.SoftLink("/deep")
        file["deep/again"] = h5py.SoftLink("y")
    for i, name in enumerate(("deep/y", "/deep/y", "soft/y", "soft/again")):
        write_virtual(path, (8, 2), "i4", [Mapping(Slab((1, 0), (6, 2)), ".", name, (6, 2))], f"x{i}")
        check(path, f"x{i}")


def test_sources_that_are_virtual(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    parts = []
    for i in range(4):
        name = write_source(tmp_path / "deep" / f"s{i}.h5", numbers(5, 3, first=100 * i), compression="gzip")
        parts.append(Mapping(Slab((5 * i, 0), (5, 3)), name, "y", (5, 3)))
    write_virtual(tmp_path / "deep" / "inner.h5", (20, 3), "i4", parts, "y")
    outer = Mapping(Slab((0, 0), (10, 2)), "deep/inner.h5", "y", (20, 3), Slab((1, 1), (10, 2), (2, 1)))
    path = write_virtual(tmp_path / "v.h5", (10, 2), "i4", [outer])
    with h5py.File(tmp_path / "deep" / "inner.h5", "r") as file:
        expected = file["y"][1:20:2, 1:]
    with hr.open(path) as data:
        np.testing.assert_array_equal(data["x"][:], expected)


@pytest.mark.parametrize("source", [">i4", "<i2", ">u8", "<f4", ">f8", "u1"])
@pytest.mark.parametrize("virtual", ["<i4", ">i4", "<f4", ">f8", "u1", "<i8"])
@pytest.mark.parametrize("chunks", [None, (3, 2)])
def test_numbers_are_converted_as_h5py_does(
    tmp_path: Path, source: str, virtual: str, chunks: tuple[int, int] | None
) -> None:
    values = np.array([[0, 1, 2], [100, 127, 128], [255, 1, 77], [3, 4, 200]])
    name = write_source(tmp_path / "s.h5", values.astype(source), chunks=chunks)
    path = write_virtual(tmp_path / "v.h5", (6, 3), virtual, [Mapping(Slab((1, 0), (4, 3)), name, "y", (4, 3))])
    check(path)


def test_numbers_that_do_not_fit_are_clipped_as_h5py_does(tmp_path: Path) -> None:
    values = np.array([-(2**40), -1, 0, 300, 70000, 2**40])
    name = write_source(tmp_path / "s.h5", values, chunks=(4,), compression="gzip")
    for dtype in ("u1", "i2", "u4"):
        write_virtual(tmp_path / "v.h5", (6,), dtype, [Mapping(None, name, "y", (6,))], dtype)
        check(tmp_path / "v.h5", dtype)


def test_odd_sources_are_read_as_they_are_by_themselves(tmp_path: Path) -> None:
    odd = h5py.h5t.STD_I32LE.copy()
    odd.set_size(3)
    odd.set_precision(24)
    with h5py.File(tmp_path / "s.h5", "w", libver=LIBVER) as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((4, 2))
        dataset = h5py.h5d.create(file.id, b"y", odd, h5py.h5s.create_simple((9, 2)), creation)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers(9, 2, first=-5))
        file.create_dataset("z", data=numbers(9, 2), chunks=(4, 2), scaleoffset=0)
    for name, read_path in (("y", "converted"), ("z", "native")):
        write_virtual(tmp_path / "v.h5", (12, 2), "i4", [Mapping(Slab((2, 0), (9, 2)), "s.h5", name, (9, 2))], name)
        check(tmp_path / "v.h5", name, read_path=read_path)


RECORD = np.dtype([("a", ">f4"), ("b", "i2", (3,)), ("c", "S5")])
OTHER = np.dtype({"names": ["c", "d", "a", "b"], "formats": ["S7", "i4", "f8", (">i4", (3,))], "itemsize": 40})


@pytest.mark.parametrize("chunks", [None, (3,)])
def test_records_and_text(tmp_path: Path, chunks: tuple[int] | None) -> None:
    """Members are found by name, as h5py does; those that the source lacks are zero."""
    values = np.zeros(7, RECORD)
    values["a"], values["c"] = np.arange(7), [f"t{i}" for i in range(7)]
    values["b"] = numbers(7, 3)
    path = tmp_path / "v.h5"
    name = write_source(tmp_path / "s.h5", values, chunks=chunks)
    write_source(tmp_path / "s.h5", values["c"], "text")
    into = Slab((1,), (7,))
    for dtype, virtual in ((RECORD, "same"), (OTHER, "other")):
        write_virtual(path, (9,), dtype, [Mapping(into, name, "y", (7,))], virtual)
        members = [f"{virtual}.{member}" for member in dtype.names]
        with h5py.File(path, "r") as file, hr.open(path, fields=members) as data:
            for member in dtype.names:
                np.testing.assert_array_equal(data[f"{virtual}.{member}"][:], file[virtual][member])
    for dtype in ("S5", "S9", "S2"):
        write_virtual(path, (9,), dtype, [Mapping(into, name, "text", (7,))], dtype)
        check(path, dtype)
    write_virtual(path, (9,), "i4", [Mapping(into, name, "text", (7,))], "number")
    with pytest.raises(hr.UnsupportedError, match="'text' has a type that cannot be converted"):
        hr.open(path, fields=["number"])


@pytest.mark.parametrize(("source", "virtual"), [("<i2", "<i2"), (">i2", "<i2"), (">i2", "i1"), ("<i2", ">i4")])
def test_enums_are_converted_by_name(tmp_path: Path, source: str, virtual: str) -> None:
    """As libhdf5 does for a program that asks for the virtual data set's type; h5py asks for the source's integers."""
    first = h5py.enum_dtype({"red": 1, "green": 2, "blue": 3}, basetype=source)
    second = h5py.enum_dtype({"blue": 30, "red": 10, "green": 20}, basetype=virtual)
    with h5py.File(tmp_path / "s.h5", "w", libver=LIBVER) as file:
        file.create_dataset("y", data=np.array([1, 2, 3, 2, 1]), dtype=first, chunks=(2,))
    mapping = Mapping(None, "s.h5", "y", (5,))
    with hr.open(write_virtual(tmp_path / "v.h5", (5,), second, [mapping])) as data:
        assert data["x"][:].tolist() == [10, 20, 30, 20, 10]
    check(write_virtual(tmp_path / "v.h5", (5,), first, [mapping], "same"), "same")
    check(write_virtual(tmp_path / "v.h5", (5,), virtual, [mapping], "plain"), "plain")


def test_truth_values(tmp_path: Path) -> None:
    name = write_source(tmp_path / "s.h5", np.array([True, False, True]))
    check(write_virtual(tmp_path / "v.h5", (5,), bool, [Mapping(Slab((1,), (3,)), name, "y", (3,))]))


def test_larger_sources_than_are_read_at_once(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, 1 << 30, (3000, 500), dtype="i4")
    mappings = []
    for i, chunks in enumerate((None, (64, 500), (300, 77))):
        name = write_source(tmp_path / f"s{i}.h5", values + i, chunks=chunks)
        mappings.append(Mapping(Slab((3000 * i, 0), (3000, 500)), name, "y", (3000, 500)))
    path = write_virtual(tmp_path / "v.h5", (9000, 500), "i4", mappings)
    with hr.open(path) as data:
        for i in range(3):
            np.testing.assert_array_equal(data["x"][3000 * i : 3000 * i + 3000], values + i)
        rows = [8999, 2999, 5999]
        np.testing.assert_array_equal(data["x"][rows], np.stack([values[2999] + i for i in (2, 0, 1)]))
