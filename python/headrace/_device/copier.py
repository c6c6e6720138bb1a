"""Copier: a batch through page-locked memory to a device, without waiting for the copy to end."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from headrace import _headrace
from headrace._device.backend import Backend
from headrace._device.containers import changed, has_own_way, tensors_in
from headrace._device.figures import Figures
from headrace._support.logging import logger

#: Where fields begin in a buffer: lines of any processor's and any device's caches.
_ALIGNMENT = 256
#: Batches that were handed over and that the device has not come to, with the one that is allocated.
_MOST_HANDED = 3


@dataclass
class OnDevice:
    """A batch whose copy was begun.

    Attributes:
        batch: As the program gets it.
        tensors: The tensors of it that were made on the device.
        copied: Happens when all of them are there; None: they are.
        number: Its number among those that the copier copied.
        is_whole: False if objects of it go to the device by themselves, and have not gone yet.
    """

    batch: Any
    tensors: list[torch.Tensor] = field(default_factory=list)
    copied: Any = None
    number: int = 0
    is_whole: bool = True


class Copier:
    """Copies batches to a device.

    Threads: any may call :meth:`copy`; one at a time does. That of an epoch which a program has left may still be at
    its last batch when that of the next epoch begins.

    Page-locked memory is one piece, divided into buffers that are filled in turn. A buffer is filled again only after
    the copy out of it has ended. Memory on the device is allocated in the order of the copying stream, and not before
    the device has come to the batch that was handed over three before: a program that never waits for its device could
    else have all of an epoch there. The copying thread waits for both here, and nowhere else.
    """

    def __init__(self, backend: Backend, buffers: int, num_bytes: int, figures: Figures) -> None:
        """Divide `num_bytes` of page-locked memory into so many buffers."""
        self._backend = backend
        self._figures = figures
        self._stream = backend.stream()
        size = num_bytes // buffers // _ALIGNMENT * _ALIGNMENT
        memory = backend.host_memory(size * buffers)
        self._buffers = [memory[i * size : (i + 1) * size] for i in range(buffers)]
        self._ends: list[Any] = [None] * buffers
        self._next = 0
        self._lock = threading.Lock()
        self._first: Any = None  # the end of the first batch's copy, until rates were tried
        self._number = 0  # of the next batch
        self._handed: dict[int, Any] = {}  # number of a batch → happens when the device has come to it
        figures.buffers, figures.buffer_bytes = buffers, size

    def copy(self, batch: Any) -> OnDevice:
        """Begin to copy a batch, as soon as a buffer is free. Afterwards the batch's own memory may be reused."""
        with self._lock, self._backend.range("headrace: to device"):
            return self._begin_copy(batch)

    def handed_over(self, batch: OnDevice, there: Any) -> None:
        """Take note of the event that happens when the device has come to a batch, in the program's stream."""
        self._handed[batch.number] = there

    def _wait_for_device(self) -> None:
        """Wait until the device has come to the batch three before the next one, if the program has that."""
        for number in sorted(self._handed):
            if number + _MOST_HANDED > self._number:
                break
            if (there := self._handed.pop(number, None)) is not None:
                there.synchronize()

    def _try_rates(self) -> None:
        """Measure once what copies take, when the first batch is under way. Where that cannot be had, nothing ends."""
        assert self._first is not None
        self._first.synchronize()
        self._first = None
        try:
            rates = self._backend.rates(self._buffers[1], self._stream)
        except Exception as error:  # no memory left, or a program that forbids to wait for the device
            logger.debug("the rates of copies to %s are not known: %s", self._figures.name, error)
        else:
            self._figures.pinned_bytes_per_second, self._figures.pageable_bytes_per_second = rates

    def _begin_copy(self, batch: Any) -> OnDevice:
        if self._first is not None:
            self._try_rates()
        self._wait_for_device()
        found = list(tensors_in(batch))
        hosts = [tensor for tensor in found if _is_plain(tensor)]
        places, num_bytes = _places(hosts)
        began = time.perf_counter_ns()
        buffer, index = self._buffer(num_bytes)
        waited = time.perf_counter_ns()
        staged = [_stage(buffer, place, host) for place, host in zip(places, hosts, strict=True)]
        filled = time.perf_counter_ns()
        start, end = self._backend.event(), self._backend.event()
        with self._backend.on(self._stream):
            tensors = [self._backend.empty_like(tensor) for tensor in staged]
            start.record(self._stream)
            for tensor, host in zip(tensors, staged, strict=True):
                self._backend.copy(tensor, host)
            end.record(self._stream)
        if index is not None:
            self._ends[index] = end
        if self._figures.batches == 0:
            self._first = end
        made = iter(tensors)
        on_device = changed(batch, lambda tensor: next(made) if _is_plain(tensor) else tensor)
        self._figures.copied(start, end, sum(host.nbytes for host in hosts), waited - began, filled - waited)
        number, self._number = self._number, self._number + 1
        is_whole = len(hosts) == len(found) and not has_own_way(batch)
        return OnDevice(on_device, tensors, end, number, is_whole)

    def _buffer(self, num_bytes: int) -> tuple[torch.Tensor, int | None]:
        """Return the next buffer once it is free, and its number; or memory of its own for a batch that is too large.

        torch keeps such memory until the copies out of it have ended.
        """
        if num_bytes > self._buffers[0].nbytes:
            self._figures.larger_batches += 1
            return self._backend.host_memory(num_bytes), None
        index = self._next
        self._next = (index + 1) % len(self._buffers)
        end, self._ends[index] = self._ends[index], None  # first: a copy that failed is told of once
        if end is not None:
            end.synchronize()
        return self._buffers[index], index


def _is_plain(tensor: torch.Tensor) -> bool:
    """True if it lies in the host's memory, as numbers and nothing else; others go to the device by themselves."""
    return (
        type(tensor) is torch.Tensor
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.is_nested or tensor.is_quantized or tensor.requires_grad)
    )


def _places(hosts: list[torch.Tensor]) -> tuple[list[int], int]:
    places, end = [], 0
    for host in hosts:
        places.append(end)
        end += math.ceil(host.nbytes / _ALIGNMENT) * _ALIGNMENT
    return places, end


def _stage(buffer: torch.Tensor, place: int, host: torch.Tensor) -> torch.Tensor:
    """Copy a tensor to a place of the buffer, without the GIL and on this thread alone."""
    staged = buffer[place : place + host.nbytes].view(host.dtype).view(host.shape)
    if host.is_contiguous() and not host.is_neg() and not host.is_conj():
        _headrace.copy_past_caches(staged.data_ptr(), host.data_ptr(), host.nbytes)
    else:
        staged.copy_(host)
    return staged
