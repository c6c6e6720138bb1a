"""Bad input, item by item: each a typed error that names the place, what was expected and found, and what to do."""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

RANDOM = np.random.default_rng(3)
WIDE = 5000  # numbers a row: 20 rows are a block by themselves, so that the chunks beside a damaged one stay readable


def chunk_of(path: Path, name: str, row: int) -> tuple[tuple[int, ...], int, int]:
    """Chunk coordinates, byte offset and stored size of the chunk that holds a row."""
    with h5py.File(path) as file:
        dataset = file[name]
        for i in range(dataset.id.get_num_chunks()):
            info = dataset.id.get_chunk_info(i)
            if info.chunk_offset[0] <= row < info.chunk_offset[0] + dataset.chunks[0]:
                at = tuple(n // c for n, c in zip(info.chunk_offset, dataset.chunks, strict=True))
                return at, info.byte_offset, info.size
    raise AssertionError("no such chunk")


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def check_located(
    error: hr.Error, path: Path, name: str, chunk: tuple[int, ...], where: tuple[int, int], stage: str
) -> None:
    assert isinstance(error, hr.CorruptDataError)
    assert isinstance(error, ValueError)
    assert error.file == str(path)
    assert error.field == name
    assert error.chunk == "(" + ",".join(map(str, chunk)) + ")"
    assert error.byte_range == where
    text = str(error)
    for words in (str(path), name, error.chunk, f"{where[0]}+{where[1]}", stage, "headrace verify"):
        assert words in text, f"the text lacks {words!r}: {text}"
    assert stage in f"{error.stage} {error.message}"


def caught_everywhere(path: Path, row: int, name: str) -> hr.Error:
    """The same error by slice, row, fancy rows, column, loader and verify; the other chunks stay readable."""
    dataset = hr.open(path)
    for key in (slice(None), row, [0, row], slice(row, row + 1)):
        with pytest.raises(hr.CorruptDataError) as caught:
            dataset[key]
    with pytest.raises(hr.CorruptDataError):
        dataset[name][row]
    assert dataset[0]["row"] == 0
    for threads in (1, 3):
        with pytest.raises(hr.CorruptDataError) as from_loader:
            for _ in hr.Loader(dataset, 7, threads=threads, timeout=60):
                pass
        assert str(from_loader.value) == str(caught.value)
    found = hr.verify(path)
    assert found.findings == 1
    assert name in str(found)
    return caught.value


BROKEN = {
    "deflate data": ({"compression": "gzip"}, "deflate"),
    "deflate checksum": ({"compression": "gzip"}, "deflate"),
    "fletcher32": ({"fletcher32": True}, "fletcher32"),
    "fletcher32 under gzip": ({"compression": "gzip", "fletcher32": True}, "fletcher32"),
    "lzf": ({"compression": "lzf"}, "lzf"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_damaged_chunk(tmp_path: Path, kind: str) -> None:
    options, stage = BROKEN[kind]
    x = RANDOM.integers(0, 20, size=(100, WIDE)).astype("f4")
    path = write_h5(tmp_path / "damaged.h5", row=np.arange(100), x=(x, {"chunks": (20, WIDE), **options}))
    at, offset, size = chunk_of(path, "x", 50)
    stored = path.read_bytes()[offset : offset + size]
    if kind == "deflate checksum":
        overwrite(path, offset + size - 1, bytes([stored[-1] ^ 1]))
    elif kind == "fletcher32 under gzip":  # a valid stream that holds other values than the checksum knows
        overwrite(path, offset + size // 2, bytes([stored[size // 2] ^ 0x10]))
    elif kind == "lzf":
        overwrite(path, offset, b"\xff" * size)
    else:
        overwrite(path, offset + size // 2, bytes(b ^ 0xFF for b in stored[size // 2 : size // 2 + 16]))
    error = caught_everywhere(path, 50, "x")
    check_located(error, path, "x", at, (offset, size), stage)


@pytest.mark.parametrize("length", [0, 1, 399_999, 400_001, 3_000_000])
@pytest.mark.parametrize("filters", ["gzip", "shuffle + gzip", "none"])
def test_wrong_decoded_length(tmp_path: Path, length: int, filters: str) -> None:
    path = tmp_path / "length.h5"
    options: dict[str, Any] = {"compression": "gzip", "shuffle": "shuffle" in filters} if filters != "none" else {}
    with h5py.File(path, "w") as file:
        file["row"] = np.arange(100)
        made = file.create_dataset("x", data=np.ones((100, WIDE), "f4"), chunks=(20, WIDE), **options)
        if filters == "none" and length == 0:
            return  # no library stores such a chunk
        data = bytes(length) if filters == "none" else zlib.compress(bytes(length))
        made.id.write_direct_chunk((40, 0), data)
    error = caught_everywhere(path, 50, "x")
    assert (error.file, error.field, error.chunk) == (str(path), "x", "(2,0)")
    assert "400000" in str(error), f"what was expected: {error}"


def test_netcdf3_is_named(tmp_path: Path) -> None:
    for version in (1, 2, 5):
        path = tmp_path / f"classic{version}.h5"
        path.write_bytes(b"CDF" + bytes([version]) + bytes(200))
        with pytest.raises(hr.UnsupportedError, match="netCDF-3") as caught:
            hr.open(path)
        assert caught.value.file == str(path)
        assert "nccopy" in str(caught.value)


def test_missing(tmp_path: Path) -> None:
    write_h5(tmp_path / "train_10.h5", x=np.arange(3), features=np.arange(3))
    with pytest.raises(hr.FileMissingError, match=r"train_10\.h5"):
        hr.open(tmp_path / "train_1O.h5")
    with pytest.raises(FileNotFoundError, match=r"valid_\*"):
        hr.open(str(tmp_path / "valid_*.h5"))
    with pytest.raises(hr.FieldMissingError) as caught:
        hr.open(tmp_path / "train_10.h5", fields=["feature"])
    assert str(caught.value).index("features") < str(caught.value).rindex("x")
    with pytest.raises(ValueError):
        hr.open([])


def test_unequal_rows_within_and_between_files(tmp_path: Path) -> None:
    one = write_h5(tmp_path / "1.h5", x=np.zeros((5, 2)), y=np.arange(6))
    with pytest.raises(hr.InvalidArgumentError, match=r"(?s)x.*5.*y.*6"):
        hr.open(one)
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.open(one, fields=["x", "y"])
    assert caught.value.file == str(one)
    for i, other in enumerate((np.zeros((5, 3)), np.zeros((5, 2), "f4"), np.zeros(5))):
        two = write_h5(tmp_path / f"other{i}.h5", x=other)
        with pytest.raises(hr.InvalidArgumentError) as caught:
            hr.open([one, two], fields=["x"])
        assert str(two) in str(caught.value)
        assert "x" in str(caught.value)


def test_zero_rows(tmp_path: Path) -> None:
    path = tmp_path / "zero.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (0, 4), "f4", maxshape=(None, 4), chunks=(10, 4), compression="gzip")
        file.create_dataset("y", (0,), "i8")
    with pytest.raises(hr.InvalidArgumentError, match="0 rows") as caught:
        hr.open(path)
    assert caught.value.file == str(path)
    filled = write_h5(tmp_path / "filled.h5", x=np.ones((3, 4), "f4"), y=np.arange(3))
    both = hr.open([path, filled])  # a file without rows among others is nothing strange
    assert len(both) == 3
    assert np.array_equal(np.concatenate([b["y"] for b in hr.Loader(both, 2)]), np.arange(3))


def test_zero_size_dimension(tmp_path: Path) -> None:
    path = tmp_path / "flat.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (5, 0, 3), "f4")
        file["y"] = np.arange(5)
    with pytest.raises(hr.InvalidArgumentError, match="size 0") as caught:
        hr.open(path, fields=["x", "y"])
    assert caught.value.field == "x"
    assert np.array_equal(hr.open(path, fields=["y"])[:]["y"], np.arange(5))


ABSURD = {
    "chunked, nothing allocated": ((1 << 28, 1024), (1024, 1024), {}),
    "chunked with gzip": ((1 << 28, 1024), (1024, 1024), {"compression": "gzip"}),
    "more chunks than any index": ((1 << 60,), (1,), {}),
    "more bytes than 64 bits count": ((1 << 62, 1 << 10), (1 << 10, 1 << 10), {}),
    "one row of a tebibyte": ((4, 1 << 38), (1, 1 << 20), {}),
    "contiguous": ((1 << 28, 1024), None, {}),
}


@pytest.mark.parametrize("kind", ABSURD)
def test_absurd_shape(tmp_path: Path, kind: str) -> None:
    """A few KB that declare a tebibyte or more: errors, in little memory and time (in a process with a limit)."""
    shape, chunks, options = ABSURD[kind]
    path = tmp_path / "absurd.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", shape, "f4", chunks=chunks, fillvalue=2.5, **options)
    assert path.stat().st_size < 10_000
    script = f"""
import resource, numpy as np
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import headrace as hr
def attempt(what, action):
    try:
        print(what, "ok", action())
    except hr.InternalError as error:
        raise SystemExit(f"{{what}}: InternalError {{error}}")
    except hr.Error as error:
        print(what, type(error).__name__, error)
dataset = None
def opened():
    global dataset
    dataset = hr.open({str(path)!r})
    return len(dataset)
def first(loader):
    with loader:
        return next(iter(loader))["x"].flat[0]
attempt("open", opened)
if dataset is not None:
    attempt("all", lambda: dataset[:]["x"].shape)
    attempt("row", lambda: dataset[-1]["x"].flat[0])
    attempt("fancy", lambda: dataset[[5, 1, 3]]["x"].flat[0])
    attempt("batch", lambda: first(hr.Loader(dataset, 4, memory="512MiB", timeout=60)))
    attempt("shuffled", lambda: first(hr.Loader(dataset, 4, shuffle=True, memory="512MiB", timeout=60)))
attempt("stopped", lambda: hr.verify({str(path)!r}, threads=1, progress=lambda done, total: False).findings)
attempt("verify", lambda: hr.verify({str(path)!r}, threads=1).to_dict()["decoded_bytes"])
attempt("inspect", lambda: len(str(hr.inspect({str(path)!r}))))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert "ok" not in lines.get("all", ""), done.stdout
    if "ok" in lines.get("row", ""):
        assert lines["row"].endswith("2.5"), done.stdout


def test_declared_shape_without_bytes(tmp_path: Path) -> None:
    """A contiguous array whose header was changed to a tebibyte: its bytes do not exist."""
    path = write_h5(tmp_path / "claims.h5", x=np.arange(300, dtype="f4"))
    data = bytearray(path.read_bytes())
    shape_at = data.index(struct.pack("<Q", 300))
    data[shape_at : shape_at + 8] = struct.pack("<Q", 1 << 38)
    path.write_bytes(data)
    with pytest.raises(hr.Error) as caught:
        hr.open(path)[5]
    assert caught.value.file == str(path)


def test_no_permission() -> None:
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path: other users may not enter that
        Path(folder).chmod(0o755)
        path = write_h5(Path(folder) / "secret.h5", x=np.arange(3))
        path.chmod(0)
        script = f"""
import os, headrace as hr
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    hr.open({str(path)!r})
except PermissionError as error:
    assert isinstance(error, hr.PermissionDeniedError) and error.file == {str(path)!r}, repr(error)
    assert "secret.h5" in str(error) and error.hint, str(error)
    print("refused")
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == "refused\n", done.stdout + done.stderr


def test_fields_by_another_link(tmp_path: Path) -> None:
    path = tmp_path / "links.h5"
    with h5py.File(path, "w") as file:
        file["first"] = np.arange(4)
        file["second"] = file["first"]
        file["soft"] = h5py.SoftLink("/first")
    script = f"""
import headrace as hr
for name in ("first", "second", "soft"):
    print(name, hr.open({str(path)!r}, fields={{"x": name}})[:]["x"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "".join(f"{name} [0, 1, 2, 3]\n" for name in ("first", "second", "soft")), done.stderr
