"""Channel: batches on their way from the thread that copies them to the program's."""

from __future__ import annotations

import contextlib
import os
import threading
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

    Threads: the copying thread puts, the program's take; any may close it. It knows neither loader nor iterator, so
    that both end when nothing refers to them. Its queues are C's: a condition would cost the program's thread as much
    as all else of a batch.

    Attributes:
        thread: The thread that copies.
        process: The process that it is of.
        closed: True once nothing more is wanted.
    """

    def __init__(self, ahead: int) -> None:
        self._ready: SimpleQueue[Item | None] = SimpleQueue()  # None: it was closed
        self._room: SimpleQueue[None] = SimpleQueue()  # an entry for each batch that may be put
        self._ahead = ahead
        self._owed = False  # what went wrong was taken, and the next was not asked for
        for _ in range(ahead):
            self._room.put(None)
        self.closed = False
        self.thread: threading.Thread | None = None
        self.process = os.getpid()

    def has_room(self, more: bool = False) -> bool:
        """Wait for room, but where there may be one ``more`` than that. False: nothing more is wanted."""
        if not more and not self.closed:
            self._room.get()
        return not self.closed

    def has_ready(self) -> bool:
        """Return True if a batch, an error or the end is there to be taken."""
        return not self._ready.empty()

    def wait_until_asked(self) -> None:
        """Wait until what was put last was taken, and the next is asked for; or until the channel is closed."""
        for _ in range(self._ahead):
            self._room.get()
            if self.closed:
                return
        for _ in range(self._ahead):
            self._room.put(None)

    def put(self, item: Item) -> None:
        """Add a batch, an error, or the end."""
        self._ready.put(item)
        if self.closed:
            self._let_go()

    def take(self, timeout: float | None) -> Item:
        """Return the next, once it is there.

        Raises:
            LoaderTimeoutError: It did not come within ``timeout`` seconds.
            ClosedError: The channel was closed.
        """
        if self._owed:
            self._owed = False
            self._room.put(None)
        try:
            item = self._ready.get(timeout=timeout)
        except Empty:
            raise LoaderTimeoutError(
                f"no batch came within {timeout:g} s. Raise timeout=, or look at loader.report() for the stage "
                "that holds things up."
            ) from None
        if item is None or self.closed:
            self._ready.put(None)  # for other threads that wait
            raise ClosedError("the loader was closed")
        if item.place is None and item.made is not None:
            self._owed = True
        else:
            self._room.put(None)
        return item

    def close(self) -> None:
        """Let go of what is ready, and end the thread after the batch that it is at. May be called twice."""
        if os.getpid() != self.process:
            return  # in a child a queue may be held by a thread that is not there
        self.closed = True
        self._let_go()
        self._room.put(None)

    def _let_go(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._ready.get_nowait()
        self._ready.put(None)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        if self.thread is not None and self.thread is not threading.current_thread() and os.getpid() == self.process:
            self.thread.join(timeout)
