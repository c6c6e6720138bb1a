"""The stream of a program's own work on a fake device, which its host may run far ahead of."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial

from headrace._device.fake_streams import FakeEvent, ends_with_the_interpreter


class HostStream:
    """The stream of the program's own work, which is done where it is asked for; or later, in order, by a thread."""

    def __init__(self, runs_ahead: bool, lock: threading.RLock) -> None:
        """Begin, with nothing to do; `lock` is the device's. A thread starts with the first work."""
        self._runs_ahead = runs_ahead
        self._own_line = self._new_line(lock)

    def wait_event(self, event: FakeEvent) -> None:
        """Let what is asked for from now on wait for an event."""
        if not self._runs_ahead:
            event.synchronize()
            return
        line = self._line
        if event.query():
            line.failed(event.error)
            return
        gate = _Gate(event)
        line.add(partial(line.wait_for, gate))
        event.then(partial(line.open, gate))

    def launch(self, seconds: float) -> None:
        """Take work of so many seconds."""
        if not self._runs_ahead:
            time.sleep(seconds)
            return
        line = self._line
        line.add(partial(line.work, time.perf_counter(), seconds))

    def record(self, event: FakeEvent) -> None:
        """Take an event: it happens when all before it is done, at once if that is so now."""
        if not self._runs_ahead:
            event.happen()
            return
        self._line.add(event.happen, waits_for_nothing=True)

    def synchronize(self) -> None:
        """Wait until all is done. Raises the first error of what was waited for, each time."""
        if self._runs_ahead:
            self.record(done := FakeEvent())
            done.synchronize()
            if (error := self._line.error) is not None:
                raise error

    @property
    def _line(self) -> _Line:
        if self._own_line.process != os.getpid():  # a child has no such thread, and the lock may be taken for ever
            self._own_line = self._new_line(threading.RLock())
        return self._own_line

    def _new_line(self, lock: threading.RLock) -> _Line:
        line = _Line(lock)
        weakref.finalize(self, line.end).atexit = False
        return line


class _Gate:
    """An event as it is waited for: another record of it is none of the waiter's business."""

    def __init__(self, event: FakeEvent) -> None:
        self.event = event
        self.opened: float | None = None


class _Line:
    """What a stream has to do, and the thread that does it. The thread refers to this, and not to the stream.

    Threads: any may add, also one that is in here already, since a tensor may be freed anywhere.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._there = threading.Condition(lock)
        self._jobs: deque[Callable[[], None]] = deque()
        self._undone = 0  # with the one that the thread is at
        self._begun = False  # there is a thread
        self._ended = False  # nothing more comes
        self._hurries = False  # nothing is waited for any more
        self._free_at = 0.0  # when the work before is done
        self.process = os.getpid()
        self.error: Exception | None = None

    def add(self, job: Callable[[], None], *, waits_for_nothing: bool = False) -> None:
        """Take a job; one that waits for nothing is done here and now if no other is before it."""
        with self._there:
            is_next = self._ended or (waits_for_nothing and self._undone == 0)
            if not is_next:
                self._undone += 1
                self._jobs.append(job)
                self._there.notify_all()
            begins = not is_next and not self._begun
            self._begun = self._begun or begins
        if is_next:
            job()
        elif begins:  # not under the lock: the start of a thread waits for the thread, which may free tensors first
            thread = threading.Thread(target=self._run, daemon=True, name="fake device's program")
            ends_with_the_interpreter(thread, self.hurry)
            thread.start()

    def wait_for(self, gate: _Gate) -> None:
        """Wait for an event, on the thread."""
        with self._there:
            self._there.wait_for(lambda: gate.opened is not None or self._hurries)
        self._free_at = max(self._free_at, gate.opened or 0)
        self.failed(gate.event.error)

    def failed(self, error: Exception | None) -> None:
        """Keep the first error of what was waited for; None: there was none."""
        self.error = self.error or error

    def open(self, gate: _Gate) -> None:
        """Let the thread go on: the event has happened."""
        with self._there:
            gate.opened = time.perf_counter()
            self._there.notify_all()

    def work(self, asked: float, seconds: float) -> None:
        """Work, on the thread. It begins when it was asked for, or at the end of what is before it: no later."""
        self._free_at = max(self._free_at, asked) + seconds
        with self._there:
            self._there.wait_for(lambda: self._hurries, self._free_at - time.perf_counter())

    def end(self) -> None:
        """End the thread, once all is done."""
        if os.getpid() == self.process:
            with self._there:
                self._ended = True
                self._there.notify_all()

    def hurry(self) -> None:
        """End the thread now: what is left takes no time."""
        self._hurries = True
        self.end()

    def _run(self) -> None:
        while True:
            with self._there:
                self._there.wait_for(lambda: self._jobs or self._ended)
                if not self._jobs:
                    return
                job = self._jobs.popleft()
            job()
            with self._there:
                self._undone -= 1
            del job  # and what it refers to
