"""Files that `headrace rewrite` is tried on, and what they must have in common with what it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from cli_program import program
from numpy.typing import NDArray

WORK = ".headrace-rewrite"


def rewrite(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [program(), "rewrite", *map(str, arguments), "--json", "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


def write_odd(path: Path) -> None:
    """A file with what real files have beside arrays of numbers."""
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", userblock_size=512, track_order=True) as file:
        file.attrs["title"] = "odd"
        file.attrs["empty"] = h5py.Empty("f4")
        file.attrs["texts"] = np.array(["a", "ßé"], dtype=h5py.string_dtype())
        file.attrs["large"] = np.arange(20_000, dtype="f8")  # beyond 64 KiB
        x = file.create_dataset(
            "zz/x",
            data=rng.normal(size=(1003, 7, 3)).astype("f4"),
            chunks=(100, 7, 3),
            compression="gzip",
            fletcher32=True,
            maxshape=(None, 7, 3),
            fillvalue=-1,
        )
        x.attrs["unit"] = "GeV"
        x.attrs["weights"] = np.arange(3, dtype=">i2")
        file["zz"].attrs["of"] = "a group"
        file.create_dataset("cut", data=rng.integers(99, size=(211, 30, 17)), chunks=(16, 7, 5), compression="lzf")
        file["big_endian"] = rng.normal(size=(500, 3)).astype(">f8")
        file["big_endian_words"] = rng.integers(9, size=(50,)).astype(">u2")
        file["flags"] = rng.integers(2, size=1003).astype(bool)
        file["half"] = rng.normal(size=(1003, 2)).astype("f2")
        file["complex"] = (rng.normal(size=64) + 1j).astype("c8")
        file["text"] = np.array([b"ab", b"cde", b""] * 30, dtype="S5")
        file["labels"] = np.arange(1003)
        file.create_dataset("words", data=["one", "two", "drei" * 50], dtype=h5py.string_dtype())
        file.create_dataset("sequences", (4,), dtype=h5py.vlen_dtype("i4"))
        file["sequences"][1] = np.arange(5)
        records = np.zeros(300, dtype=[("a", "i4"), ("b", "<f8", (2,)), ("s", "S3")])
        records["a"] = np.arange(300)
        records["b"] = rng.normal(size=(300, 2))
        file.create_dataset("records", data=records, chunks=(64,), compression="gzip")
        file["mixed_records"] = np.array([(1, 2.5)], dtype=[("big", ">i4"), ("little", "<f8")])
        file["scalar"] = 3.5
        file["text_scalar"] = "hello"
        file["nothing"] = np.zeros((0, 4), dtype="i2")
        file["null"] = h5py.Empty("i4")
        file.create_dataset("never_written", (1000, 4), dtype="f4", chunks=(10, 4), fillvalue=7)
        sparse = file.create_dataset("sparse", (1000, 4), dtype="f4", chunks=(10, 4), fillvalue=7)
        sparse[500:520] = 1
        file["type"] = np.dtype("i4")
        file["soft"] = h5py.SoftLink("/zz/x")
        file["outside"] = h5py.ExternalLink("other.h5", "/y")
        file["a_hard_link"] = file["labels"]
        file["zz/loop"] = file["/"]
        file["references"] = np.array([file["labels"].ref, file["zz"].ref], dtype=h5py.ref_dtype)
        file["labels"].make_scale("jet")
        file["zz/x"].dims[0].attach_scale(file["labels"])
        enum = h5py.enum_dtype({"RED": 0, "BLUE": 42}, basetype="u1")
        file.create_dataset("colours", data=np.array([0, 42, 42], dtype="u1"), dtype=enum)
    with path.open("r+b") as raw:
        raw.write(b"a user block")


def same(a: object, b: object, where: str) -> None:
    """Values as h5py gives them, bit for bit."""
    assert type(a) is type(b), where
    if isinstance(a, h5py.Empty):
        assert a == b, where
        return
    x, y = np.asarray(a), np.asarray(b)
    assert x.dtype == y.dtype and x.shape == y.shape, where
    if x.dtype.hasobject:
        for left, right in zip(x.ravel(), y.ravel(), strict=True):
            if isinstance(left, np.ndarray):
                same(left, right, where)
            elif not isinstance(left, (h5py.Reference, np.void)):
                assert left == right, where
    else:
        assert x.tobytes() == y.tobytes(), where


def compare(old: h5py.Group, new: h5py.Group, path: str = "", seen: frozenset[str] = frozenset()) -> int:
    """Names, links, attributes, types, shapes and values. Returns how many datasets there were."""
    assert list(old) == list(new), path
    count = 0
    for name in old:
        link, other = old.get(name, getlink=True), new.get(name, getlink=True)
        assert type(link) is type(other), name
        if isinstance(link, h5py.SoftLink):
            assert link.path == other.path
            continue
        if isinstance(link, h5py.ExternalLink):
            assert (link.filename, link.path) == (other.filename, other.path)
            continue
        where = f"{path}/{name}"
        a, b = old[name], new[name]
        assert type(a) is type(b), where
        assert list(a.attrs) == list(b.attrs), where
        for key in a.attrs:
            same(a.attrs[key], b.attrs[key], f"{where}@{key}")
        if isinstance(a, h5py.Group):
            if name != "loop":
                count += compare(a, b, where)
        elif isinstance(a, h5py.Dataset):
            count += 1
            assert a.dtype == b.dtype and a.shape == b.shape, where
            if a.shape is not None:
                assert a.maxshape == b.maxshape, where
                same(a[()], b[()], where)
                if a.dtype != h5py.ref_dtype:
                    same(a.fillvalue, b.fillvalue, where)
    return count


def nothing_else(directory: Path, *names: str) -> None:
    assert sorted(p.name for p in directory.iterdir() if p.name != WORK) == sorted(names)
    assert not list((directory / WORK).glob("*.partial"))
    assert not list((directory / WORK).glob("*.journal"))


def write_set(directory: Path, rows: tuple[int, ...] = (900, 1300, 401)) -> NDArray[np.int64]:
    first = 0
    for i, count in enumerate(rows):
        with h5py.File(directory / f"train_{i}.h5", "w") as file:
            ids = np.arange(first, first + count)
            pairs = ids[:, None] * 100 + np.arange(40)
            file.create_dataset("x", data=pairs.astype("f4"), chunks=(64, 13), compression="gzip")
            file.create_dataset("id", data=ids)
            file.create_dataset("big", data=ids.astype(">i8"), chunks=(100,))
            file.create_dataset("names", data=np.arange(5) + i)  # not a row a sample
            file["x"].attrs["from"] = i
        first += count
    return np.arange(first)


def write_long(path: Path, megabytes: int = 96) -> None:
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name in ("a", "b", "c"):
            part = rng.integers(200, size=(megabytes * 1000 // 3, 250), dtype="i4")
            file.create_dataset(name, data=part, chunks=(100, 250))
        file["words"] = ["x", "y"]
        file["a"].attrs["unit"] = "m"


def equal_files(old: Path, new: Path) -> None:
    with h5py.File(old) as a, h5py.File(new) as b:
        compare(a, b)
