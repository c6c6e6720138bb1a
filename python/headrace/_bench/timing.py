"""What a consumer that takes no time sees of a loader: epochs, and how long each batch lets it wait."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

_LEAST_BATCHES = 2  # the first is start-up


@dataclass
class Pass:
    """An epoch, or several put together."""

    samples: int = 0
    batches: int = 0
    seconds: float = 0.0
    first_batch_samples: int = 0
    first_batch_seconds: float = 0.0
    waits: list[float] = field(default_factory=list)  # of each batch but the first of an epoch, in seconds
    complete: bool = False
    counts_first: bool = False  # the first batch fills a window, or a cache, that the next ones come from

    def add(self, other: Pass) -> None:
        """Put another pass behind this one."""
        self.samples += other.samples
        self.batches += other.batches
        self.seconds += other.seconds
        self.first_batch_samples += other.first_batch_samples
        self.first_batch_seconds += other.first_batch_seconds
        self.waits += other.waits
        self.complete = other.complete

    def to_dict(self) -> dict[str, Any]:
        """Return it as the schema of the results has it."""
        return {
            "samples": self.samples,
            "batches": self.batches,
            "seconds": self.seconds,
            "first_batch_samples": self.first_batch_samples,
            "first_batch_seconds": self.first_batch_seconds,
            "samples_per_second": self.samples_per_second,
            "batch_ms": _milliseconds(self.waits),
            "complete": self.complete,
        }

    @property
    def samples_per_second(self) -> float:
        """Rate of all samples.

        Of a pass that was cut short, without its first batch, which is start-up, unless ``counts_first``.
        """
        if self.counts_first or self.complete:
            return self.samples / self.seconds if self.seconds > 0 else 0.0
        rest = self.seconds - self.first_batch_seconds
        if self.samples > self.first_batch_samples and rest > 0:
            return (self.samples - self.first_batch_samples) / rest
        return self.samples / self.seconds if self.seconds > 0 else 0.0


def _milliseconds(waits: list[float]) -> dict[str, float] | None:
    if not waits:
        return None
    ordered = sorted(waits)

    def rank(share: float) -> float:  # nearest rank
        return ordered[max(math.ceil(share * len(ordered)), 1) - 1] * 1e3

    mean = sum(ordered) / len(ordered) * 1e3
    return {"mean": mean, "p50": rank(0.5), "p99": rank(0.99), "max": ordered[-1] * 1e3}


def rows_of(batch: Any) -> int:
    """Number of samples of a batch: a dict or a tuple of columns."""
    columns = list(batch.values()) if isinstance(batch, dict) else batch
    return len(columns[0])


def time_passes(
    start: Callable[[], Iterable[Any]], *, epochs: int, seconds: float, batches: int, counts_first: bool = False
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Iterate over what ``start`` returns for each epoch, and return the first one and the later ones put together.

    Args:
        start: Called once an epoch.
        epochs: At most so many.
        seconds: Stop after so long; what has begun is finished up to its next batch.
        batches: Cut an epoch short after so many; 0: never.
        counts_first: Rates are those of all batches, also where a pass is cut short: the first one fills a cache or a
            window, which is no start-up.
    """
    first, later = Pass(), Pass(counts_first=counts_first)
    began = time.perf_counter()
    for number in range(epochs):
        one = _one_pass(start, began + seconds, batches)
        one.counts_first = counts_first
        if number == 0:
            first = one
        else:
            later.add(one)
        if not one.complete:
            break
    return first.to_dict(), later.to_dict() if later.batches > 1 and later.waits else None


def _one_pass(start: Callable[[], Iterable[Any]], until: float, batches: int) -> Pass:
    made = Pass()
    began = before = time.perf_counter()
    iterator = iter(start())
    while True:
        if batches and made.batches == batches:
            made.complete = True
            break
        batch = next(iterator, None)
        now = time.perf_counter()
        if batch is None:
            made.complete = True
            break
        rows = rows_of(batch)
        del batch
        if made.batches == 0:
            made.first_batch_seconds, made.first_batch_samples = now - began, rows
        else:
            made.waits.append(now - before)
        made.samples += rows
        made.batches += 1
        before = now
        if now >= until and made.batches >= _LEAST_BATCHES:
            break
    made.seconds = time.perf_counter() - began
    return made
