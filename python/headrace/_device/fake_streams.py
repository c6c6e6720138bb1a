"""Events of a fake device, and the streams whose copies it makes later, by a thread."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from headrace._device.fake_memory import Memory


class Stream(Protocol):
    """What events are recorded in."""

    def record(self, event: FakeEvent) -> None:
        """Take an event: it happens once the stream has done what it was asked for so far."""


class Habits(Protocol):
    """What decides how long copies take, and in which order they end.

    Attributes:
        lock: Of all streams of the device: a tensor may be freed by a thread that has it, whose streams are told.
    """

    lock: threading.RLock

    def next_batch(self, num_bytes: int) -> tuple[bool, float]:
        """Return whether the next batch's copy fails, and the seconds that it takes."""

    def choose(self, waiting: int) -> int:
        """Return which of so many batches is copied next."""


class FakeEvent:
    """An event of a fake stream, or of the host, for which it has happened when it is recorded."""

    def __init__(self) -> None:
        self._has_happened = False
        self._lock = threading.Lock()
        self._later: list[Callable[[], object]] = []
        self._at = 0
        self._error: Exception | None = None

    def record(self, stream: Stream) -> None:
        """Let it happen once `stream` has done what it was asked for so far."""
        self._has_happened = False
        stream.record(self)

    def query(self) -> bool:
        """Return True if it has happened."""
        return self._has_happened

    def synchronize(self) -> None:
        """Wait for it. Raises the error of the copy before it."""
        if not self._has_happened:
            over = threading.Lock()
            over.acquire()
            self.then(over.release)
            over.acquire()
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
            self._has_happened = True
            later, self._later = self._later, []
        for function in later:
            function()

    def then(self, function: Callable[[], object]) -> None:
        """Call a function once it has happened, on the thread that lets it happen; at once, if it has."""
        with self._lock:
            if not self._has_happened:
                self._later.append(function)
                return
        function()

    @property
    def error(self) -> Exception | None:
        """The error of the copy before it; None: it went well, or is not over."""
        return self._error


@dataclass(frozen=True)
class Copy:
    """A copy to a place in the device's memory; it keeps that memory, and no tensor in it."""

    memory: Memory
    offset: int
    host: torch.Tensor

    def make(self) -> None:
        """Make it."""
        self.memory.write(self.offset, self.host.data_ptr(), self.host.nbytes)


#: Copies up to an event, and that event.
_Job = tuple[list[Copy], FakeEvent]


class _Jobs:
    """What a stream's thread has to do, in the order in which it was asked for."""

    def __init__(self, lock: threading.RLock) -> None:
        self.there = threading.Condition(lock)
        self.waiting: deque[_Job | None] = deque()
        self.undone = 0  # with the one that the thread is at
        self.process = os.getpid()

    def end(self) -> None:
        """End the thread behind what it has to do."""
        if os.getpid() == self.process:  # a child has no such thread, and the lock may be taken for ever
            with self.there:
                self.waiting.append(None)
                self.there.notify_all()


class FakeStream:
    """A stream with a thread of its own, which ends when nothing refers to the stream."""

    def __init__(self, habits: Habits) -> None:
        self._copies: list[Copy] = []
        self._jobs = _Jobs(habits.lock)
        thread = threading.Thread(target=_work, args=(habits, self._jobs), daemon=True, name="fake device")
        weakref.finalize(self, self._jobs.end).atexit = False
        ends_with_the_interpreter(thread, self._jobs.end)
        thread.start()

    def add(self, copy: Copy) -> None:
        """Take a copy, to be made some time later."""
        self._copies.append(copy)

    def make(self, copy: Copy, seconds: float) -> None:
        """Make a copy which takes so long, behind all others, while the calling thread waits."""
        if self._copies:
            self.record(FakeEvent())
        with self._jobs.there:
            self._jobs.there.wait_for(lambda: self._jobs.undone == 0)
        time.sleep(seconds)
        copy.make()

    def record(self, event: FakeEvent) -> None:
        """Take an event: all copies before it are one piece of work."""
        copies, self._copies = self._copies, []
        with self._jobs.there:
            self._jobs.undone += 1
            self._jobs.waiting.append((copies, event))
            self._jobs.there.notify_all()


#: Seconds for which the interpreter's exit waits for a copy.
_EXIT_SECONDS = 5.0
_threads: weakref.WeakKeyDictionary[threading.Thread, Callable[[], None]] = weakref.WeakKeyDictionary()


def ends_with_the_interpreter(thread: threading.Thread, end: Callable[[], None]) -> None:
    """End a thread by a function when the interpreter ends, and wait for it."""
    _threads[thread] = end


@atexit.register
def _end_all() -> None:
    """Wait until all threads have ended: one that goes on while the interpreter ends can take the process down."""
    threads = list(_threads.items())
    for _, end in threads:
        end()
    for thread, _ in threads:
        thread.join(_EXIT_SECONDS)


def _work(habits: Habits, jobs: _Jobs) -> None:
    while True:
        with jobs.there:
            while not jobs.waiting:
                jobs.there.wait()
            chosen = habits.choose(sum(job is not None for job in jobs.waiting) or 1)
            job = jobs.waiting[chosen]
            del jobs.waiting[chosen]
        if job is None:
            return
        _do(habits, *job)
        del job  # and what it refers to
        with jobs.there:
            jobs.undone -= 1
            jobs.there.notify_all()


def _do(habits: Habits, copies: list[Copy], event: FakeEvent) -> None:
    if not copies:
        event.happen()
        return
    fails, seconds = habits.next_batch(sum(copy.host.nbytes for copy in copies))
    time.sleep(seconds)
    if fails:
        event.happen(RuntimeError("fake device: a copy failed, as this device was told to let it"))
        return
    for copy in copies:  # as late as it may
        copy.make()
    event.happen()
