"""What is done with one mutated file, in a process that may die of it."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hostile_mutations import Base, Mutant

import headrace as hr

BUDGET_BYTES = 32 << 20
CPU_SECONDS, WAIT_SECONDS = 10.0, 20.0
FIRST_ROWS, BATCHES, MORE_FIELDS = 64, 30, 3
HELD_BYTES = 2 << 20  # of rows that are kept here to compare: they count as memory
M_PERTURB = -6  # mallopt(3): what freed and fresh memory is filled with
_libc = ctypes.CDLL(None)


READ = """
import sys, headrace as hr
for path in sys.argv[1:]:
    print(path, file=sys.stderr, flush=True)
    try:
        dataset = hr.open(path)
        print(sorted(dataset.fields), sorted(dataset.left_out))
        dict(dataset.attrs), dataset[:64]
    except hr.InternalError:
        raise
    except hr.Error as error:
        assert error.file, error
        print(error)
"""


def read_apart(*paths: Path, seconds: float = 120) -> str:
    """Open files and read from them, in a process that may crash or hang. Returns the fields and the errors."""
    command = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


class FindingError(Exception):
    """A file did what none may do."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def resident_bytes(name: str) -> int:
    """VmRSS or VmHWM of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise AssertionError(f"no {name} in /proc/self/status")


@contextmanager
def bounded() -> Iterator[None]:
    """Raise a FindingError after growth by more than twice the budget; SIGPROF ends what computes for too long."""
    before = resident_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resident_bytes("VmHWM") - before
    if grown > 2 * BUDGET_BYTES:
        raise FindingError("memory", f"{grown >> 20} MiB more with memory of {BUDGET_BYTES >> 20} MiB")


def attempt(outcome: list[str], what: str, work: Callable[[], Any]) -> Any:
    """The result, or None after an error of ours. Anything else is a finding."""
    try:
        return work()
    except FindingError:
        raise
    except hr.InternalError as error:
        raise FindingError("internal", f"{what}: InternalError: {error}") from error
    except hr.LoaderTimeoutError as error:
        raise FindingError("hang", f"{what}: {error}") from error
    except hr.Error as error:
        outcome.append(error.code)
        return None
    except Exception as error:
        raise FindingError("exception", f"{what}: {type(error).__name__}: {error}") from error


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and a[k].shape == b[k].shape and a[k].tobytes() == b[k].tobytes() for k in a
    )


def look(dataset: hr.Dataset) -> None:
    _ = repr(dataset), dict(dataset.attrs), dict(dataset.left_out), dataset.sample_bytes
    _ = {name: dict(attrs) for name, attrs in dataset.attrs.items()}


def deliver(dataset: hr.Dataset, first: dict[str, Any] | None, cache: str) -> None:
    """Some batches of an epoch; their rows are those of ``first``."""
    words = {"shuffle": True, "threads": 2, "memory": BUDGET_BYTES, "timeout": WAIT_SECONDS, "cache": cache}
    with hr.Loader(dataset, 16, provenance=True, **words) as loader:
        for number, batch in enumerate(loader):
            rows = batch["_rows"][:, 1]
            for name, values in first.items() if first else ():
                known = np.flatnonzero(rows < len(values))
                if batch[name][known].tobytes() != values[rows[known]].tobytes():
                    raise FindingError("values", f"{name}: a batch and a slice differ, rows {rows[known].tolist()}")
            if number == BATCHES:
                break


def check_guarded(base: Base, mutant: Mutant, values: dict[str, Any]) -> None:
    for name, crc in base.guarded.items() if mutant.guarded else ():
        if name in values and zlib.crc32(values[name].tobytes()) != crc:
            raise FindingError("values", f"{name}: other values, though their checksum does not fit")


def read_mutant(base: Base, path: Path, mutant: Mutant, number: int) -> str:
    """Open, walk, slice, one epoch, and once more with other bytes in fresh memory. Returns what came, as a word."""
    outcome: list[str] = []
    dataset = attempt(outcome, "open", lambda: hr.open(path))
    found: list[str] = []
    if dataset is not None:
        attempt(outcome, "look", lambda: look(dataset))
        found = list(dataset.fields)
        count = max(1, min(FIRST_ROWS, HELD_BYTES // max(dataset.sample_bytes, 1)))
        first = attempt(outcome, "slice", lambda: dataset[:count])
        attempt(outcome, "last rows", lambda: dataset[-3:])
        attempt(outcome, "epoch", lambda: deliver(dataset, first, ("none", "ram")[number % 2]))
        if first is not None:
            if count == FIRST_ROWS:
                check_guarded(base, mutant, first)
            # It also touches what libhdf5 takes and never uses, which is no memory otherwise: unbounded.
            _libc.mallopt(M_PERTURB, 0xA5)
            try:
                again = attempt(outcome, "once more", lambda: hr.open(path)[:count])
            finally:
                _libc.mallopt(M_PERTURB, 0)
            if again is None or not same(first, again):
                raise FindingError("values", "two openings give different values")
        dataset.close()
    left = [name for name in base.fields if name not in found]
    for name in left[number % 5 : number % 5 + MORE_FIELDS]:
        attempt(outcome, name, lambda name=name: hr.open(path, fields=[name])[:FIRST_ROWS])
    if number % 7 == 0:
        attempt(outcome, "verify", lambda: hr.verify(path, threads=1))
        attempt(outcome, "inspect", lambda: str(hr.inspect(path)))
    return outcome[0] if outcome else "values"
