"""How an epoch of a loader begins: what it is made of, where its batches go, and what they go through."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from headrace import _headrace
from headrace._loader.agreement import Agreement
from headrace._loader.host_epoch import Function, HostEpoch, Through
from headrace._loader.options import Words
from headrace._support.logging import logger
from headrace._support.trainers import overfits
from headrace.dataset import Dataset
from headrace.samplers import FedEpoch, Listing, LookAhead

if TYPE_CHECKING:
    from headrace._device.delivery import Delivery


class BeginningLoader(Protocol):
    """What the beginning of an epoch uses of a :class:`headrace.Loader`."""

    _native: _headrace.Loader
    _dataset: Dataset
    _options: Words
    _order: Any
    _listing: Listing | None
    _agreement: Agreement
    _delivery: Delivery | None
    _repeated: int | None

    def __len__(self) -> int: ...
    def _ask_framework(self) -> None: ...
    def _list_rows(self, epoch: int) -> None: ...


def begin(loader: BeginningLoader, prepare: Function | None, finish: Function | None) -> Iterator[Any]:
    """Start the next epoch; the functions are those of :meth:`Loader._epoch`."""
    loader._ask_framework()
    _repeat_if_overfitting(loader)
    native, delivery, options = loader._native, loader._delivery, loader._options
    as_tuple = options["batch_format"] == "tuple"
    through = Through(loader._dataset._functions, as_tuple, native.add_python_ns, _given(prepare))
    start = _start(loader)
    if delivery is not None and not delivery.is_inert:
        timeout = None if options["timeout"] is None else float(options["timeout"])
        ahead = not isinstance(loader._order, LookAhead)
        return delivery.begin(native, start, through, finish, timeout=timeout, ahead=ahead)
    through = replace(through, then=(*through.then, *_given(finish)))
    epoch = start(bool(through))
    if isinstance(epoch, FedEpoch) or not through:
        return through(epoch)
    return HostEpoch(native, epoch, through)


class BeginsLater(Iterator[Any]):
    """The next epoch, which begins when its first batch is asked for. It goes on after an error, as others do."""

    def __init__(self, loader: BeginningLoader, prepare: Function | None, finish: Function | None) -> None:
        self._begin = partial(begin, loader, prepare, finish)
        self._batches: Iterator[Any] | None = None

    def __next__(self) -> Any:
        if self._batches is None:
            self._batches = self._begin()
        return next(self._batches)


def _start(loader: BeginningLoader) -> Callable[[bool], _headrace.EpochIterator | FedEpoch]:
    """Return what starts the engine's next epoch; its batches lie in the host's memory."""

    def start(ahead: bool) -> _headrace.EpochIterator | FedEpoch:
        native = loader._native
        number = native.next_epoch()
        if logger.isEnabledFor(logging.DEBUG):  # else an epoch of a token budget would be counted for nothing
            logger.debug("epoch %d begins, of %d batches", number, len(loader))
        loader._list_rows(number)
        loader._agreement.check(number, loader._options, loader._order, loader._listing, loader._dataset)
        if isinstance(loader._order, LookAhead):
            return FedEpoch(native, loader._order)
        epoch = native.epoch(ahead)
        if devices := sys.modules.get("headrace._device.delivery"):
            devices.give_buffers_back()  # of those whose memory it took
        return epoch

    return start


def _repeat_if_overfitting(loader: BeginningLoader) -> None:
    if not overfits():
        loader._repeated = None
        return
    if loader._repeated is None:
        loader._repeated = loader._native.next_epoch()
    loader._native.set_epoch(loader._repeated)


def _given(function: Function | None) -> tuple[Function, ...]:
    return () if function is None else (function,)
