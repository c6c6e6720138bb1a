"""``bench`` with rivals: which contestants take part, whose turn it is, and what came of it."""

from __future__ import annotations

import base64
import json
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._bench.processes import Server, TooSlowError
from headrace._bench.rivals import GROUPS, RIVALS, Column, Rows
from headrace._support.checks import invalid, path_bytes
from headrace.errors import ClosedError, LoaderTimeoutError
from headrace.loader import Loader

_READ_BYTES = 8 << 20
_READ_SHARE = 0.1  # of the time, for reading the files once beforehand
_GRACE_SECONDS = 30.0  # beyond its time, for a contestant that is within its first two batches
_LEAST_SECONDS = 0.2
_IN_ORDER = ("h5py", "torch-slices")  # rivals that make sense for validation files
Progress = Callable[[int, int], Any]


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    against: tuple[str, ...]
    workers: tuple[int, ...] = (0, 1, 2)
    epochs: int = 3
    rounds: int = 3
    seconds: float = 120.0
    num_batches: int = 0
    baseline: str = ""
    max_slowdown: float = 0.0


@dataclass
class Contestant:
    """Someone whose rate is measured: Headrace, or a rival with a number of workers."""

    name: str
    title: str
    split: str
    loader: Loader
    workers: int | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)
    tried: dict[str, float] = field(default_factory=dict)

    @property
    def family(self) -> tuple[str, str, int]:
        """What several numbers of workers are tried for."""
        return (self.name, self.split, self.loader.batch_size)

    def request(self, settings: Settings, memory: int) -> dict[str, Any]:
        """What the measuring process is asked."""
        asked = {"name": self.name, "epochs": settings.epochs, "batches": settings.num_batches}
        if self.name == "headrace":
            return {**asked, "loader": base64.b64encode(pickle.dumps(self.loader)).decode()}
        rows = self.rows()
        return {
            **asked,
            "files": list(rows.files),
            "extents": list(rows.extents),
            "columns": [asdict(column) for column in rows.columns],
            "batch_size": self.loader.batch_size,
            "shuffled": _shuffled(self.loader),
            "workers": self.workers or 0,
            "memory": memory,
        }

    def rows(self) -> Rows:
        """Return what a rival has to load."""
        dataset = self.loader.dataset
        extents = dataset.sample_shape
        along_axes = len(extents) == len(dataset.files) and any(len(one) > 1 for one in extents)
        each = int(np.prod(extents[0][1:], dtype=np.int64)) if along_axes else 1  # samples under an entry of axis 0
        columns = [
            Column(info.name, info.path, info.dtype.str, info.shape, info.chunks[0] if info.chunks else each)
            for info in dataset.fields.values()
        ]
        files = tuple((file.path, file.rows) for file in dataset.files)
        return Rows(files, tuple(columns), extents if along_axes else ())

    def cached_rows(self, memory: int) -> int:
        """Return how many rows its own cache holds; 0: it has none."""
        count = None if self.name == "headrace" else RIVALS[self.name].cached_rows
        return 0 if count is None else count(self.rows(), self.workers or 0, memory)

    def rate(self) -> float:
        """Samples a second of the last round: of later epochs if they were reached."""
        last = self.rounds[-1]
        return float((last["later"] or last["first"])["samples_per_second"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as the schema of the results has it."""
        return {
            "name": self.name,
            "title": self.title,
            "split": self.split,
            "batch_size": self.loader.batch_size,
            "workers": self.workers,
            "samples": len(self.loader.dataset),
            **({"workers_tried": self.tried} if len(self.tried) > 1 else {}),
            "rounds": self.rounds,
        }


def from_cache(samples: int, cached_rows: int, all_samples: int) -> str:
    """Say why a rate would be one of memory: rows are kept, and were not gone through twice. Else nothing."""
    if samples >= min(2 * cached_rows, all_samples):
        return ""
    return (
        f"it delivered {samples:,} samples, and its cache of {cached_rows:,} was filled once: the rate would be that "
        "of memory. Give more --seconds"
    )


def rivals(names: Sequence[str]) -> list[str]:
    """The names of rivals that these stand for, each once.

    Raises:
        InvalidArgumentError: There is no such rival.
    """
    found: list[str] = []
    for name in names:
        if name not in RIVALS and name not in GROUPS:
            known = [*RIVALS, *GROUPS]
            near = get_close_matches(str(name), known, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise invalid(f"against: there is no rival {name!r}", f"{hint}There are: {', '.join(known)}.")
        found += [one for one in GROUPS.get(name, (name,)) if one not in found]
    return found


def compare(
    loaders: Sequence[tuple[str, Loader]], settings: Settings, progress: Progress | None = None
) -> _headrace.ToolResult:
    """Measure in turns, a fresh process each, and return table, Markdown, picture and data.

    Args:
        loaders: Split ("train" or "validation") and loader, which is not iterated over here.
        settings: What is asked for.
        progress: Called with (turns done, turns in all); returning False stops with a ClosedError.
    """
    for _, loader in loaders:
        if loader._options["world_size"] not in (None, 1):
            raise invalid("rivals load all samples, and this loader those of one rank", "Leave world_size out.")
    names = rivals(settings.against)
    empty = json.loads(_headrace.bench_frame(loaders[0][1]._native))
    _report(empty, settings)  # a wrong baseline is said now, not after minutes
    packages = tuple(dict.fromkeys(package for name in names for package in RIVALS[name].packages))
    began = time.monotonic()
    with Server(packages) as server:
        began_measuring = _warm([Path(f.path) for _, loader in loaders for f in loader.dataset.files], settings.seconds)
        result: dict[str, Any] = json.loads(_headrace.bench_frame(loaders[0][1]._native))
        run = _Run(server, settings, began + settings.seconds, progress)
        run.skip_missing(names)
        run.measure(_contestants(loaders, [name for name in names if name not in run.skipped], settings.workers))
    result["warmed"] = began_measuring
    result["stopped_by_time"] = run.stopped
    result["contestants"] = [contestant.to_dict() for contestant in run.contestants]
    result["skipped"] = [{"name": name, "reason": reason} for name, reason in run.skipped.items()]
    return _report(result, settings)


def _report(result: dict[str, Any], settings: Settings) -> _headrace.ToolResult:
    baseline = path_bytes(settings.baseline) if settings.baseline else b""
    return _headrace.bench_report(json.dumps(result), baseline, settings.max_slowdown)


def _shuffled(loader: Loader) -> bool:
    return loader._options["shuffle"] not in (None, False, "false")


def _contestants(
    loaders: Sequence[tuple[str, Loader]], names: Sequence[str], workers: Sequence[int]
) -> list[Contestant]:
    made = []
    for split, loader in loaders:
        title = "Headrace, shuffled" if _shuffled(loader) else "Headrace, in order"
        made.append(Contestant("headrace", title, split, loader))
        for name in names:
            if split == "validation" and name not in _IN_ORDER:
                continue
            rival = RIVALS[name]
            for count in workers if rival.has_workers else (None,):
                told = "" if count is None else f", {count} worker{'' if count == 1 else 's'}"
                made.append(Contestant(name, rival.title + told, split, loader, count))
    return made


def _warm(files: Sequence[Path], seconds: float) -> bool:
    """Read all files once, so that no contestant pays the disk for the others; False if memory or time is too short."""
    if sum(file.stat().st_size for file in files if file.is_file()) > _available_bytes() // 2:
        return False
    until = time.monotonic() + seconds * _READ_SHARE
    for path in files:
        if not path.is_file():
            continue
        with path.open("rb", buffering=0) as file:
            while file.read(_READ_BYTES):
                if time.monotonic() > until:
                    return False
    return True


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class _Run:
    """Rounds: all contestants in the first, then of each rival the number of workers that did best."""

    def __init__(self, server: Server, settings: Settings, until: float, progress: Progress | None) -> None:
        self._server, self._settings, self._until, self._progress = server, settings, until, progress
        self._memory = _available_bytes()
        self.skipped: dict[str, str] = {}
        self.contestants: list[Contestant] = []
        self.stopped = False
        self._done = 0

    def skip_missing(self, names: Sequence[str]) -> None:
        """Skip rivals whose package is not there."""
        for name in names:
            for package in RIVALS[name].packages:
                if package in self._server.missing:
                    self.skipped[name] = f"no {package} here ({self._server.missing[package]}): pip install {package}"

    def measure(self, contestants: list[Contestant]) -> None:
        """Measure everybody; leaves those with results."""
        families = len({contestant.family for contestant in contestants})
        total = len(contestants) + families * (self._settings.rounds - 1)
        taking_part = contestants
        for number in range(self._settings.rounds):
            if number > 0 and time.monotonic() > self._until:
                break
            order = taking_part if number % 2 == 0 else taking_part[::-1]
            for contestant in order:
                self._turn(contestant, number, max(total - self._done, 1))
                self._done += 1
                if self._progress is not None and self._progress(self._done, total) is False:
                    raise ClosedError("stopped before the end")
            if number == 0:
                taking_part = _best([c for c in contestants if c.rounds])
                total = self._done + len(taking_part) * (self._settings.rounds - 1)
        self.contestants = [contestant for contestant in taking_part if contestant.rounds]

    def _turn(self, contestant: Contestant, number: int, turns_left: int) -> None:
        if contestant.name in self.skipped:
            return
        seconds = max((self._until - time.monotonic()) / turns_left, _LEAST_SECONDS)
        request = contestant.request(self._settings, self._memory)
        try:
            answer = self._server.measure({**request, "seconds": seconds}, seconds + _GRACE_SECONDS)
        except TooSlowError:
            answer = {"late": True, "error": f"no two batches within {seconds + _GRACE_SECONDS:.0f} s"}
        failure = answer.get("cannot") or answer.get("error") or self._short(contestant, answer)
        failure = failure or from_cache(
            answer["first"]["samples"], contestant.cached_rows(self._memory), len(contestant.loader.dataset)
        )
        if failure:
            if contestant.name == "headrace" and "late" in answer:
                raise LoaderTimeoutError(f"Headrace: {failure}. Give it more seconds, or try while nothing else runs.")
            if contestant.name == "headrace":
                raise invalid(f"Headrace could not be measured: {failure}", "Run headrace bench without rivals.")
            many = contestant.workers is not None and "cannot" not in answer
            self.skipped[contestant.title if many else contestant.name] = failure
            return
        contestant.rounds.append({"round": number, "first": answer["first"], "later": answer["later"]})
        self.stopped = self.stopped or not (answer["later"] or answer["first"])["complete"]

    def _short(self, contestant: Contestant, answer: dict[str, Any]) -> str:
        """A rival that leaves out samples is no rival."""
        samples, all_samples = answer["first"]["samples"], len(contestant.loader.dataset)
        if contestant.name == "headrace" or self._settings.num_batches or not answer["first"]["complete"]:
            return ""
        return "" if samples == all_samples else f"it delivered {samples} of {all_samples} samples"


def _best(contestants: list[Contestant]) -> list[Contestant]:
    """Return the fastest of each family, which remembers the rates of the others."""
    families: dict[tuple[str, str, int], list[Contestant]] = {}
    for contestant in contestants:
        families.setdefault(contestant.family, []).append(contestant)
    chosen = []
    for family in families.values():
        best = max(family, key=Contestant.rate)
        best.tried = {str(one.workers): one.rate() for one in family}
        chosen.append(best)
    return chosen
