"""HandOver: a batch that was copied, made ready for the program's stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from headrace._device.backend import Backend
from headrace._device.copier import OnDevice
from headrace._device.feed import Way
from headrace._device.figures import Figures


class HandOver:
    """Makes a batch that was copied ready for the program's stream: the device waits for the copy, not the host."""

    def __init__(self, backend: Backend, figures: Figures) -> None:
        """Count what steps wait in the figures."""
        self._backend = backend
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
        self._figures.waited(asked, there)
        left = time.perf_counter_ns()
        self._figures.step_ns += left - entered
        self._left_ns = left
        return made.batch


class WhenAskedFor(Iterator[Any]):
    """Batches that are taken and copied when they are asked for."""

    def __init__(self, batches: Iterator[Any], way: Way) -> None:
        """Take them from ``batches``."""
        self._batches = batches
        self._way = way

    def __next__(self) -> Any:
        """Return the next batch."""
        return self._way.hand_over(lambda: self._way.copy(next(self._batches)))
