"""What a figure is: which contestants meet in it, how its value is found, and what it should reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

#: One run of one contestant: what it printed.
Run = dict[str, Any]
#: Runs by contestant, in the order of the repetitions.
Runs = dict[str, list[Run]]

#: One value a repetition.
Value = Callable[[Runs], list[float]]

HEADLINE_REPETITIONS = 7  # at least, of figures that are quoted elsewhere


@dataclass(frozen=True)
class Contestant:
    """A command that prints JSON: a program, a variant of the workload, and options."""

    program: str  # "headrace MEASURE", "memory MEASURE", a key of run.PROGRAMS, or the name of a script or rival
    variant: str = "gzip"  # "": no files
    options: tuple[str, ...] = ()
    files: int | None = None  # so many of the variant's files; default: all
    trial: tuple[str, ...] = ()  # further options of a trial, which make it small
    touch_bytes: int = 0  # so much memory is touched and freed before each run


@dataclass(frozen=True)
class Figure:
    key: str
    what: str
    reach: float | None  # None: told, not judged
    at_least: bool
    contestants: dict[str, Contestant]
    value: Value
    unit: str = ""
    rows: str = "jets"  # what rows are
    repetitions: int | None = None  # default: what run.py is told
    warm_up: bool = True  # a run of each contestant that does not count, where there are several
    timeout: float = 600.0  # seconds a run
    detail: Callable[[Runs], str] | None = None  # what else the JSON says of the last repetition
    headline: bool = False  # quoted elsewhere: measured HEADLINE_REPETITIONS times at least
    never_below: float | None = None  # what the lowest repetition should reach; a line of its own
    beside: dict[str, tuple[Value, str]] = field(default_factory=dict)  # other values and their units, shown with it
    reason: str = ""  # why it is missed, shown below it where it is

    def __post_init__(self) -> None:
        if self.headline and self.repetitions is not None and self.repetitions < HEADLINE_REPETITIONS:
            raise ValueError(f"{self.key}: a headline figure needs {HEADLINE_REPETITIONS} repetitions or more")
        if self.never_below is not None and not self.at_least:
            raise ValueError(f"{self.key}: never_below is for figures where more is better")

    def met(self, value: float) -> bool | None:
        """True if the value reaches what it should; None if nothing is asked of it."""
        if self.reach is None:
            return None
        return value >= self.reach if self.at_least else value <= self.reach

    def never_met(self, values: list[float]) -> bool | None:
        return None if self.never_below is None else min(values) >= self.never_below

    def times(self, asked: int) -> int:
        """How often it is measured, when `asked` repetitions are wanted of most figures."""
        times = min(self.repetitions or asked, asked)
        return max(times, HEADLINE_REPETITIONS) if self.headline else times


def ratio(above: str, below: str, runs: Runs, key: str = "rows_per_s") -> list[float]:
    """One contestant over another, pair by pair: rows per second, unless another key is named."""
    return [a[key] / b[key] for a, b in zip(runs[above], runs[below], strict=True)]


def over_best_of(rivals: list[str], runs: Runs) -> list[float]:
    """Headrace over the best of some contestants, repetition by repetition."""
    best = [max(runs[name][i]["rows_per_s"] for name in rivals) for i in range(len(runs["headrace"]))]
    return [run["rows_per_s"] / rival for run, rival in zip(runs["headrace"], best, strict=True)]


def over_best_rival(runs: Runs) -> list[float]:
    """Headrace over the best of all others."""
    return over_best_of([name for name in runs if name != "headrace"], runs)


def first_epoch_over(below: str, runs: Runs) -> list[float]:
    """Headrace's first epoch over another contestant."""
    return [a["cold_rows_per_s"] / b["rows_per_s"] for a, b in zip(runs["headrace"], runs[below], strict=True)]


def first_epoch_over_best_rival(runs: Runs) -> list[float]:
    rivals = [name for name in runs if name != "headrace"]
    best = [max(runs[name][i]["rows_per_s"] for name in rivals) for i in range(len(runs["headrace"]))]
    return [run["cold_rows_per_s"] / rival for run, rival in zip(runs["headrace"], best, strict=True)]


def only(key: str, runs: Runs, scale: float = 1.0) -> list[float]:
    """A value that Headrace's side printed itself."""
    return [float(run[key]) * scale for run in runs["headrace"]]


def printed(key: str, scale: float = 1.0) -> Value:
    return partial(only, key, scale=scale)
