"""Place: where a loader is that hands over some batches while its engine is ahead of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace import _headrace


class Place:
    """The batches of an epoch that were handed over, while the engine is ahead of them."""

    def __init__(self, native: _headrace.Loader, epoch: int, sample: int) -> None:
        """Begin an epoch after so many of its samples, over all ranks."""
        self._native = native
        self.epoch, self._sample = epoch, sample
        self._batches = native.batches_after(epoch, sample)
        self._passed, self._delivered = 0, 0

    def delivered(self, batches: int) -> None:
        """Take in how many batches were handed over since the beginning."""
        self._delivered = batches

    def now(self) -> tuple[int, int]:
        """Return the epoch, and its samples that were handed over; after the last, the beginning of the next epoch."""
        if self._delivered >= self._batches:
            return self.epoch + 1, 0
        for _ in range(self._delivered - self._passed):
            self._sample = self._native.step_end(self.epoch, self._sample)
        self._passed = self._delivered
        return self.epoch, self._sample


class Counted(Iterator[Any]):
    """The engine's batches of an epoch, counted.

    Attributes:
        taken: How many there were.
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        """Count from 0."""
        self._batches = batches
        self.taken = 0

    def __next__(self) -> Any:
        """Return the next batch."""
        batch = next(self._batches)
        self.taken += 1
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)  # what else an epoch can do
