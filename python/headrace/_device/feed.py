"""Feed: a thread that takes batches from a loader and copies them ahead, and the iterator that hands them over."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from headrace import _headrace
from headrace._device.channel import Channel, Item
from headrace._device.copier import OnDevice
from headrace.errors import ClosedError, LoaderTimeoutError

#: Seconds for which the interpreter's exit waits for a thread that is in a function of the program.
_EXIT_SECONDS = 5.0
_channels: weakref.WeakValueDictionary[int, Channel] = weakref.WeakValueDictionary()


@atexit.register
def _end_all() -> None:
    """End all threads while they can still end: those that wait for a batch end with their loader."""
    channels = [channel for channel in _channels.values() if channel.process == os.getpid()]
    for channel in channels:
        channel.close()
    if channels:
        _headrace.close_all_loaders()
    for channel in channels:
        channel.join(_EXIT_SECONDS)


@dataclass(frozen=True)
class Way:
    """How batches get to their device, and what is told of it.

    Attributes:
        copy: Begins to copy a batch; on the copying thread.
        hand_over: Makes a copied batch ready for the program's thread, on it; called with what takes the batch.
        entered: Makes the device that of the copying thread.
        spent: Told of the nanoseconds that the copying thread waited for a batch of the loader's.
        taken: Returns how many batches the engine gave; asked on the copying thread.
        delivered: Told how many of them the program has got, an error in the place of a batch counted.
    """

    copy: Callable[[Any], OnDevice]
    hand_over: Callable[[Callable[[], OnDevice]], Any]
    entered: Callable[[], AbstractContextManager[Any]]
    spent: Callable[[int], None]
    taken: Callable[[], int]
    delivered: Callable[[int], None]


class Feed(Iterator[Any]):
    """The batches of an epoch on their device, copied by a thread of its own. Use it from one thread."""

    def __init__(self, batches: Iterator[Any], way: Way, *, ahead: int, timeout: float | None) -> None:
        """Start to copy.

        Args:
            batches: The loader's batches, taken on the copying thread.
            way: How they get to the device.
            ahead: Batches that are copied before they are asked for.
            timeout: Seconds to wait for a batch; None: no limit.
        """
        self._way = way
        self._ahead = ahead
        self._timeout = timeout
        self._anew: Callable[[], tuple[Iterator[Any], Way]] | None = None
        self._over = False
        self._item: Item | None = None  # taken, and not handed over yet
        self._start(batches)

    def _start(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._channel = channel = Channel(self._ahead)
        channel.thread = threading.Thread(
            target=_copy_all, args=(channel, batches, self._way), name="headrace to device", daemon=True
        )
        _channels[id(channel)] = channel
        weakref.finalize(self, Channel.close, channel).atexit = False
        channel.thread.start()

    def __next__(self) -> Any:
        """Return the next batch. Raises what the loader raised at this batch."""
        if os.getpid() != self._channel.process:
            return next(self._batches)  # says that the loader is the parent's
        if self._over:
            raise StopIteration
        if self._anew is not None:
            anew, self._anew = self._anew, None
            batches, self._way = anew()
            self._start(batches)
        try:
            batch = self._way.hand_over(self._take)
        except Exception:  # Ctrl-C is none: what was taken is handed over at the next call
            self._delivered()
            raise
        self._delivered()
        return batch

    def _delivered(self) -> None:
        """Count what was taken as the program's."""
        if self._item is not None:
            self._way.delivered(self._item.taken)
            self._item = None

    def _take(self) -> OnDevice:
        try:
            if self._item is None:
                self._item = self._channel.take(self._timeout)
        except ClosedError:
            getattr(self._batches, "check_current", lambda: None)()  # knows why
            raise
        made = self._item.made
        if made is None:
            self._over = True
            self.close()
            raise StopIteration
        if isinstance(made, BaseException):
            raise made
        return made

    @property
    def is_over(self) -> bool:
        """True once it told of its end."""
        return self._over

    def close(self) -> None:
        """End; the thread ends after the batch that it waits for."""
        self._anew = None
        self._channel.close()

    def join(self) -> None:
        """Wait until the thread has ended, which :meth:`close` asked for."""
        self._channel.join()

    def go_on_with(self, anew: Callable[[], tuple[Iterator[Any], Way]]) -> None:
        """Go on, from the next batch, with other batches than those that were being copied: call ``anew`` then."""
        self._channel.close()
        self._channel.join()
        self._item = None
        self._anew = anew


def _copy_all(channel: Channel, batches: Iterator[Any], way: Way) -> None:
    made: OnDevice | BaseException | None = None
    try:
        with way.entered():
            while channel.has_room():
                try:
                    made = _copy_next(batches, way)
                except LoaderTimeoutError:  # the program waits for itself
                    continue
                except Exception as error:  # in its place; what follows it, the engine knows
                    made = error
                channel.put(Item(made, way.taken()))
                if made is None:
                    return
                made = None  # the program's alone now: its memory is free once the program drops it
    except BaseException as error:
        channel.put(Item(error, way.taken()))
        channel.put(Item(None, way.taken()))


def _copy_next(batches: Iterator[Any], way: Way) -> OnDevice | None:
    began = time.perf_counter_ns()
    try:
        batch = next(batches)
    except StopIteration:
        return None
    way.spent(time.perf_counter_ns() - began)
    return way.copy(batch)
