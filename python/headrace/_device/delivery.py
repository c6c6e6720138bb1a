"""Delivery: where a loader's batches go, and how they get there."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from headrace import _headrace
from headrace._device.backend import Backend, TorchDevice, has_streams, own_move
from headrace._device.containers import Change, changed
from headrace._device.copier import Copier, OnDevice
from headrace._device.fake import FakeDevice
from headrace._device.feed import Copying, Feed, Source, Way
from headrace._device.figures import Figures
from headrace._device.hand_over import HandOver, WhenAskedFor
from headrace._support.accelerator import current_accelerator, may_have_accelerator
from headrace._support.checks import invalid

#: Batches that are on the device, or on their way, before they are asked for.
AHEAD = 2

_deliveries: weakref.WeakSet[Delivery] = weakref.WeakSet()


def give_buffers_back() -> None:
    """Free the page-locked memory of loaders that are idle, and whose other memory has gone to others."""
    for delivery in list(_deliveries):
        delivery.give_back_if_idle()


class Pinned:
    """Page-locked memory of the host, in place of a device: what ``pin_memory=True`` asks for."""

    def __repr__(self) -> str:
        return "page-locked memory"


def destination(device: Any) -> torch.device | FakeDevice | Pinned | None:
    """Return where batches go; None: they stay where they are. Initialises no device.

    Raises:
        InvalidArgumentError: torch has no device of that name.
    """
    if isinstance(device, Pinned):
        return device if may_have_accelerator() else None
    if isinstance(device, FakeDevice):
        return device
    if device == "fake":
        return FakeDevice()
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise invalid(
            f"device must be one that torch has, not {device!r} ({reason})", "Leave it out for 'cpu'."
        ) from None
    return None if found.type == "cpu" else found


class Delivery:
    """Delivers a loader's batches at their destination."""

    def __init__(self, to: torch.device | FakeDevice | Pinned) -> None:
        """Deliver there. The device is not touched before the first epoch."""
        self._to = to
        self._feed: weakref.ref[Feed] | None = None
        self._copying = Copying()
        self._backend: Backend | None = None
        self._copier: Copier | None = None
        self._figures: Figures | None = None
        self._native: _headrace.Loader | None = None
        _deliveries.add(self)

    @property
    def to(self) -> torch.device | FakeDevice | Pinned:
        """Where batches go."""
        return self._to

    def begin(
        self,
        native: _headrace.Loader,
        start: Callable[[bool], Any],
        through: Callable[[Any], Iterator[Any]],
        finish: Callable[[Any], Any] | None,
        *,
        timeout: float | None,
        ahead: bool,
    ) -> Iterator[Any]:
        """Return the batches of an epoch, on their device.

        Args:
            native: The engine's loader.
            start: Starts the epoch; called with True where its batches are taken ahead of the program.
            through: Makes the batches that are copied of the epoch.
            finish: Makes what the program gets of a batch that is on the device, on the program's thread.
            timeout: Seconds to wait for a batch; None: no limit.
            ahead: False: a batch is taken and copied when it is asked for, since what comes depends on the last ones.

        Raises:
            Exception: What the device's library raises if the device cannot be used; no epoch has begun.
        """
        self._native = native
        self._open()
        if (before := self._live()) is not None:
            before.close()
        ending = self._copying.end()
        self._feed = None
        epoch = start(ahead)
        if ending is not None:
            ending.join()  # it may be in a function of the program's still, and must not copy beside a new one
        if not ahead:
            return WhenAskedFor(through(epoch), self._way(native), finish)
        source = Source(epoch, through(epoch))
        way = partial(self._way, native)
        feed = Feed(native, source, way, self._copying, through, finish, ahead=AHEAD, timeout=timeout)
        self._feed = weakref.ref(feed)
        return feed

    def _live(self) -> Feed | None:
        return None if self._feed is None else self._feed()

    @property
    def is_on_host(self) -> bool:
        """True where batches stay in the host's memory, page-locked."""
        return isinstance(self._to, Pinned)

    @property
    def is_inert(self) -> bool:
        """True where nothing is to be pinned, since this machine has no accelerator, though torch could have one."""
        return isinstance(self._to, Pinned) and current_accelerator(check_available=True) is None

    def _open(self) -> None:
        """Get to know the device, from the thread that iterates."""
        if self._backend is None and isinstance(self._to, FakeDevice):
            self._backend = self._to._backend
        elif self._backend is None and isinstance(self._to, torch.device) and has_streams(self._to):
            self._backend = TorchDevice(self._to)

    def _way(self, native: _headrace.Loader) -> Way:
        if self._backend is None:
            change, move = _change_of(self._to)
            return Way(
                copy=lambda batch: OnDevice(changed(batch, change, move)),
                hand_over=lambda take: take().batch,
                entered=contextlib.nullcontext,
                spent=_nothing,
            )
        if self._figures is None:
            self._figures = Figures(self._backend.name)
        copier = self._copier  # another thread may take it from an idle loader
        if copier is None:
            buffers = _headrace.STAGED_BATCHES
            self._copier = copier = Copier(self._backend, buffers, native.staging_bytes(), self._figures)
        return Way(
            copy=copier.copy,
            hand_over=HandOver(self._backend, copier, self._figures),
            entered=self._backend.entered,
            spent=self._figures.add_batch_wait,
        )

    def give_back_if_idle(self) -> None:
        """Free page-locked memory if nothing is copied, and the engine's memory has gone to others."""
        feed = self._live()
        if (feed is None or feed.is_idle) and self._native is not None and not self._native.holds_memory():
            self._copier = None

    @contextlib.contextmanager
    def moving(self) -> Iterator[None]:
        """Let an iterator that is live go on where the engine is sent within, as :meth:`begin` said."""
        feed = self._live()
        if feed is not None:
            with feed.moving():
                yield
            return
        if (ending := self._copying.end()) is not None:
            ending.join()
        yield

    def at_once(self, batch: Any) -> Any:
        """Return a batch there, and wait for it."""
        return batch if self.is_inert else changed(batch, *_change_of(self._to))

    def figures(self) -> dict[str, Any] | None:
        """Return the fields of ``Report.to_device``; None: nothing is measured."""
        return None if self._figures is None else self._figures.report()

    def close(self, close_engine: Callable[[], None]) -> None:
        """End the thread, and give page-locked memory back. Batches stay valid.

        Args:
            close_engine: Called in between: it ends a wait for a batch.
        """
        feed = self._live()
        if feed is not None:
            feed.close()
        ending = self._copying.end(for_good=True)
        close_engine()
        if ending is not None:
            ending.join()
        self._copier = None


def _change_of(to: torch.device | FakeDevice | Pinned) -> tuple[Change, Change]:
    """Return what brings tensors there, and objects that go by themselves."""
    if isinstance(to, FakeDevice):
        return torch.clone, lambda value: value
    if isinstance(to, Pinned):
        return torch.Tensor.pin_memory, lambda value: value.pin_memory() if hasattr(value, "pin_memory") else value
    return lambda tensor: tensor.to(to), lambda value: own_move(value, to)


def _nothing(*_: Any) -> None:
    pass
