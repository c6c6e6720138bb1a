"""Feed: a thread that takes batches from a loader and copies them ahead, and the iterator that hands them over."""

from __future__ import annotations

import atexit
import contextlib
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
from headrace._loader.host_epoch import call, send_back
from headrace.errors import ClosedError, LoaderTimeoutError

#: Seconds for which the interpreter's exit waits for a thread that is in a function of the program.
_EXIT_SECONDS = 5.0
_NOTHING, _END = object(), object()
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
    """

    copy: Callable[[Any], OnDevice]
    hand_over: Callable[[Callable[[], OnDevice]], Any]
    entered: Callable[[], AbstractContextManager[Any]]
    spent: Callable[[int], None]


@dataclass(frozen=True)
class Source:
    """What a copying thread takes batches from; nothing else holds the epoch.

    Attributes:
        epoch: The engine's epoch, whose batches are taken ahead.
        batches: The same batches, as they are copied.
    """

    epoch: _headrace.EpochIterator
    batches: Iterator[Any]


class Copying:
    """The thread that copies for a loader, epoch after epoch: it outlives an iterator that was dropped in mid-epoch.

    Threads: any. One that closes the loader for good sees to it that no other begins a thread behind it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._ended = False
        self._process = os.getpid()

    def begin(self, channel: Channel, thread: threading.Thread) -> None:
        """Start a thread; after the end it begins with a channel that is closed."""
        with self._lock:
            if self._ended:
                channel.close()
                return
            channel.thread = thread
            self._channel = channel
            thread.start()

    def end(self, *, for_good: bool = False) -> Channel | None:
        """End; the thread ends after the batch that it waits for, and after what the program's functions do with it.

        Returns:
            The channel whose thread ends, for :meth:`Channel.join`.
        """
        if os.getpid() != self._process:
            return None  # a child has no such thread, and the lock may be taken for ever
        with self._lock:
            self._ended = self._ended or for_good
            if self._channel is not None:
                self._channel.close()
            return self._channel


class Feed(Iterator[Any]):
    """The batches of an epoch on their device, copied by a thread of its own. Threads: any; each gets other batches.

    The loader is where the last batch was handed over, and is told so each time. Where Ctrl-C comes on the way, the
    program goes on where the loader is: the batch comes again as it was stored, if the loader was not told.
    """

    def __init__(
        self,
        native: _headrace.Loader,
        source: Source,
        way: Callable[[], Way],
        copying: Copying,
        through: Callable[[_headrace.EpochIterator], Iterator[Any]],
        finish: Callable[[Any], Any] | None,
        *,
        ahead: int,
        timeout: float | None,
    ) -> None:
        """Start to copy.

        Args:
            native: The engine's loader.
            source: Where batches are taken from, on the copying thread.
            way: Says how they get to the device; asked again where copying begins anew after the last batch.
            copying: Told of the thread.
            through: Makes the batches that are copied of the epoch, where it goes on at another place.
            finish: Makes what the program gets of a batch that is on the device, on the program's thread.
            ahead: Batches that are copied before they are asked for.
            timeout: Seconds to wait for a batch; None: no limit.
        """
        place = source.epoch.taken
        assert place is not None
        self._native = native
        self._place = place  # the last that was handed over: it names the epoch
        self._number = source.epoch.number
        self._find_way = way
        self._copying = copying
        self._through = through
        self._finish = finish
        self._turn = threading.RLock()  # of the program's threads; a signal's handler may ask, too
        self._copies: Way | None = None  # None: nothing is copied any more
        self._ahead = ahead
        self._timeout = timeout
        self._paused: Source | None = None
        self._over = False
        self._is_moving = False  # the loader is being sent elsewhere
        self._in_doubt = False  # Ctrl-C ended a call, and perhaps what followed it
        self._is_asked = False  # a function of the program's that was called here may ask again
        self._item: Item | None = None  # what the call under way took; the channel has it until it is handed over
        self._start(source)

    def _start(self, source: Source) -> None:
        self._channel = channel = Channel(self._ahead)
        self._copies = way = self._copies or self._find_way()
        self._hand_over = way.hand_over
        words = (channel, source, way)
        thread = threading.Thread(target=_copy_all, args=words, name="headrace to device", daemon=True)
        _channels[id(channel)] = channel
        weakref.finalize(self, Channel.close, channel).atexit = False
        self._copying.begin(channel, thread)

    def __next__(self) -> Any:
        """Return the next batch. Raises what the loader raised at this batch."""
        if os.getpid() != self._channel.process:
            self._native.epoch_of(self._place)  # says that the loader is the parent's
        while True:
            with self._turn:
                if self._is_asked:
                    raise RuntimeError("a function that is called for a batch asks the same iterator for the next")
                self._is_asked = True
                try:
                    return self._next()
                except ClosedError:
                    if not self._is_moving:
                        raise
                finally:
                    self._is_asked = False

    def _next(self) -> Any:
        if self._in_doubt:
            self._go_back()
        if self._over:
            raise StopIteration
        if self._paused is not None:
            source, self._paused = self._paused, None
            self._start(source)
        self._item, is_touched = None, False
        try:
            try:
                batch = self._hand_over(self._take)
                is_touched = True
                batch = batch if self._finish is None else call(self._finish, batch)
            except Exception:  # of the data, the copy or the function: it is in the batch's place
                self._handed_over()
                raise
            self._handed_over()
        except Exception:
            raise
        except BaseException:
            self._in_doubt = is_touched  # by the function, perhaps in part; or the loader was told, or not
            if is_touched:
                self._go_back()
            raise
        return batch

    def _go_back(self) -> None:
        """Go on where the loader says that the program is."""
        self.close()
        self.join()
        if send_back(self._native, self._number):
            self._go_on()
        else:
            self._over = True
        self._in_doubt = False

    def _handed_over(self) -> None:
        """Tell the loader that the program has what was taken."""
        if self._item is None:
            return  # nothing was
        if (place := self._item.place) is not None:
            self._place = place
            self._native.hand_out(place)
            if place.last:
                self._copies = None  # and its page-locked memory
        self._channel.done(self._item)
        self._item = None

    def _take(self) -> OnDevice:
        try:
            self._item = item = self._channel.next(self._timeout)
        except ClosedError:
            self._native.epoch_of(self._place)  # knows why
            raise
        made, place = item.made, item.place
        if made is None or (place is not None and place.last):
            self._channel.join()  # the epoch ends with the thread
        if made is None:
            if place is not None:
                self._native.hand_out(place)
            self._over = True
            self.close()
            raise StopIteration
        if isinstance(made, BaseException):
            raise made
        return made

    @property
    def is_idle(self) -> bool:
        """True once the last batch was handed over: nothing is copied any more."""
        return self._copies is None

    def close(self) -> None:
        """End; the thread ends after the batch that it waits for."""
        self._paused = None
        self._channel.close()

    def join(self) -> None:
        """Wait until the thread has ended, which :meth:`close` asked for."""
        self._channel.join()

    @contextlib.contextmanager
    def moving(self) -> Iterator[None]:
        """Go on from the next batch where the loader is sent within, if its epoch does not end there."""
        self._is_moving = True
        self.close()  # a thread that waits for a batch waits for the end of this
        try:
            with self._turn:
                self.join()
                try:
                    yield
                except BaseException:
                    self._go_back()
                    raise
                self._go_on()
        finally:
            self._is_moving = False

    def _go_on(self) -> None:
        self.close()
        self.join()
        self._item = None
        if not self._over:
            with contextlib.suppress(ClosedError):  # the next call says so
                epoch = self._native.epoch_of(self._place)
                self._number = epoch.number
                self._paused = Source(epoch, self._through(epoch))


def _copy_all(channel: Channel, source: Source, way: Way) -> None:
    batch: Any = _NOTHING  # or what was taken, and not copied
    is_last = False
    try:
        with way.entered():
            while channel.has_room(is_last):  # the end, which follows the last, takes none
                made: OnDevice | BaseException | None
                try:
                    if batch is _NOTHING:
                        batch = _take_next(channel, source.batches, way)
                except Exception as error:  # in its place; what follows it, the engine knows
                    made = error
                else:
                    try:
                        made = None if batch is _END else way.copy(batch)
                    except Exception as error:  # the device is full, say: the batch is not lost
                        channel.put(Item(error, None))
                        del error  # and what it refers to
                        channel.wait_until_asked()
                        continue
                batch = _NOTHING
                place = source.epoch.taken
                is_last = place is not None and place.last
                channel.put(Item(made, place))
                if made is None:
                    return
                del made  # the program's alone now: its memory is free once the program drops it
    except BaseException as error:
        channel.put(Item(error, source.epoch.taken))
        channel.put(Item(None, None))


def _take_next(channel: Channel, batches: Iterator[Any], way: Way) -> Any:
    """Return the next batch, in the host's memory; _END at the end. A batch may be None: functions make it."""
    began = time.perf_counter_ns()
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return _END
        except LoaderTimeoutError:  # the program waits for itself
            if channel.closed:
                raise
            continue
        way.spent(time.perf_counter_ns() - began)
        return batch
