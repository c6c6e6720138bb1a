"""Backend: what a device can do, as far as copying batches to it needs it; and that of torch's own devices."""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

from headrace._support.accelerator import device_module

#: Most bytes that rates are tried with, and how often.
_TRIED_BYTES, _TRIES = 8 << 20, 2


class Backend(Protocol):
    """A device that copies by itself, in the order of streams, and tells by events how far it is.

    Streams and events are the device's own objects, with the methods of ``torch.cuda.Stream`` and ``torch.cuda.Event``
    that are used here: ``stream.wait_event(event)``, ``event.record(stream)``, ``event.query()``,
    ``event.synchronize()``, ``event.elapsed_time(later)`` in milliseconds.

    Attributes:
        name: As reports name it: ``"cuda:0"``.
    """

    name: str

    def entered(self) -> AbstractContextManager[Any]:
        """Make this the current device of the calling thread."""

    def stream(self) -> Any:
        """Make a stream."""

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Make a stream the current one of the calling thread: copies and allocations are its own."""

    def event(self) -> Any:
        """Make an event that knows its time, and lets the processor sleep while it is waited for."""

    def current_stream(self) -> Any:
        """Return the stream in which the calling thread's work is done."""

    def host_memory(self, num_bytes: int) -> torch.Tensor:
        """Allocate page-locked memory, as uint8."""

    def empty_like(self, host: torch.Tensor) -> torch.Tensor:
        """Allocate a tensor on the device, in the order of the current stream."""

    def copy(self, to: torch.Tensor, host: torch.Tensor) -> None:
        """Begin to copy from page-locked memory, in the current stream. Does not wait."""

    def moved(self, value: Any) -> Any:
        """Return an object that goes to a device by itself, there, in the order of the current stream."""

    def lend(self, tensor: torch.Tensor, stream: Any) -> None:
        """Keep the tensor's memory, once it is freed, until ``stream`` has done what it was asked for by then."""

    def rates(self, host: torch.Tensor, stream: Any) -> tuple[float, float]:
        """Return the bytes a second of copies from this page-locked memory and from other memory; 0: not known.

        Copies in a stream whose memory others use afterwards. Takes some ms; waits for the device.
        """

    def range(self, name: str) -> AbstractContextManager[Any]:
        """Mark what the calling thread does as a range in the device's profiler."""


class TorchDevice:
    """A device of torch's with streams: CUDA's, or of another kind whose module has the same functions.

    Making one initialises the device: not before the first epoch, so that the program may fork until then.
    """

    def __init__(self, device: torch.device) -> None:
        """Take the current device of the calling thread, where none is named. Raises what torch raises."""
        self._module = device_module(device)
        torch.empty(0, device=device)  # torch's own error, where it cannot be used
        index = device.index if device.index is not None else self._module.current_device()
        self.device = torch.device(device.type, index)
        self.name = str(self.device)
        self._more = {"blocking": True} if device.type == "cuda" else {}
        self._nvtx = torch.cuda.nvtx if device.type == "cuda" else None

    def entered(self) -> AbstractContextManager[Any]:
        made: AbstractContextManager[Any] = self._module.device(self.device)
        return made

    def stream(self) -> Any:
        return self._module.Stream(device=self.device)

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        made: AbstractContextManager[Any] = self._module.stream(stream)
        return made

    def event(self) -> Any:
        return self._module.Event(enable_timing=True, **self._more)

    def current_stream(self) -> Any:
        return self._module.current_stream(self.device)

    def host_memory(self, num_bytes: int) -> torch.Tensor:
        return torch.empty(num_bytes, dtype=torch.uint8, device="cpu", pin_memory=True)

    def empty_like(self, host: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(host, device=self.device, memory_format=torch.contiguous_format)

    def copy(self, to: torch.Tensor, host: torch.Tensor) -> None:
        to.copy_(host, non_blocking=True)

    def moved(self, value: Any) -> Any:
        return own_move(value, self.device)

    def lend(self, tensor: torch.Tensor, stream: Any) -> None:
        tensor.record_stream(stream)

    def rates(self, host: torch.Tensor, stream: Any) -> tuple[float, float]:
        host = host[:_TRIED_BYTES]
        if host.nbytes == 0:
            return 0, 0
        rates = []
        with self.on(stream):
            to = self.empty_like(host)
            for source in (host, torch.zeros(host.shape, dtype=host.dtype, device="cpu")):
                self.copy(to, source)  # the first is slow
                stream.synchronize()
                began = time.perf_counter()
                for _ in range(_TRIES):
                    self.copy(to, source)
                stream.synchronize()
                rates.append(_TRIES * host.nbytes / (time.perf_counter() - began))
        return rates[0], rates[1]

    def range(self, name: str) -> AbstractContextManager[Any]:
        return _NO_RANGE if self._nvtx is None else _Range(self._nvtx, name)


#: A range of no profiler's; it is entered any number of times.
_NO_RANGE = contextlib.nullcontext()


class _Range:
    """A range of a profiler. torch's own costs a generator for each."""

    def __init__(self, nvtx: Any, name: str) -> None:
        self._nvtx = nvtx
        self._name = name

    def __enter__(self) -> None:
        self._nvtx.range_push(self._name)

    def __exit__(self, *_: object) -> None:
        self._nvtx.range_pop()


def own_move(value: Any, device: torch.device) -> Any:
    """Return an object that goes to a device by itself, there. One that moves in place may return None."""
    moved = value.to(device)
    return value if moved is None else moved


def has_streams(device: torch.device) -> bool:
    """True if torch's module of the device's kind has streams and events; False: batches are copied where asked for."""
    module = device_module(device)
    return device.type != "cpu" and all(hasattr(module, name) for name in ("Stream", "Event", "current_stream"))
