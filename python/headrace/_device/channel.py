"""Channel: batches on their way from the thread that copies them to the program's."""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import dataclass, field

from headrace import _headrace
from headrace._device.copier import OnDevice
from headrace.errors import ClosedError, LoaderTimeoutError


@dataclass(frozen=True)
class Item:
    """What the copying thread has for the program's.

    Attributes:
        made: A batch; or what went wrong in its place; None: the epoch is over.
        place: Where the loader is once the program has it; None: where it was.
    """

    made: OnDevice | BaseException | None
    place: _headrace.Place | None


@dataclass
class Channel:
    """Batches on their way from the copying thread to the program's: at most ``ahead``.

    Threads: the copying thread puts, the program's takes; any may close it. It knows neither loader nor iterator, so
    that both end when nothing refers to them.
    """

    ahead: int
    there: threading.Condition = field(default_factory=threading.Condition)
    ready: deque[Item] = field(default_factory=deque)
    closed: bool = False
    thread: threading.Thread | None = None
    process: int = field(default_factory=os.getpid)

    def has_room(self, more: int = 0) -> bool:
        """Wait for room, for so many ``more`` than ``ahead``. False: nothing more is wanted."""
        with self.there:
            while len(self.ready) >= self.ahead + more and not self.closed:
                self.there.wait()
            return not self.closed

    def put(self, item: Item) -> None:
        """Add a batch, an error, or the end."""
        with self.there:
            if not self.closed:
                self.ready.append(item)
                self.there.notify_all()

    def take(self, timeout: float | None) -> Item:
        """Return the next, once it is there.

        Raises:
            LoaderTimeoutError: It did not come within ``timeout`` seconds.
            ClosedError: The channel was closed.
        """
        with self.there:
            if not self.ready and not self.closed and not self.there.wait_for(self._is_known, timeout):
                raise LoaderTimeoutError(
                    f"no batch came within {timeout:g} s. Raise timeout=, or look at loader.report() for the stage "
                    "that holds things up."
                )
            if self.closed:
                raise ClosedError("the loader was closed")
            item = self.ready.popleft()
            self.there.notify_all()
            return item

    def _is_known(self) -> bool:
        return bool(self.ready) or self.closed

    def close(self) -> None:
        """Let go of what is ready, and end the thread after the batch that it is at. May be called twice."""
        if os.getpid() != self.process:
            return  # in a child the lock may be held by a thread that is not there
        with self.there:
            self.closed = True
            self.ready.clear()
            self.there.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        if self.thread is not None and self.thread is not threading.current_thread() and os.getpid() == self.process:
            self.thread.join(timeout)
