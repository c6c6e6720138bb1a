"""Mutated files, for a minute; and what the fuzzer has found once, by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from hostile_bases import describe, filters
from hostile_mutations import Base, load_bases

Fill = Callable[[h5py.File], None]
HERE = Path(__file__).parent
READ = """
import sys, headrace as hr
for path in sys.argv[1:]:
    print(path, flush=True)
    try:
        dataset = hr.open(path)
        dict(dataset.attrs), dataset[:64]
    except hr.InternalError:
        raise
    except hr.Error as error:
        assert error.file, error
"""


def base_of(folder: Path, fill: Fill, libver: str) -> Base:
    """One of the fuzzer's files."""
    path = folder / fill.__name__ / "main.h5"
    path.parent.mkdir()
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        fill(file)
    describe(path, path.name)
    (base,) = load_bases(path.parent)
    return base


def read(*paths: Path) -> None:
    """Open files and read from them, in a process that may crash."""
    command = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"


def test_undefined_address_in_a_tree_of_links(tmp_path: Path) -> None:
    """The library's accumulator of metadata copied from outside its buffer."""
    base = base_of(tmp_path, filters, "earliest")
    at = base.data.index(b"TREE") + 25  # the first entry: a key, then the address of its links
    paths = [tmp_path / f"{ones}.h5" for ones in range(1, 64, 3)]
    for path in paths:
        ones = int(path.stem)
        path.write_bytes(base.data[:at] + b"\xff" * ones + base.data[at + ones :])
    read(*paths)


@pytest.mark.parametrize("seed", [1])
def test_half_a_minute_of_mutants(tmp_path: Path, seed: int) -> None:
    command = [sys.executable, HERE / "fuzz_files.py", "--seconds", "25", "--seed", str(seed), "--keep", tmp_path]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    print(done.stdout)
