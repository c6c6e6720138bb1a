"""HandOver: a batch that was copied, made ready for the program's stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace._device.backend import Backend
from headrace._device.containers import changed
from headrace._device.copier import Copier, OnDevice
from headrace._device.feed import Way
from headrace._device.figures import Figures
from headrace._loader.host_epoch import call


class HandOver:
    """Makes a batch that was copied ready for the program's stream: the device waits for the copy, not the host."""

    def __init__(self, backend: Backend, copier: Copier, figures: Figures) -> None:
        """Tell the copier how far the device is, and count what steps wait in the figures."""
        self._backend = backend
        self._copier = copier
        self._figures = figures
        self._left_ns: int | None = None

    def __call__(self, take: Callable[[], OnDevice]) -> Any:
        """Return the batch that ``take`` returns."""
        entered = time.perf_counter_ns()
        if self._left_ns is not None:
            self._figures.step_ns += entered - self._left_ns
        self._left_ns = entered
        backend = self._backend
        with backend.range("headrace: next batch"):
            stream = backend.current_stream()
            (asked := backend.event()).record(stream)
            made = take()
            if made.copied is not None:
                stream.wait_event(made.copied)
            for tensor in made.tensors:
                backend.lend(tensor, stream)
            (there := backend.event()).record(stream)
            batch = made.batch if made.is_whole else changed(made.batch, backend.moved, backend.moved)
        self._copier.handed_over(made, there)
        self._figures.waited(asked, there)
        left = time.perf_counter_ns()
        self._figures.step_ns += left - entered
        self._left_ns = left
        return batch


class WhenAskedFor(Iterator[Any]):
    """Batches that are taken and copied when they are asked for."""

    def __init__(self, batches: Iterator[Any], way: Way, finish: Callable[[Any], Any] | None) -> None:
        """Take them from ``batches``; ``finish`` makes what the program gets of one that is on the device."""
        self._batches = batches
        self._way = way
        self._finish = finish
        self._taken: list[Any] = []  # what was taken, and not copied: the device was full, say

    def __next__(self) -> Any:
        """Return the next batch."""
        batch = self._way.hand_over(self._copy)
        return batch if self._finish is None else call(self._finish, batch)

    def _copy(self) -> OnDevice:
        if not self._taken:
            self._taken.append(next(self._batches))
        made = self._way.copy(self._taken[0])
        self._taken.clear()
        return made
