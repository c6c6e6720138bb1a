"""HostEpoch: the batches of an epoch through the program's functions, on the thread that asks for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace import _headrace
from headrace._dataset.functions import ColumnFunction, MappedEpoch

Function = Callable[[Any], Any]


class Each(Iterator[Any]):
    """What a function makes of each batch."""

    def __init__(self, function: Callable[[Any], Any], batches: Iterator[Any]) -> None:
        self._function = function
        self._batches = batches

    def __next__(self) -> Any:
        return call(self._function, next(self._batches))


def call(function: Callable[[Any], Any], batch: Any) -> Any:
    """Return what a function makes of a batch.

    Raises:
        RuntimeError: It raised StopIteration, which would end the epoch without a word.
    """
    try:
        return function(batch)
    except StopIteration as error:
        raise RuntimeError(f"{getattr(function, '__qualname__', function)} raised StopIteration") from error


@dataclass(frozen=True)
class Through:
    """What batches of an engine's epoch go through, one after the other. It refers to no loader.

    Attributes:
        functions: Those of the data set.
        as_tuple: True: what they make is delivered as a tuple.
        spent: Told of the nanoseconds that they took.
        then: Functions that follow.
    """

    functions: tuple[ColumnFunction, ...]
    as_tuple: bool
    spent: Callable[[int], None]
    then: tuple[Function, ...] = ()

    def __bool__(self) -> bool:
        """Return True if there is any."""
        return bool(self.functions or self.then)

    def __call__(self, epoch: Any) -> Iterator[Any]:
        """Return the batches of an epoch through them."""
        batches: Iterator[Any] = epoch
        if self.functions:
            batches = MappedEpoch(batches, self.functions, self.as_tuple, epoch.number, self.spent)
        for function in self.then:
            batches = Each(function, batches)
        return batches


class HostEpoch(Iterator[Any]):
    """The batches of an epoch through functions.

    The loader hears that the program has a batch when its functions are done with it. One in which Ctrl-C ends a
    function comes again with the next call, as it was stored: the function may have changed a part of it.
    """

    def __init__(
        self,
        native: _headrace.Loader,
        epoch: _headrace.EpochIterator,
        through: Callable[[_headrace.EpochIterator], Iterator[Any]],
    ) -> None:
        """Begin.

        Args:
            native: The engine's loader.
            epoch: The engine's epoch, whose batches are taken before they are handed out.
            through: Makes what the program gets of the epoch's batches.
        """
        self._native = native
        self._epoch = epoch
        self._batches = through(epoch)
        self._told = epoch.taken  # what the loader was told of last; None: it was sent back since
        self._in_doubt = False  # Ctrl-C ended a call, and perhaps what followed it

    def __next__(self) -> Any:
        """Return the next batch. Raises what the loader raises, and what the functions do."""
        if self._in_doubt:
            self._go_back()
        try:
            try:
                batch = next(self._batches)
            except Exception:
                self._hand_out()  # a batch that is damaged, or that a function refuses, is passed by
                raise
            self._hand_out()
        except Exception:
            raise
        except BaseException:
            self._in_doubt = True  # first: Ctrl-C may come here, too
            self._go_back()
            raise
        return batch

    def _hand_out(self) -> None:
        if (place := self._epoch.taken) is not None:
            self._native.hand_out(place)
            self._told = place

    def _go_back(self) -> None:
        """Go on where the loader is, which was told of what was taken, or not; if anything was."""
        taken, told = self._epoch.taken, self._told
        if taken is not None and (told is None or taken.samples != told.samples):
            self._told = None
            send_back(self._native, self._epoch.number)
        self._in_doubt = False


def send_back(native: _headrace.Loader, epoch: int) -> bool:
    """Send an epoch that is live to where the loader is. False: the loader was told of its last batch."""
    state = native.state()
    if json.loads(state)["epoch"] != epoch:
        return False
    native.load_state(state, True, None)
    return True
