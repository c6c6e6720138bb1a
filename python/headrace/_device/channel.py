"""Channel: batches on their way from the thread that copies them to the program's."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from headrace import _headrace
from headrace._device.copier import OnDevice
from headrace.errors import ClosedError, LoaderTimeoutError


@dataclass(frozen=True)
class Item:
    """What the copying thread has for the program's.

    Attributes:
        made: A batch; or what went wrong in its place; None: the epoch is over.
        place: Where the loader is once the program has it; None: where it was, and what went wrong is tried again when
            the next is asked for.
    """

    made: OnDevice | BaseException | None
    place: _headrace.Place | None


class Channel:
    """Batches on their way from the copying thread to the program's: at most ``ahead``.

    Threads: the copying thread puts, one at a time of the program's takes; any may close it. It knows no loader and no
    iterator, so that both end when nothing refers to them. What is ready stays until it is said to be done with: Ctrl-C
    may come at any place, and costs neither a batch nor room. The queues only wake the two up, at once too often rather
    than not at all; they are C's, since a condition would cost the program's thread as much as all else of a batch.

    Attributes:
        thread: The thread that copies.
        process: The process that it is of.
        closed: True once nothing more is wanted.
    """

    def __init__(self, ahead: int) -> None:
        self._ahead = ahead
        self._ready: deque[Item] = deque()
        self._came: SimpleQueue[None] = SimpleQueue()  # wakes the program's thread
        self._went: SimpleQueue[None] = SimpleQueue()  # wakes the copying thread
        self._asked, self._answered = 0, 0  # how often the next was asked for; and by the last that was done with
        self.closed = False
        self.thread: threading.Thread | None = None
        self.process = os.getpid()

    def has_room(self, more: int) -> bool:
        """Wait for room, for so many ``more`` than ``ahead``. False: nothing more is wanted."""
        while len(self._ready) >= self._ahead + more and not self.closed:
            self._went.get()
        return not self.closed

    def wait_until_asked(self) -> None:
        """Wait until what was put was taken, and the next is asked for; or until the channel is closed."""
        while (self._ready or self._asked == self._answered) and not self.closed:
            self._went.get()

    def put(self, item: Item) -> None:
        """Add a batch, an error, or the end."""
        self._ready.append(item)
        if self.closed:
            self._ready.clear()
        self._came.put(None)

    def next(self, timeout: float | None) -> Item:
        """Return the next, once it is there; the same again until :meth:`done`.

        Raises:
            LoaderTimeoutError: It did not come within ``timeout`` seconds.
            ClosedError: The channel was closed.
        """
        self._asked += 1
        if not self._ready:
            self._went.put(None)
        until = None if timeout is None else time.monotonic() + timeout
        while not self.closed:
            try:
                return self._ready[0]
            except IndexError:
                pass
            try:
                self._came.get(timeout=None if until is None else max(until - time.monotonic(), 0))
            except Empty:
                if self._ready:
                    continue
                raise LoaderTimeoutError(
                    f"no batch came within {timeout:g} s. Raise timeout=, or look at loader.report() for the stage "
                    "that holds things up."
                ) from None
        self._came.put(None)  # for others that wait
        raise ClosedError("the loader was closed")

    def done(self, item: Item) -> None:
        """Say that the program has what :meth:`next` returned; said twice, it is done once."""
        self._answered = self._asked
        if self._ready and self._ready[0] is item:
            self._ready.popleft()
        self._went.put(None)

    def close(self) -> None:
        """Let go of what is ready, and end the thread after the batch that it is at. May be called twice."""
        if os.getpid() != self.process:
            return  # in a child a queue may be held by a thread that is not there
        self.closed = True
        self._ready.clear()
        self._came.put(None)
        self._went.put(None)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        if self.thread is not None and self.thread is not threading.current_thread() and os.getpid() == self.process:
            self.thread.join(timeout)
