"""Files made to crash, to take memory or time, or to be taken for what they were: each is refused, noticed or cheap."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from memory_files import PEAK_BYTES

import headrace as hr

ROWS = 4096
RunPython = Callable[..., subprocess.CompletedProcess[str]]


def patch(path: Path, old: bytes, new: bytes, *, count: int = 1) -> None:
    """Replace bytes of a file that must be there ``count`` times."""
    content = path.read_bytes()
    assert content.count(old) == count, content.count(old)
    path.write_bytes(content.replace(old, new))


def rewrite(path: Path, dataset: str, value: int) -> None:
    """Write other rows into a file, which is then newer for certain."""
    with h5py.File(path, "r+") as file:
        file[dataset][...] = value
    later(path)


def later(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 2_000_000_000))


# Prints how much memory the process took at most while `body` ran, in MiB, as the last line.
GROWN = f"""
{PEAK_BYTES}
start = peak_bytes()
try:
    {{body}}
except hr.Error as error:
    print(type(error).__name__, error)
print(peak_bytes() - start >> 20)
"""


def grown_mib(run_python: RunPython, body: str, before: str = "") -> tuple[str, int]:
    """Return what ``body`` printed, and by how many MiB it made the process larger."""
    output = run_python(before + GROWN.replace("{body}", body)).stdout
    *printed, grown = output.strip().split("\n")
    return "\n".join(printed), int(grown)


# --- fill values -----------------------------------------------------------------------------------------------------


def test_a_fill_value_smaller_than_an_element_is_refused(tmp_path: Path, run_python: RunPython) -> None:
    """libhdf5 1.10 copies as many bytes of it as an element claims to have, far past its end."""
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        # never written, so that rows are fill values
        file.create_dataset("x", (ROWS,), "S8", chunks=(3,), fillvalue=b"abcdefgh")
    size, huge = struct.pack("<I", 8), struct.pack("<I", 1 << 28)
    patch(path, b"\x13\x01\x00\x00" + size, b"\x13\x01\x00\x00" + huge)  # the datatype: a string of 8 bytes
    patch(path, struct.pack("<II", 3, 8), struct.pack("<II", 3, 1 << 28))  # the chunk's shape and element
    output = run_python(f"""
        try:
            print(hr.open({str(path)!r}, fields=["x"])[0])
        except hr.CorruptDataError as error:
            print(error)
    """).stdout
    assert "a fill value of 8 bytes for elements of 268435456" in output
    assert str(path) in output


@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_fill_values_as_h5py_writes_them_are_read(tmp_path: Path, libver: str) -> None:
    path = tmp_path / "f.h5"
    kinds = {
        "float": (np.float64, -1.5),
        "bytes": ("S8", b"abc"),
        "none": (np.int32, None),
        "zero": (np.int32, 0),
        "wide": (np.dtype((np.int16, (3,))), None),
    }
    with h5py.File(path, "w", libver=libver) as file:
        for name, (dtype, fill) in kinds.items():
            file.create_dataset(name, (100,), dtype, chunks=(7,), fillvalue=fill)
        expected = {name: file[name][...] for name in kinds}
    for name, values in expected.items():
        np.testing.assert_array_equal(hr.open(str(path), fields=[name])[:][name], values)


# --- files that change -----------------------------------------------------------------------------------------------


def raw_backed(folder: Path, value: int) -> tuple[Path, Path]:
    """A data set whose rows lie in a raw file beside it."""
    raw, path = folder / "rows.bin", folder / "external.h5"
    np.full(ROWS, value, np.int32).tofile(raw)
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (ROWS,), np.int32, external=[(raw.name, 0, ROWS * 4)])
    return path, raw


def virtual_backed(folder: Path, value: int) -> tuple[Path, Path]:
    """A virtual data set over another file."""
    source, path = folder / "source.h5", folder / "virtual.h5"
    with h5py.File(source, "w", libver="earliest") as file:
        file.create_dataset("x", data=np.full(ROWS, value, np.int32), chunks=(256,))
    layout = h5py.VirtualLayout((ROWS,), np.int32)
    layout[:] = h5py.VirtualSource(source.name, "x", (ROWS,))
    with h5py.File(path, "w", libver="v110") as file:
        file.create_virtual_dataset("x", layout)
    return path, source


def change(file: Path, value: int) -> None:
    if file.suffix == ".bin":
        np.full(ROWS, value, np.int32).tofile(file)
        later(file)
    else:
        rewrite(file, "x", value)


@pytest.mark.parametrize("backed", [raw_backed, virtual_backed])
def test_another_file_that_changes_is_noticed(tmp_path: Path, backed) -> None:
    path, other = backed(tmp_path, 1)
    rows = hr.open(str(path))
    assert (rows[:]["x"] == 1).all()
    loader = hr.Loader(rows, 16, cache="none", memory="64MiB")
    change(other, 2)
    with pytest.raises(hr.FileChangedError, match=other.name):
        list(loader)
    with pytest.raises(hr.FileChangedError, match=other.name):
        rows[0]


def test_rows_never_written_of_a_file_that_changes_are_noticed(tmp_path: Path) -> None:
    """Such rows are not read from the file at all."""
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (ROWS,), np.int32, chunks=(64,), fillvalue=7)
    rows = hr.open(str(path))
    assert (rows[:]["x"] == 7).all()
    loader = hr.Loader(rows, 16, cache="none", memory="64MiB")
    rewrite(path, "x", 8)
    with pytest.raises(hr.FileChangedError):
        list(loader)
    with pytest.raises(hr.FileChangedError):
        rows[0]


@pytest.mark.parametrize("backed", [raw_backed, virtual_backed])
def test_a_cache_is_not_used_once_another_file_has_changed(tmp_path: Path, backed, run_python: RunPython) -> None:
    (tmp_path / "data").mkdir()
    path, other = backed(tmp_path / "data", 1)
    script = f"""
        with hr.open({str(path)!r}) as rows:
            loader = hr.Loader(rows, 64, cache={str(tmp_path / "cache")!r}, memory="64MiB")
            for _ in range(2):
                seen = {{int(x) for batch in loader for x in batch["x"]}}
        print(seen)
    """
    assert run_python(script).stdout.startswith("{1}")
    change(other, 2)
    assert run_python(script).stdout.startswith("{2}")


@pytest.mark.parametrize("backed", [raw_backed, virtual_backed])
def test_rows_shared_on_a_host_are_those_of_the_same_other_files(tmp_path: Path, backed) -> None:
    """Two loaders of one file before and after the other file changed share nothing."""
    path, other = backed(tmp_path, 1)

    def rows_of(loader: hr.Loader) -> set[int]:
        return {int(x) for batch in loader for x in batch["x"]}

    first = hr.Loader(hr.open(str(path)), 64, cache="ram", share="host", memory="256MiB")
    assert rows_of(first) == {1}
    change(other, 2)
    second = hr.Loader(hr.open(str(path)), 64, cache="ram", share="host", memory="256MiB")
    assert rows_of(second) == {2}


@pytest.mark.parametrize("backed", [raw_backed, virtual_backed])
def test_a_state_of_other_rows_is_refused(tmp_path: Path, backed) -> None:
    path, other = backed(tmp_path, 1)
    loader = hr.Loader(hr.open(str(path)), 64)
    next(iter(loader))
    state = loader.state_dict()
    change(other, 2)
    with pytest.raises(hr.InvalidArgumentError, match="content"):
        hr.Loader(hr.open(str(path)), 64).load_state_dict(state)


# --- memory and time -------------------------------------------------------------------------------------------------


def test_a_chunk_larger_than_the_process_may_hold_is_refused(tmp_path: Path, run_python: RunPython) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (1 << 29,), np.float32, chunks=(1 << 29,))  # 2 GiB, never written
    printed, grown = grown_mib(run_python, f"hr.open({str(path)!r})[0]", "hr.set_memory('64MiB')\n")
    assert "OutOfBudgetError" in printed and "2.50 GiB" not in printed.split("may use")[1]
    assert str(path) in printed
    assert grown < 100


def test_a_row_in_millions_of_chunks_is_refused(tmp_path: Path, run_python: RunPython) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (100, 4_000_000), np.uint8, chunks=(100, 1))
    printed, grown = grown_mib(run_python, f"hr.open({str(path)!r})[0]", "hr.set_memory('64MiB')\n")
    assert "OutOfBudgetError" in printed
    assert grown < 100


def test_an_element_of_a_gigabyte_costs_nothing_to_open(tmp_path: Path, run_python: RunPython) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file.create_dataset("x", (2,), "S1073741824", chunks=(1,))
    printed, grown = grown_mib(run_python, f"print(hr.open({str(path)!r}).fields)")
    assert "x" in printed
    assert grown < 100


def test_long_names_are_not_kept_a_thousand_times(tmp_path: Path, run_python: RunPython) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="earliest") as file:
        file["x"] = np.arange(10)
        group = file.create_group("n" * 60_000)
        for i in range(20_000):
            group[f"{i}"] = h5py.ExternalLink("elsewhere.h5", "x")
    printed, grown = grown_mib(run_python, f"hr.open({str(path)!r})")
    assert "UnsupportedError" in printed and "the paths of its objects" in printed
    assert grown < 400


def test_attributes_that_lead_nowhere_are_not_followed_for_minutes(tmp_path: Path, run_python: RunPython) -> None:
    """Each points at a heap of 4 MiB, and at an object that is not in it."""
    path = tmp_path / "f.h5"
    text = h5py.string_dtype()
    with h5py.File(path, "w", libver="earliest") as file:
        rows = file.create_dataset("x", data=np.arange(10))
        big = file.create_dataset("big", (1,), text)
        big[0] = "z" * (4_000_000)
        for i in range(3000):
            rows.attrs.create(f"a{i:04}", "tiny", dtype=text)
    # Let every attribute point at the heap of the large text, which is the only one of its size.
    content = path.read_bytes()
    heap = max(
        (at for at in range(0, len(content), 8) if content[at : at + 4] == b"GCOL"),
        key=lambda at: int.from_bytes(content[at + 8 : at + 16], "little"),
    )
    pointer = struct.Struct("<IQI")
    at, changed = 0, bytearray(content)
    while (at := content.find(pointer.pack(4, 0, 0)[:4], at)) >= 0:
        length, address, index = pointer.unpack_from(content, at) if at + 16 <= len(content) else (0, 0, 0)
        if length == 4 and content[address : address + 4] == b"GCOL" and 0 < index < 65536:
            pointer.pack_into(changed, at, 4, heap, 60_000)
        at += 1
    assert changed != content
    path.write_bytes(changed)
    output = run_python(f"""
        def read_bytes():
            return int(open("/proc/self/io").read().split("rchar:")[1].split()[0])
        before = read_bytes()
        hr.open({str(path)!r}, fields=["x"])
        print(read_bytes() - before)
    """).stdout
    assert int(output) < 64 << 20  # 12 GB when each of them reads the heap
