"""Mutated files, for half a minute of two processors; and what the fuzzer has found once, by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
from hostile_bases import describe, filters
from hostile_mutations import Base, load_bases
from hostile_read import read_apart

Fill = Callable[[h5py.File], None]
HERE = Path(__file__).parent


def base_of(folder: Path, fill: Fill, libver: str) -> Base:
    """One of the fuzzer's files."""
    path = folder / fill.__name__ / "main.h5"
    path.parent.mkdir()
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        fill(file)
    describe(path, path.name)
    (base,) = load_bases(path.parent)
    return base


def test_undefined_address_in_a_tree_of_links(tmp_path: Path) -> None:
    """The library's accumulator of metadata copied from outside its buffer."""
    base = base_of(tmp_path, filters, "earliest")
    at = base.data.index(b"TREE") + 25  # the first entry: a key, then the address of its links
    paths = [tmp_path / f"{ones}.h5" for ones in range(1, 64, 3)]
    for path in paths:
        ones = int(path.stem)
        path.write_bytes(base.data[:at] + b"\xff" * ones + base.data[at + ones :])
    read_apart(*paths)


def test_mutants_of_half_a_minute(tmp_path: Path) -> None:
    """Each of the fuzzer's files is mutated at least once."""
    words = ["--seconds", "15", "--workers", "2", "--seed", "1", "--keep", str(tmp_path)]
    command = [sys.executable, str(HERE / "fuzz_files.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    print(done.stdout)
    said = re.search(r"(\d+) files, seed 1: (\d+) mutants", done.stdout)
    assert said is not None and 0 < int(said[1]) <= int(said[2]), done.stdout


def test_no_file_of_a_name(tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "fuzz_files.py"), "--only", "no such file", "--keep", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stdout + done.stderr[-2000:]
    assert "no such file" in done.stderr
