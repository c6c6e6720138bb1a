"""A file that changes under the reader is noticed and named."""

from __future__ import annotations

import os
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr

ROWS = 4000


def write(path: Path, value: float) -> Path:
    """Several MiB that do not compress away, in many chunks."""
    random = np.random.default_rng(int(value))
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "x",
            data=random.normal(size=(ROWS, 256)).astype("f4"),
            chunks=(50, 256),
            compression="gzip",
            compression_opts=1,
        )
        file.create_dataset("row", data=np.arange(ROWS))
    return path


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(100))


def replace(path: Path) -> None:
    other = write(path.with_suffix(".new"), 2)
    other.replace(path)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def remove(path: Path) -> None:
    path.unlink()


def rewrite(path: Path) -> None:
    """Same size, other bytes: only the time of modification tells."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 64)
        tail = file.read(64)
        file.seek(-64, os.SEEK_END)
        file.write(bytes(255 - b for b in tail))
    stamp = path.stat().st_mtime_ns + 5_000_000
    os.utime(path, ns=(stamp, stamp))


CHANGES = [append, replace, truncate, remove, rewrite]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("shuffle", [False, True])
def test_while_a_loader_runs(tmp_path: Path, change, shuffle: bool) -> None:
    path = write(tmp_path / "changing.h5", 1)
    # Two batches fit: the rest of the epoch is read after the change.
    dataset = hr.open(path)
    with hr.Loader(dataset, 50, shuffle=shuffle, threads=1, memory="2MiB", timeout=60) as loader:
        batches = iter(loader)
        next(batches)
        change(path)
        with pytest.raises(hr.FileChangedError) as caught:
            for _ in range(2):  # at the latest when the next epoch starts
                for _batch in batches:
                    time.sleep(0)
                batches = iter(loader)
    check(caught.value, path)


@pytest.mark.parametrize("change", CHANGES)
def test_between_two_reads(tmp_path: Path, change) -> None:
    path = write(tmp_path / "changing.h5", 1)
    dataset = hr.open(path)
    before = dataset[:10]
    change(path)
    with pytest.raises(hr.FileChangedError) as caught:
        dataset[ROWS - 100 :]
    check(caught.value, path)
    assert len(before["row"]) == 10


def check(error: hr.Error, path: Path) -> None:
    assert isinstance(error, OSError)
    assert error.file == str(path)
    assert str(path) in str(error)
    assert error.hint


def test_a_touched_copy_of_equal_bytes_is_a_change(tmp_path: Path) -> None:
    """Whoever changed it: opening again is the cure that the text names, and it works."""
    path = write(tmp_path / "changing.h5", 1)
    dataset = hr.open(path)
    replace(path)
    with pytest.raises(hr.FileChangedError, match="again"):
        dataset[:]
    assert len(hr.open(path)[:]["row"]) == ROWS
