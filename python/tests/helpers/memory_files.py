"""Files, child processes and limits for the tests of memory and caches."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from jet_files import write_h5

import headrace as hr

MIB = 1 << 20
SIZE = 96  # MiB decoded of each of the larger files
SHARDS = (700, 513, 130)  # rows of each file: no multiple of any chunk

#: For a process of a test: the most memory that it has held. (What getrusage() says counts its parent's as well.)
PEAK_BYTES = "def peak_bytes(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) << 10"


@dataclass(frozen=True)
class Shards:
    """Three files whose fields are stored in different ways, and all their rows as h5py reads them."""

    paths: list[Path]
    truth: dict[str, np.ndarray]

    def __len__(self) -> int:
        return sum(SHARDS)

    def equals(self, batch: dict[str, np.ndarray], rows: Any) -> bool:
        return all(
            array.tobytes() == self.truth[name][rows].tobytes() for name, array in batch.items() if name[0] != "_"
        )

    def check_epoch(self, epoch: Any) -> np.ndarray:
        """Every batch is what h5py says (by the row number in the field y); the rows in order."""
        rows = []
        for batch in epoch:
            assert self.equals(batch, batch["y"]), "a batch differs from what h5py reads"
            rows.append(batch["y"].copy())
        return np.concatenate(rows)


def write_shards(folder: Path) -> Shards:
    random = np.random.default_rng(5)
    first, paths = 0, []
    for i, rows in enumerate(SHARDS):
        gzip = {"compression": "gzip", "compression_opts": 1}
        arrays = {
            "x": (random.normal(size=(rows, 8, 4)).astype(np.float32), {"chunks": (64, 8, 4), **gzip}),
            "adj": (random.integers(0, 9, (rows, 40)).astype(np.float32), {"chunks": (50, 40), "compression": "lzf"}),
            "t": (random.integers(-9, 9, (rows, 30), np.int16), {"chunks": (37, 7), "shuffle": True, **gzip}),
            "b": (random.integers(0, 255, (rows, 5), np.uint8), {"chunks": (16, 5)}),
            "s": (random.normal(size=rows), {"chunks": (128,), **gzip}),
            "y": np.arange(first, first + rows),  # contiguous
        }
        paths.append(write_h5(folder / f"shard_{i}.h5", **arrays))
        first += rows
    parts = []
    for path in paths:
        with h5py.File(path) as file:
            parts.append({name: file[name][()] for name in file})
    return Shards(paths, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


# --- larger files, of rows that check themselves ---------------------------------------------------------------------


def write_rows(path: Path, megabytes: int, *, noise: bool, compression: str | None = "lzf", row: int = 16384) -> Path:
    """Rows of ``row`` bytes in x; y is the row's number, c the sum over x modulo 2^32."""
    rows, words = megabytes * MIB // row, row // 4
    buffer = np.random.default_rng(7).integers(0, 2**32, 64 * words, dtype=np.uint32).reshape(64, words)
    with h5py.File(path, "w") as file:
        chunks: dict[str, Any] = {} if compression is None else {"chunks": (64, words), "compression": compression}
        x = file.create_dataset("x", (rows, words), np.uint32, **chunks)
        sums = np.empty(rows, np.uint32)
        for begin in range(0, rows, 64):
            here = min(64, rows - begin)
            number = np.arange(begin, begin + here, dtype=np.uint32)[:, None]
            part = buffer[:here] + number * np.uint32(2654435761) if noise else np.repeat(number, words, axis=1)
            x[begin : begin + here] = part
            sums[begin : begin + here] = part.sum(axis=1, dtype=np.uint32)
        file["y"] = np.arange(rows)
        file.create_dataset("c", data=sums, chunks=(1000,), compression="gzip")
    return path


CHILD = """
import faulthandler, gc, json, os, signal, sys, threading, time, warnings
faulthandler.enable(); faulthandler.dump_traceback_later(60, exit=True)
import numpy as np
import headrace as hr
MIB = 1 << 20

def resident():  # what nobody can take away: pages of files are not in it
    total = 0
    for line in open("/proc/self/status"):
        if line.startswith(("RssAnon:", "RssShmem:")):
            total += int(line.split()[1]) << 10
    return total

class Sampled:  # the highest resident memory between two lines
    def __enter__(self):
        self.before = self.most = resident()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self
    def watch(self):
        while not self.stop.wait(0.003):
            self.most = max(self.most, resident())
    def __exit__(self, *_):
        self.stop.set(); self.thread.join()
        self.most = max(self.most, resident())

def check(batch):
    sums = batch["x"].sum(axis=1, dtype=np.uint32)
    assert np.array_equal(sums, batch["c"]), "rows are damaged"
    return batch["y"]

def run(loader, epochs=2, most=None):
    rows = 0
    for _ in range(epochs):
        seen = []
        for i, batch in enumerate(loader):
            seen.append(check(batch).copy())
            if most and i + 1 == most: break
        else:
            assert loader.report().to_dict()["exactly_once"] is True
        rows += sum(map(len, seen))
        if not most:
            seen = np.concatenate(seen)
            assert len(np.unique(seen)) == len(seen)
    return rows
"""


def child_source(script: str, **values: Any) -> str:
    """A script for an interpreter of its own: with the helpers of ``CHILD``, and values as globals."""
    given = "".join(f"{name} = json.loads({json.dumps(value, default=str)!r})\n" for name, value in values.items())
    return CHILD + given + textwrap.dedent(script)


def start_child(script: str, *, group: Group | None = None, **values: Any) -> subprocess.Popen[str]:
    join = f"open({group.procs!r}, 'w').write('0')\n" if group else ""
    return subprocess.Popen(
        [sys.executable, "-W", "always::UserWarning", "-c", join + child_source(script, **values)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_child(script: str, *, timeout: float = 120, status: int = 0, **values: Any) -> subprocess.CompletedProcess[str]:
    process = start_child(script, **values)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hung\n{out}\n{err}") from None
    assert process.returncode == status, f"status {process.returncode}\n{out}\n{err}"
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextlib.contextmanager
def mounted_tmpfs(folder: Path, options: str) -> Iterator[str]:
    """Mount a tmpfs; yields why it could not be done, or nothing."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        yield done.stderr.strip() if done.returncode else ""
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)


# --- memory cgroups --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A memory cgroup of our own; ``limit`` is the file that takes its limit."""

    folder: Path
    version: int

    @property
    def procs(self) -> str:
        return str(self.folder / "cgroup.procs")

    @property
    def limit(self) -> str:
        return str(self.folder / ("memory.max" if self.version == 2 else "memory.limit_in_bytes"))

    def kills(self) -> int:
        file = self.folder / ("memory.events" if self.version == 2 else "memory.oom_control")
        words = file.read_text().split()
        return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0


def _own_groups() -> Iterator[tuple[Path, int]]:
    """Directories below which this process may be allowed to make a memory cgroup: its own, and those above."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        version = 2 if number == "0" and not controllers else 1
        if version == 1 and "memory" not in controllers.split(","):
            continue
        for words in mounts:
            after = words[words.index("-") + 1 :]
            kind = "cgroup2" if version == 2 else "cgroup"
            if after[0] != kind or (version == 1 and "memory" not in after[2].split(",")):
                continue
            top, here = Path(words[4]), Path(words[4] + path)
            while True:
                yield here, version
                if here in (top, here.parent):
                    break
                here = here.parent


@contextlib.contextmanager
def memory_group() -> Iterator[Group | None]:
    """A cgroup to put a child into; None where this process may make none."""
    made = None
    for parent, version in _own_groups():
        folder = parent / f"headrace_test_{os.getpid()}_{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            group = Group(folder, version)
            if Path(group.limit).exists():
                Path(group.limit).write_text(str(1 << 40))
                made = group
                break
            folder.rmdir()
    try:
        yield made
    finally:
        for _ in range(200 if made else 0):
            with contextlib.suppress(OSError):
                made.folder.rmdir()
                break
            time.sleep(0.02)


def epochs_of(loader: hr.Loader, epochs: int) -> list[list[dict[str, np.ndarray]]]:
    return [[{name: array.copy() for name, array in batch.items()} for batch in loader] for _ in range(epochs)]


def notes_of(loader: hr.Loader) -> str:
    return "\n".join(loader.report().notices)


def random_data(shards: Shards, draw: random.Random) -> hr.Dataset:
    names = draw.sample(["x", "adj", "t", "b", "s"], draw.randint(1, 5))
    names.insert(draw.randint(0, len(names)), "y")
    data = hr.open(shards.paths, fields=names)
    kind = draw.choice(["all", "all", "slice", "rows", "split"])
    if kind == "slice":
        return data.select(slice(draw.randint(0, 300), draw.randint(900, 1343), draw.randint(1, 3)))
    if kind == "rows":
        return data.select(sorted(draw.sample(range(len(data)), draw.randint(50, 1200))))
    if kind == "split":
        return data.split({"train": 0.8, "val": 0.2}, seed=draw.randint(0, 9))[draw.choice(["train", "val"])]
    return data
