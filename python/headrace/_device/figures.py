"""Figures: what copies to a device took, and what training steps waited for their batches."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Figures:
    """Sums over the life of a loader; the fields of ``Report.to_device``.

    Threads: the copying thread adds what copies took, the program's thread what it waited; either may read.
    """

    name: str
    batches: int = 0
    bytes: int = 0
    buffer_wait_ns: int = 0
    stage_ns: int = 0
    batch_wait_ns: int = 0
    step_ns: int = 0
    buffers: int = 0
    buffer_bytes: int = 0
    larger_batches: int = 0
    pinned_bytes_per_second: float = 0
    pageable_bytes_per_second: float = 0
    _copy_ms: float = 0
    _timed_bytes: int = 0
    _wait_ms: float = 0
    _copies: deque[tuple[Any, Any, int]] = field(default_factory=deque)  # begun: start, end, bytes
    _waits: deque[tuple[Any, Any]] = field(default_factory=deque)  # asked for, and there
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def copied(self, start: Any, end: Any, num_bytes: int, buffer_wait_ns: int, stage_ns: int) -> None:
        """Count a batch whose copy was begun between two events."""
        self.batches += 1
        self.bytes += num_bytes
        self.buffer_wait_ns += buffer_wait_ns
        self.stage_ns += stage_ns
        with self._lock:
            self._copies.append((start, end, num_bytes))
            self._add_copies()
            self._add_waits()

    def waited(self, asked: Any, there: Any) -> None:
        """Count what a step waited: the time in its own stream from one event to the other.

        They are looked at with the next copy: the program's thread has other things to do.
        """
        self._waits.append((asked, there))

    def _add_copies(self) -> None:
        while self._copies and (ms := _ms(*self._copies[0][:2])) is not None:
            self._copy_ms += max(ms, 0)
            self._timed_bytes += self._copies.popleft()[2]

    def _add_waits(self) -> None:
        while self._waits and (ms := _ms(*self._waits[0])) is not None:
            self._waits.popleft()
            self._wait_ms += ms

    def add_batch_wait(self, ns: int) -> None:
        """Count what the copying thread waited for a batch of the loader's."""
        self.batch_wait_ns += ns

    def report(self) -> dict[str, Any]:
        """Return the fields of ``Report.to_device``."""
        with self._lock:
            self._add_copies()
            self._add_waits()
            done = self.bytes / self._timed_bytes if self._timed_bytes else 0  # those under way are like the others
            copy_ms, wait_ms = self._copy_ms * done, self._wait_ms
        return {
            "name": self.name,
            "batches": self.batches,
            "bytes": self.bytes,
            "copy_seconds": copy_ms * 1e-3,
            "stage_seconds": self.stage_ns * 1e-9,
            "buffer_wait_seconds": self.buffer_wait_ns * 1e-9,
            "batch_wait_seconds": self.batch_wait_ns * 1e-9,
            "step_wait_seconds": wait_ms * 1e-3,
            "step_seconds": self.step_ns * 1e-9,
            "by_events": True,
            "pinned_bytes_per_second": self.pinned_bytes_per_second,
            "pageable_bytes_per_second": self.pageable_bytes_per_second,
            "buffers": self.buffers,
            "buffer_bytes": self.buffer_bytes,
            "larger_batches": self.larger_batches,
        }


def _ms(start: Any, end: Any) -> float | None:
    """Return the milliseconds from one event to another; None: it has not happened, or the device tells no more.

    After an error of the program's own work every call to a device may fail; what is counted here is not to hide it.
    """
    try:
        return float(start.elapsed_time(end)) if end.query() else None
    except RuntimeError:
        return None
