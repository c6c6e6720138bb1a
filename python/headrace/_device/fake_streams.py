"""Streams and events of a fake device, whose copies are made later, by a thread."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import weakref
from collections import deque
from typing import Protocol

import torch


class Habits(Protocol):
    """What decides how long copies take, and in which order they end."""

    def next_batch(self, num_bytes: int) -> tuple[bool, float]:
        """Return whether the next batch's copy fails, and the seconds that it takes."""

    def choose(self, waiting: int) -> int:
        """Return which of so many batches is copied next."""


class FakeEvent:
    """An event of a fake stream, or of the host, for which it has happened when it is recorded."""

    def __init__(self) -> None:
        self._happened = threading.Event()
        self._lock = threading.Lock()
        self._later: list[FakeEvent] = []
        self._at = 0
        self._error: Exception | None = None

    def record(self, stream: FakeStream | HostStream) -> None:
        """Let it happen once `stream` has done what it was asked for so far."""
        self._happened.clear()
        stream.record(self)

    def query(self) -> bool:
        """Return True if it has happened."""
        return self._happened.is_set()

    def synchronize(self) -> None:
        """Wait for it. Raises the error of the copy before it."""
        self._happened.wait()
        if self._error is not None:
            raise self._error

    def elapsed_time(self, later: FakeEvent) -> float:
        """Return the milliseconds from this event to a later one."""
        return (later._at - self._at) * 1e-6

    def happen(self, error: Exception | None = None) -> None:
        """Let it happen now."""
        self._at = time.perf_counter_ns()
        self._error = error
        with self._lock:
            self._happened.set()
            later, self._later = self._later, []
        for event in later:
            event.happen()

    def then(self, later: FakeEvent) -> None:
        """Let another event happen right behind this one."""
        with self._lock:
            if not self._happened.is_set():
                self._later.append(later)
                return
        later.happen()


class HostStream:
    """The stream of the program's own work, which is done where it is asked for, or later."""

    def __init__(self, runs_ahead: bool) -> None:
        self._runs_ahead = runs_ahead
        self._awaited: list[FakeEvent] = []

    def wait_event(self, event: FakeEvent) -> None:
        if not self._runs_ahead:
            event.synchronize()
            return
        self._awaited = [awaited for awaited in self._awaited if not awaited.query()] + [event]

    def record(self, event: FakeEvent) -> None:
        if self._awaited:
            self._awaited[-1].then(event)
        else:
            event.happen()

    def synchronize(self) -> None:
        for event in self._awaited:
            event.synchronize()


#: Copies up to an event, and that event.
_Job = tuple[list[tuple[torch.Tensor, torch.Tensor]], FakeEvent]


class FakeStream:
    """A stream with a thread of its own, which ends when nothing refers to the stream."""

    def __init__(self, habits: Habits) -> None:
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._jobs: deque[_Job | None] = deque()
        self._there = threading.Condition()
        thread = threading.Thread(target=_work, args=(habits, self._jobs, self._there), daemon=True, name="fake device")
        weakref.finalize(self, _end, self._jobs, self._there, os.getpid()).atexit = False
        _threads[thread] = (self._jobs, self._there, os.getpid())
        thread.start()

    def add(self, to: torch.Tensor, host: torch.Tensor) -> None:
        """Take a copy, to be made some time later."""
        self._copies.append((to, host))

    def record(self, event: FakeEvent) -> None:
        """Take an event: all copies before it are one piece of work."""
        copies, self._copies = self._copies, []
        with self._there:
            self._jobs.append((copies, event))
            self._there.notify()


def _end(jobs: deque[_Job | None], there: threading.Condition, process: int) -> None:
    if os.getpid() != process:
        return  # a child has no such thread, and the lock may be taken for ever
    with there:
        jobs.append(None)
        there.notify()


#: Seconds for which the interpreter's exit waits for a copy.
_EXIT_SECONDS = 5.0
_threads: weakref.WeakKeyDictionary[threading.Thread, tuple[deque[_Job | None], threading.Condition, int]]
_threads = weakref.WeakKeyDictionary()


@atexit.register
def _end_all() -> None:
    """Wait until all threads have ended: one that goes on while the interpreter ends can take the process down."""
    for jobs, there, process in list(_threads.values()):
        _end(jobs, there, process)
    for thread in list(_threads):
        thread.join(_EXIT_SECONDS)


def _work(habits: Habits, jobs: deque[_Job | None], there: threading.Condition) -> None:
    while True:
        with there:
            while not jobs:
                there.wait()
            chosen = habits.choose(sum(job is not None for job in jobs) or 1)
            job = jobs[chosen]
            del jobs[chosen]
        if job is None:
            return
        copies, event = job
        if not copies:
            event.happen()
            continue
        fails, seconds = habits.next_batch(sum(host.nbytes for _, host in copies))
        time.sleep(seconds)
        if fails:
            event.happen(RuntimeError("fake device: a copy failed, as this device was told to let it"))
            continue
        for to, host in copies:  # as late as it may
            ctypes.memmove(to.data_ptr(), host.data_ptr(), host.nbytes)
        event.happen()
        del copies, event, job
